"""A command line with -m or sweep=: which words belong to the jobs, and which say how to start them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError, check_loads
from cse.lab.folder.runs import Run
from cse.lab.run.resume import started_from
from cse.lab.settings.check import validate_keys
from cse.lab.settings.compose import composed, explaining
from cse.lab.settings.groups import PROGRAMS, config_dirs
from cse.lab.settings.keys import role_of
from cse.lab.settings.schema import Starting
from cse.lab.settings.shell import shell_line
from cse.lab.settings.typed_line import MULTIRUN, TypedLine
from cse.lab.settings.words import RUN_ALONE, Word, merged, texts_of, values_of
from cse.lab.sweep.grid import combinations, first_values
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.names import name_in
from cse.lab.sweep.sweeps import AdHocSweep, Sweep, asks_for_smoke, axes_of, load_sweep
from cse.ranges import Mark

LAUNCHERS = ("basic", "submitit_slurm")
PACKAGES = {"submitit_slurm": ("submitit", "-e '.[launchers]'"), "smac": ("smac", "-e '.[smac]'")}
"""By launcher or sweeper: the module that it imports, and what to install for it."""


@dataclass(frozen=True)
class Line:
    """What a line's jobs are, and how to start them.

    words: its settings. folder: of the jobs' folders. rows: the words of each job of a grid, or of each search with
    the ranges that it searches. options: its jobs.* and dry_run. launcher: "basic" is this machine. search: the config
    hydra.sweeper; None in a grid, which runs all combinations.
    """

    program: str
    words: list[Word]
    sweep: Sweep | AdHocSweep
    folder: Path
    rows: list[list[Word]]
    options: DictConfig
    launcher: str
    search: DictConfig | None

    @property
    def title(self) -> str:
        """The sweep's name, or the program's."""
        return self.sweep.name

    def jobs(self) -> list[PlannedJob]:
        """The jobs of a grid, equal ones (a cse-eval that no axis changes) once; or an example job of each search."""
        rows = map(first_values, self.rows) if self.search else self.rows
        by_name = {job.name: job for job in map(self.job, rows)}
        return list(by_name.values())

    def job(self, words: Sequence[Word]) -> PlannedJob:
        """The job of one combination of values, in the folder that has it already, if one does."""
        axes = axes_of(words_of_jobs(self.words))
        job = self.sweep.job(words, axes)
        return replace(job, name=name_in(self.folder, job.name, values_of(words).get("case", "")))

    @property
    def caution(self) -> str:
        """What a reader of its scores must know; "" for nothing."""
        return "smoke tests: made-up data, and a score means nothing" if asks_for_smoke(self.words) else ""

    def report(self, done: Sequence[Run]) -> str:
        """The command that shows these runs: beside what the paper printed, if they have a score of its table."""
        scores = {name for run in done for name in run.metrics}
        if not any(map(self.sweep.shows, scores)):
            return shell_line("cse-report", f"runs={self.folder}")
        elsewhere = [f"runs={self.folder}"] if self.folder != self.sweep.folder_of_jobs([]) else []
        apart = [f"out=reports/smoke/{self.sweep.name}"] if asks_for_smoke(self.words) else []
        return shell_line("cse-report", self.sweep.word, *elsewhere, *apart, *config_dirs())


def starts_many(words: Sequence[Word], flags: Sequence[str]) -> str:
    """The flag or word by which a line starts many jobs, rather than one; "" for one."""
    if RUN_ALONE.text in texts_of(words):
        return ""
    given = values_of(words)
    starting = [flag for flag in flags if flag in MULTIRUN]
    starting += [f"sweep={sweep_of(given)}"] if sweep_of(given) else []
    for key in ("hydra/launcher", "hydra/sweeper"):
        if given.get(key) not in (None, "basic"):
            starting.append(f"{key}={given[key]}")
    return starting[0] if starting else ""


def read_line(typed: TypedLine) -> Line:
    """What the jobs of a line are, with -m among its flags or not. Raises UserError if it cannot start jobs,
    MissingResource if it needs a package that is missing."""
    words, program = typed.words, PROGRAMS[typed.command]
    refuse_words_of_one_job(words)
    given, own = values_of(words), words_of_jobs(words)
    named = sweep_of(given)
    sweep = load_sweep(named) if named else AdHocSweep(program)
    options, search = options_of(words, sweep)
    launcher = given.get("hydra/launcher", "basic")
    check_launcher(launcher, options.jobs.parallel)
    of_cluster = [word for word in words if word.key.startswith("hydra.launcher.")]
    if launcher == "basic" and of_cluster:
        raise UserError(f"{of_cluster[0]} is for a cluster: add hydra/launcher=submitit_slurm")
    if search:
        check_loads(*PACKAGES["smac"])
    of_jobs = merged([*sweep.axes(own), *own])
    rows = searches_of(of_jobs, sweep.search_each) if search else combinations(of_jobs)
    if not rows or (search and not any(word.is_axis for word in rows[0])):
        raise UserError(f"{' '.join(texts_of(own))}: there is no job: a range is empty, or there is none to search")
    return Line(
        program=program,
        words=words,
        sweep=sweep,
        folder=Path(given.get("hydra.sweep.dir") or sweep.folder_of_jobs(own)),
        rows=rows,
        options=options,
        launcher=launcher,
        search=search,
    )


def refuse_words_of_one_job(words: Sequence[Word]) -> None:
    """Raise UserError for what a line of many jobs cannot have: a folder of one run, resume=, a launcher's process."""
    for word in words:
        if word.key.startswith(("hydra.run.", "hydra.sweep.")) and word.key != "hydra.sweep.dir":
            raise UserError(f"{word} has no effect on a line of many jobs, whose folder is hydra.sweep.dir=FOLDER")
    if origin := started_from(words):
        raise UserError(f"{origin} starts one run: leave out -m and sweep=, and give each key one value")
    if "RANK" in os.environ:
        raise UserError("-m and sweep= start processes of their own: run them without torchrun, accelerate or srun")


def searches_of(words: Sequence[Word], search_each: Sequence[str]) -> list[list[Word]]:
    """The words of each search: one for every combination of the axes that are not searched."""
    apart = combinations(word for word in words if word.key in search_each)
    return [merged([*words, *values]) for values in apart]


def words_of_jobs(words: Sequence[Word]) -> list[Word]:
    """The words that belong to the jobs, not to their start."""
    return [word for word in words if Mark.OF_LINE not in role_of(word.key).marks]


def options_of(words: Sequence[Word], sweep: Sweep | AdHocSweep) -> tuple[DictConfig, DictConfig | None]:
    """A line's own settings, and those of its search, if it is one. Raises UserError for an unknown or invalid one."""
    starts = ("jobs.", "dry_run", "hydra/sweeper", "hydra.sweeper.")
    texts = [word.text for word in words if word.key.startswith(starts)]
    texts += [sweep.word] if sweep.word else []
    with explaining(texts, "train"):
        config = composed("train", texts)
        options = validate_keys(OmegaConf.masked_copy(config, [*Starting.__annotations__, "hydra"]), Starting)
    if config.hydra.runtime.choices["hydra/sweeper"] == "basic":
        return options, None
    for key in ("n_trials", "batch"):
        if config.hydra.sweeper[key] < 1:
            raise UserError(f"hydra.sweeper.{key}={config.hydra.sweeper[key]}: give a number above 0")
    return options, config.hydra.sweeper


def check_launcher(launcher: str, parallel: int) -> None:
    """Raise UserError for a launcher that cannot run jobs, MissingResource for one whose package is missing."""
    if launcher not in LAUNCHERS:
        raise UserError(f"hydra/launcher={launcher} is not a choice; it has {', '.join(LAUNCHERS)}")
    if launcher == "submitit_slurm":
        if parallel > 1:
            raise UserError(
                f"jobs.parallel={parallel} is for this machine; on a cluster set hydra.launcher.array_parallelism"
            )
        check_loads(*PACKAGES[launcher])


def sweep_of(given: Mapping[str, str]) -> str:
    """The sweep that a line's values name; "" for none or sweep=null."""
    named = given.get("sweep", "")
    return "" if named == "null" else named
