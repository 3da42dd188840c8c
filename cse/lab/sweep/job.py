"""One job of a command that starts several jobs. A job checks its settings before its process starts.

The checks of a job come in this order:

1. `PlannedJob.config` checks that the job's keys and choices exist. The command is refused if any job has a mistake.
2. `PlannedJob.checked` checks the values. The command is refused if every job has a mistake.
3. `PlannedJob.rehearse` checks that the job would reach its first step. Only a dry run does this.
4. The job's own process checks its data and weights.

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
    """One job of a command that starts several jobs. The job's own process makes a cse.lab.run.job.Job.

    name: the name of the job's folder. arguments: the arguments of `program` (cse-train or cse-eval), without the
    folder. scores: the run that the job scores, or None.
    """

    name: str
    program: str
    arguments: list[Argument]
    scores: "ScoredRun | None" = None

    @cached_property
    def config(self) -> DictConfig:
        """The config of the job's arguments, with the node `hydra`, composed once. Nothing may change the config.

        A smoke test has the config of the full run, because the job's own process reduces the sizes. Raises UserError
        for a key or a choice that does not exist.
        """
        texts = texts_of(self.arguments)
        with explaining(texts, self.kind):
            return composed(self.kind, texts)

    @property
    def kind(self) -> Kind:
        """The kind of the job's command, "train" or "evaluate"."""
        return KINDS[self.program]

    @property
    def trains_in_full(self) -> bool:
        """Whether the job trains with its config's sizes. A smoke test has other sizes and another selection score."""
        return self.program == "cse-train" and not self.config.smoke

    def checked(self) -> DictConfig:
        """Return the job's checked config (see cse.lab.run.from_arguments). Raises UserError for a wrong setting."""
        with explaining(texts_of(self.arguments), self.kind):
            config = checked_config(self.config, self.kind)
            if self.trains_in_full:
                check_selection(config)
        return config

    def find_mistake(self) -> UserError | None:
        """Return the mistake in the job's settings; None without a mistake."""
        try:
            self.checked()
        except UserError as error:
            return error
        return None

    def rehearse(self) -> str:
        """Return the job's number of steps in words. Reads no weights, and only the user's own text, to count its rows.

        Raises the UserError with which the job would end before its first step.
        """
        config = self.checked()
        if not self.trains_in_full:
            return "a smoke test" if self.program == "cse-train" else "only scored"
        rehearse(config)
        return steps_in_words(config)

    def count_devices(self) -> int:
        """Return the number of devices; 1 for scoring, an invalid number, or a smoke test without trainer.devices."""
        trains = self.trains_in_full or (
            self.program == "cse-train" and "trainer.devices" in keys_of_person(self.arguments)
        )
        devices = str(self.config.trainer.devices) if trains else "1"
        return int(devices) if devices.isdecimal() else 1

    @property
    def command_in_sweep(self) -> str:
        """The command that runs only this job of the sweep."""
        keys = ("sweep", "case", "seed", "smoke", "hydra.sweep.dir")
        return shell_line(self.program, *texts_of(argument for argument in self.arguments if argument.key in keys))


class ScoredRun(NamedTuple):
    """A run that a job scores: its folder, and the job that makes it."""

    folder: Path
    job: PlannedJob
