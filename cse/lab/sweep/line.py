"""A line with -m or sweep=, as typed: which words belong to its jobs, and which say how to start them.

`starts_many` knows such a line from the line of one run. `read_line` reads it into a Line, and refuses what no line of
many jobs can have.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError, check_loads
from cse.lab.folder.runs import Run
from cse.lab.run.resume import started_from
from cse.lab.settings.check import validate_keys
from cse.lab.settings.compose import composed
from cse.lab.settings.explaining import explaining
from cse.lab.settings.grammar import shell_line
from cse.lab.settings.groups import PROGRAMS, config_dirs
from cse.lab.settings.keys import role_of
from cse.lab.settings.schema import Starting
from cse.lab.settings.typed_line import MULTIRUN, TypedLine
from cse.lab.settings.words import RUN_ALONE, Word, merged, texts_of, values_of
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.names import name_in
from cse.lab.sweep.sweeps import AdHocSweep, Sweep, asks_for_smoke, axes_of, load_sweep
from cse.ranges import Mark

LAUNCHERS = ("basic", "submitit_slurm")
SUBMITIT = ("submitit", "-e '.[launchers]'")
SMAC = ("smac", "-e '.[smac]'")
"""The packages that a line may need, each with what to install for it."""


@dataclass(frozen=True)
class Line:
    """A line that starts many jobs, as typed.

    words: all of them. sweep: what the line runs. folder: of the jobs' folders. options: its jobs.* and dry_run.
    launcher: "basic" is this machine. sweeper: the config hydra.sweeper of a search; None for a grid, which runs all
    combinations.
    """

    program: str
    words: list[Word]
    sweep: Sweep | AdHocSweep
    folder: Path
    options: DictConfig
    launcher: str
    sweeper: DictConfig | None

    @property
    def title(self) -> str:
        """The sweep's name, or the program's."""
        return self.sweep.name

    @property
    def typed_for_jobs(self) -> list[Word]:
        """The typed words that belong to the jobs, not to their start."""
        return without_start(self.words)

    @property
    def words_of_jobs(self) -> list[Word]:
        """The axes of the sweep's file that no typed word replaces, then the words typed for the jobs."""
        typed = self.typed_for_jobs
        return merged([*self.sweep.axes(typed), *typed])

    def job(self, words: Sequence[Word]) -> PlannedJob:
        """The job of one combination of values, in the folder that has it already, if one does."""
        job = self.sweep.job(words, axes_of(self.typed_for_jobs))
        return replace(job, name=name_in(self.folder, job.name, values_of(words).get("case", "")))

    def no_job(self) -> UserError:
        """The refusal of a line that starts nothing."""
        typed = " ".join(texts_of(self.typed_for_jobs))
        return UserError(f"{typed}: there is no job: a range is empty, or there is none to search")

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
    """The line that was typed, with -m among its flags or not. Raises UserError if it cannot start jobs,
    MissingResource if it needs a package that is missing."""
    words, program = typed.words, PROGRAMS[typed.command]
    refuse_words_of_one_job(words)
    given = values_of(words)
    named = sweep_of(given)
    sweep = load_sweep(named) if named else AdHocSweep(program)
    options, sweeper = options_of(words, sweep)
    launcher = given.get("hydra/launcher", "basic")
    check_launcher(launcher, words, options.jobs.parallel)
    if sweeper is not None:
        check_loads(*SMAC)
    return Line(
        program=program,
        words=words,
        sweep=sweep,
        folder=Path(given.get("hydra.sweep.dir") or sweep.folder_of_jobs(without_start(words))),
        options=options,
        launcher=launcher,
        sweeper=sweeper,
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


def without_start(words: Sequence[Word]) -> list[Word]:
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


def check_launcher(launcher: str, words: Sequence[Word], parallel: int) -> None:
    """Raise UserError for a launcher that cannot run jobs, or a word of another; MissingResource for one whose package
    is missing."""
    if launcher not in LAUNCHERS:
        raise UserError(f"hydra/launcher={launcher} is not a choice; it has {', '.join(LAUNCHERS)}")
    if launcher == "submitit_slurm":
        if parallel > 1:
            raise UserError(
                f"jobs.parallel={parallel} is for this machine; on a cluster set hydra.launcher.array_parallelism"
            )
        check_loads(*SUBMITIT)
        return
    of_cluster = [word for word in words if word.key.startswith("hydra.launcher.")]
    if of_cluster:
        raise UserError(f"{of_cluster[0]} is for a cluster: add hydra/launcher=submitit_slurm")


def sweep_of(given: Mapping[str, str]) -> str:
    """The sweep that a line's values name; "" for none or sweep=null."""
    named = given.get("sweep", "")
    return "" if named == "null" else named
