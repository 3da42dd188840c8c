"""`cse-train -m KEY=A,B ...` and `cse-eval -m ...`: jobs from the command line, without a sweep's YAML.

They go to multirun/AXES-SETTINGS-HASH, where the hash is over the axes' keys and every other setting. So a longer axis
(seed=1,2,3 instead of seed=1,2) keeps the folder, and jobs that are done there are not run again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cse.config.keys import key_of
from cse.config.spelling import ONE_OF_MANY
from cse.sweep.jobs import Job, decides, short_name
from cse.sweep.overrides import is_axis, merged


@dataclass(frozen=True)
class Multirun:
    """The jobs of one line. program: cse-train or cse-eval. keys: of its axes, in order."""

    program: str
    keys: tuple[str, ...]
    name: str = ""
    sweeper: str = "basic"
    trials: int = 50  # of a search without hydra.sweeper.n_trials

    def place(self, arguments: Sequence[str]) -> Path:
        """The folder of its jobs, relative to the working directory."""
        fixed = [a for a in merged(arguments) if key_of(a) not in self.keys and decides(a)]
        words = "+".join(key.split(".")[-1].split("/")[-1] for key in self.keys)
        shown = sorted(fixed, key=key_of)
        return Path("multirun") / short_name(shown, [self.program, *self.keys, *fixed], first=words)

    def axes(self, arguments: Sequence[str]) -> list[str]:
        """No axes besides those on the line."""
        return []

    def searches(self, arguments: Sequence[str]) -> list[list[str]]:
        """One search over all axes, with nothing else fixed."""
        return [[]]

    def job(self, overrides: Sequence[str]) -> Job:
        """The job of one combination."""
        arguments = merged([re.sub(r"^\++", "", override) for override in overrides])
        values = {key_of(argument): argument for argument in arguments}
        shown = [values[key] for key in self.keys if key in values] or list(filter(decides, arguments))
        own = [*arguments, ONE_OF_MANY, *(["resume=auto"] if self.program == "cse-train" else [])]
        return Job(short_name(shown, [self.program, *filter(decides, arguments)]), self.program, own)


def of_line(program: str, arguments: Sequence[str]) -> Multirun:
    """The jobs of a command line's arguments (without flags)."""
    keys = dict.fromkeys(key_of(argument) for argument in arguments if is_axis(argument))
    return Multirun(program, tuple(keys))
