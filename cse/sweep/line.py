"""A command line with -m or sweep=: which words belong to the jobs, and which say how to start them."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from cse.config import compose as composition
from cse.config.groups import own_folders
from cse.config.keys import entry, key_of
from cse.config.spelling import MULTIRUN, values_of
from cse.errors import UserError, check_loads
from cse.record.runs import Run
from cse.run.resume import started_from
from cse.sweep import jobs, multirun
from cse.sweep.overrides import expanded, first_values, is_axis, merged

INFORM = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help", "--version")  # these run nothing
PACKAGES = {"submitit_slurm": ("submitit", "-e '.[launchers]'"), "smac": ("smac", "-e '.[smac]'")}
"""By launcher or sweeper: the module that it imports, and what to install for it."""


class Line(BaseModel):
    """A parsed command line: how to start its jobs, and what they are.

    given: its values by key; the last one of a key counts. launch: its words hydra.launcher.KEY=VALUE. own: the jobs'
    overrides. table: names the jobs and makes their arguments. search: the config hydra.sweeper.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, arbitrary_types_allowed=True)

    program: str
    given: dict[str, str]
    launch: list[str]
    own: list[str]
    table: jobs.Sweep | multirun.Multirun
    search: DictConfig
    parallel: PositiveInt = Field(1, alias="jobs.parallel")
    fail_fast: bool = Field(False, alias="jobs.fail_fast")
    dry_run: bool = False
    launcher: Literal["basic", "submitit_slurm"] = Field("basic", alias="hydra/launcher")
    sweeper: Literal["basic", "smac"] = Field(alias="hydra/sweeper")
    n_trials: PositiveInt = Field(alias="hydra.sweeper.n_trials")

    @property
    def is_grid(self) -> bool:
        """Whether all combinations are run, instead of searching among them."""
        return self.sweeper == "basic"

    @property
    def trials(self) -> int:
        """The number of jobs of each search; 1 in a grid."""
        return 1 if self.is_grid else self.n_trials

    @property
    def folder(self) -> Path:
        """The folder of the jobs' folders."""
        return Path(self.given.get("hydra.sweep.dir", self.table.place(self.own)))

    @property
    def title(self) -> str:
        """The name of the sweep, or else of the program."""
        return self.table.name or self.program

    def report(self, done: Sequence[Run]) -> str:
        """The command that shows these runs: beside what the paper printed, if they have a score of its table."""
        words = [f"runs={self.folder}"]
        if isinstance(self.table, jobs.Sweep) and any(self.table.shows(name) for run in done for name in run.metrics):
            elsewhere = words if self.folder != self.table.place([]) else []
            own = [word for folder in own_folders() for word in ("--config-dir", str(folder))]
            words = [f"sweep={self.table.name}", *elsewhere, *own]
        return shlex.join(["cse-report", *words])

    def rows(self) -> list[list[str]]:
        """The overrides of each job of a grid, or of each search with the ranges that it searches.

        Raises UserError if there is no job, or no range to search.
        """
        overrides = merged([*self.table.axes(self.own), *self.own])
        if self.is_grid:
            rows = expanded(overrides)
        else:
            rows = [merged([*overrides, *fixed]) for fixed in self.table.searches(self.own)]
        if not rows or not (self.is_grid or any(map(is_axis, rows[0]))):
            raise UserError(f"{' '.join(self.own)}: there is no job: a range is empty, or there is none to search")
        return rows

    def jobs(self) -> list[jobs.Job]:
        """The jobs of a grid, equal ones (a cse-eval that no axis changes) once; or an example job of each search."""
        planned = [self.table.job(first_values(row)) for row in self.rows()]
        return list({job.name: job for job in planned}.values()) if self.is_grid else planned

    def check(self) -> None:
        """Raise UserError if the line cannot start jobs, MissingResource if it needs a package that is missing."""
        if "RANK" in os.environ:
            raise UserError("-m and sweep= start processes of their own: run them without torchrun, accelerate or srun")
        if self.parallel > 1 and self.launcher != "basic":
            raise UserError(
                f"jobs.parallel={self.parallel} is for this machine; on a cluster set hydra.launcher.array_parallelism"
            )
        for choice in {self.launcher, self.sweeper} & PACKAGES.keys():
            check_loads(*PACKAGES[choice])


def is_many(arguments: Sequence[str]) -> bool:
    """Whether these arguments start many jobs, rather than one job or only a look at the config."""
    given = values_of(arguments)
    if given.get("hydra.mode") == "RUN" or any(argument in INFORM for argument in arguments):
        return False
    starts = [given.get(key) not in (None, "basic") for key in ("hydra/launcher", "hydra/sweeper")]
    return any(argument in MULTIRUN for argument in arguments) or bool(sweep_of(given)) or any(starts)


def read(arguments: Sequence[str], program: str) -> Line:
    """Parse a line. Raises UserError for an unknown sweep or a bad value, and what Line.check raises."""
    arguments = [argument for argument in arguments if argument not in MULTIRUN]
    if origin := started_from(arguments):
        raise UserError(f"{origin} starts one run: leave out -m and sweep=, and give each key one value")
    given = values_of(arguments)
    own = [argument for argument in arguments if not entry(key_of(argument)).of_line]
    named = sweep_of(given)
    table = jobs.read(named) if named else multirun.of_line(program, own)
    words = [word for word in arguments if key_of(word).startswith(("hydra/sweeper", "hydra.sweeper."))]
    words += [f"sweep={named}"] * bool(named)
    with composition.explaining(words, jobs.CONFIGS[program]):
        search = composition.composed(jobs.CONFIGS[program], words).hydra.sweeper
    defaults = {"hydra/sweeper": table.sweeper, "hydra.sweeper.n_trials": table.trials}
    launch = [argument for argument in arguments if key_of(argument).startswith("hydra.launcher.")]
    about = {"program": program, "given": given, "launch": launch, "own": own, "table": table, "search": search}
    try:
        line = Line.model_validate(defaults | given | about)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise UserError(f"{wrong['loc'][0]}={wrong['input']}: {wrong['msg']}") from None
    line.check()
    return line


def sweep_of(given: Mapping[str, str]) -> str:
    """The sweep that a line's values name; "" for none or sweep=null."""
    named = given.get("sweep", "")
    return "" if named == "null" else named
