"""One job of a command that starts several. It has its arguments, and checks its settings before its process starts.

A job is checked in this order:

1. composed (`PlannedJob.config`): its keys and choices exist. A mistake refuses the command.
2. checked (`PlannedJob.checked`): its values are valid. A mistake in every job refuses the command.
3. rehearsed (`PlannedJob.rehearse`): it would reach its first step. Only a dry run checks this.
4. In its own process, with its data and weights.

checks.py checks all jobs of a command in this way.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.run.build import rehearse
from cse.lab.run.evaluators import check_selection
from cse.lab.run.from_arguments import checked_config
from cse.lab.run.planned_steps import steps_in_words
from cse.lab.settings.arguments import Argument, keys_of_person, shell_line, texts_of
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import KINDS, Kind
from cse.lab.settings.mistakes import explaining


@dataclass(frozen=True)
class PlannedJob:
    """One job of a command that starts several. Its own process makes a cse.lab.run.job.Job of it.

    name: the name of its folder. arguments: the arguments of `program` (cse-train or cse-eval), without the folder.
    scores: the run that it scores; None if it scores no run.
    """

    name: str
    program: str
    arguments: list[Argument]
    scores: "ScoredRun | None" = None

    @cached_property
    def config(self) -> DictConfig:
        """The config of its arguments, with the node `hydra`, composed once. Nothing may change it.

        A smoke test has the config of the full run, because its own process makes the sizes small. Raises UserError for
        a key or a choice that does not exist.
        """
        texts = texts_of(self.arguments)
        with explaining(texts, self.kind):
            return composed(self.kind, texts)

    @property
    def kind(self) -> Kind:
        """The kind of command of its program."""
        return KINDS[self.program]

    @property
    def trains_in_full(self) -> bool:
        """Whether it trains in the sizes of its config. A smoke test has other sizes and another selection score."""
        return self.program == "cse-train" and not self.config.smoke

    def checked(self) -> DictConfig:
        """Its config, checked (see cse.lab.run.from_arguments). Raises UserError for a wrong setting."""
        with explaining(texts_of(self.arguments), self.kind):
            config = checked_config(self.config, self.kind)
            if self.trains_in_full:
                check_selection(config)
        return config

    def find_mistake(self) -> UserError | None:
        """The mistake in its settings; None if there is none."""
        try:
            self.checked()
        except UserError as error:
            return error
        return None

    def rehearse(self) -> str:
        """How many steps it makes, in words. Its data and weights are not read. Raises the UserError with which it
        would end before its first step."""
        config = self.checked()
        if not self.trains_in_full:
            return "a smoke test" if self.program == "cse-train" else "only scored"
        rehearse(config)
        return steps_in_words(config)

    def count_devices(self) -> int:
        """The number of its devices; 1 if its own process will refuse the given number."""
        trains = self.trains_in_full or (
            self.program == "cse-train" and "trainer.devices" in keys_of_person(self.arguments)
        )
        devices = str(self.config.trainer.devices) if trains else "1"
        return int(devices) if devices.isdecimal() else 1

    @property
    def command_in_sweep(self) -> str:
        """The command that runs only this job of its sweep."""
        keys = ("sweep", "case", "seed", "smoke", "hydra.sweep.dir")
        return shell_line(self.program, *texts_of(argument for argument in self.arguments if argument.key in keys))


class ScoredRun(NamedTuple):
    """A run that a job scores: its folder, and the job that makes it."""

    folder: Path
    job: PlannedJob
