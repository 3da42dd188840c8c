"""`cse-train -m KEY=A,B ...` and `cse-eval -m ...`: jobs from the command line, without a sweep's YAML.

They go to multirun/AXES-SETTINGS-HASH, where the hash is over the axes' keys and every other setting. So a longer axis
(seed=1,2,3 instead of seed=1,2) keeps the folder, and jobs that are done there are not run again.
"""

from collections.abc import Sequence
from pathlib import Path

from cse.config.keys import key_of
from cse.config.spelling import ONE_OF_MANY
from cse.sweep.jobs import Job, decides, short_name
from cse.sweep.overrides import is_axis, merged


def axes(line: Sequence[str]) -> list[str]:
    """The keys with several values, in order. line: its arguments without flags."""
    return list(dict.fromkeys(key_of(argument) for argument in line if is_axis(argument)))


def place(program: str, line: Sequence[str]) -> Path:
    """The folder of a line's jobs, relative to the working directory."""
    keys = axes(line)
    fixed = [argument for argument in merged(line) if key_of(argument) not in keys and decides(argument)]
    words = "+".join(key.split(".")[-1].split("/")[-1] for key in keys)
    shown = sorted(fixed, key=key_of)
    return Path("multirun") / short_name(shown, [program, *keys, *fixed], first=words)


def job(program: str, line: Sequence[str], overrides: Sequence[str]) -> Job:
    """The job of one combination of a line's values."""
    arguments = merged([override.lstrip("+") for override in overrides])
    values = {key_of(argument): argument for argument in arguments}
    decisive = list(filter(decides, arguments))
    shown = [values[key] for key in axes(line) if key in values] or decisive
    own = [*arguments, ONE_OF_MANY, *(["resume=auto"] if program == "cse-train" else [])]
    return Job(short_name(shown, [program, *decisive]), program, own)
