"""A command line with -m or sweep=: which words belong to the jobs, and which say how jobs are started."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cse.config import compose as composition
from cse.config.keys import entry, key_of
from cse.errors import MissingResource, UserError
from cse.sweep import jobs, multirun

MULTI = ("-m", "--multirun")
INFORM = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help", "--version")  # nothing is run
NOT_PASSED = ("hydra.launcher.n_jobs", "hydra.sweeper.n_trials")
"""Those of Hydra's launcher and sweeper that the line reads itself."""
INSTALL = "pip install -e '.[launchers]'"
PLUGINS = {
    ("hydra/launcher", "joblib"): ("hydra_joblib_launcher", INSTALL),
    ("hydra/launcher", "submitit"): ("hydra_submitit_launcher", INSTALL),
    ("hydra/sweeper", "optuna"): (
        "hydra_optuna_sweeper",
        "hydra/sweeper=smac (pip install -e '.[smac]') is the search that this project keeps; "
        "pip install hydra-optuna-sweeper brings optuna 2.10, as it refuses optuna 3 and later",
    ),
}


@dataclass(frozen=True)
class Line:
    """given: the line's values by key; the last of a key counts. jobs_own: the overrides that are the jobs'.

    passed: those that are for Hydra's launcher and sweeper. table: what names the jobs and gives their arguments.
    """

    program: str
    given: dict[str, str]
    jobs_own: list[str]
    passed: list[str]
    table: jobs.Sweep | multirun.Multirun

    @property
    def sweeper(self) -> str:
        """Hydra's sweeper; "basic" is a grid, any other a search."""
        return self.given.get("hydra/sweeper", self.table.sweeper)

    @property
    def trials(self) -> int:
        """The jobs of each search; 1 in a grid. Raises UserError unless it is a whole number of at least 1."""
        return 1 if self.sweeper == "basic" else self.count("hydra.sweeper.n_trials", self.table.trials)

    @property
    def parallel(self) -> int:
        """Jobs at the same time. Raises UserError unless it is a whole number of at least 1."""
        return self.count("jobs.parallel", 1)

    @property
    def folder(self) -> Path:
        """Where the jobs' folders lie."""
        return Path(self.given.get("hydra.sweep.dir", self.table.place(self.jobs_own)))

    @property
    def title(self) -> str:
        """The name of its sweep; without one, the program's."""
        return self.table.name or self.program

    @property
    def report(self) -> str:
        """The command that compares the jobs."""
        if not self.table.name:
            return f"cse-report runs={self.folder}"
        elsewhere = f" runs={self.folder}" if jobs.scale_of(self.jobs_own) != "paper" else ""
        return f"cse-report sweep={self.table.name}{elsewhere}"

    def rows(self) -> list[list[str]]:
        """The overrides of each job of a grid, equal jobs (a cse-eval that no axis changes) once; or of each search.

        Raises UserError for a search without a range.
        """
        overrides = jobs.merged([*self.table.axes(self.jobs_own), *self.jobs_own])
        if self.sweeper == "basic":
            return list({self.table.job(row).name: row for row in jobs.expanded(overrides)}.values())
        searches = [with_fixed(overrides, fixed) for fixed in self.table.searches(self.jobs_own)]
        if not all(any(map(jobs.is_axis, search)) for search in searches):
            raise UserError(
                f"hydra/sweeper={self.sweeper} has nothing to search: give a key a range, as in "
                "'trainer.lr=tag(log,interval(1e-6,1e-4))'"
            )
        return searches

    def switch(self, key: str) -> bool:
        """The value of a switch, False without one. Raises UserError for anything but a word for truth."""
        value = self.given.get(key, "false")
        if value.lower() not in composition.SWITCH:
            raise UserError(f"{key}={value}: must be yes or no")
        return composition.SWITCH[value.lower()]

    def count(self, key: str, default: int) -> int:
        """The value of a count. Raises UserError unless it is a whole number of at least 1."""
        value = self.given.get(key, str(default))
        if not value.isdecimal() or int(value) < 1:
            raise UserError(f"{key}={value}: must be a whole number of at least 1")
        return int(value)

    def check(self) -> None:
        """Raise UserError for a line that cannot start jobs, MissingResource for a plug-in that is not installed."""
        composition.refuse_sizes(self.jobs_own)
        resume, launcher = self.given.get("resume", "null"), self.given.get("hydra/launcher", "joblib")
        if "RANK" in os.environ:
            raise UserError("-m and sweep= start processes of their own: run them without torchrun, accelerate or srun")
        if resume not in ("auto", "null", ""):
            raise UserError(f"resume={resume} goes on with one run; many go on when the same line is given again")
        if self.parallel > 1 and launcher != "joblib":
            raise UserError(
                f"jobs.parallel={self.parallel} is for jobs on this machine, and hydra/launcher={launcher} is not: "
                "hydra.launcher.array_parallelism=N bounds a cluster's"
            )
        plugins = self.given | ({"hydra/launcher": "joblib"} if self.parallel > 1 else {})
        for (key, start), (module, advice) in PLUGINS.items():
            if plugins.get(key, "").startswith(start) and find_spec(f"hydra_plugins.{module}") is None:
                raise MissingResource(f"{key}={plugins[key]} is not installed: {advice}")


def is_many(arguments: Sequence[str]) -> bool:
    """Whether these are the arguments of many jobs, and not of one of them or of a look at the config."""
    sweeps = [jobs.value_of(argument) for argument in arguments if argument.startswith("sweep=")]
    single = "hydra.mode=RUN" in arguments or any(argument in INFORM for argument in arguments)
    several = any(argument in MULTI for argument in arguments)
    return not single and (several or is_named(sweeps[-1] if sweeps else None))


def read(arguments: Sequence[str], program: str) -> Line:
    """The line of these arguments. Raises UserError for an unknown sweep, and what Line.check raises."""
    arguments = [argument for argument in arguments if argument not in MULTI]
    given = {key_of(argument): jobs.value_of(argument) for argument in arguments}
    own = [argument for argument in arguments if not entry(key_of(argument)).of_line]
    passed = [
        a for a in arguments if a.startswith(("hydra.launcher.", "hydra.sweeper.")) and key_of(a) not in NOT_PASSED
    ]
    table = jobs.read(given["sweep"]) if is_named(given.get("sweep")) else multirun.of_line(program, own)
    line = Line(program, given, own, passed, table)
    line.check()
    return line


def is_named(sweep: str | None) -> bool:
    """Whether the value of `sweep=`, None where the line has none, names a sweep."""
    return sweep not in (None, "null", "")


def with_fixed(arguments: Sequence[str], search: Sequence[str]) -> list[str]:
    """The arguments, with the values that a search keeps fixed in place of their own."""
    fixed = {key_of(override) for override in search}
    return [*search, *(argument for argument in arguments if key_of(argument) not in fixed)]
