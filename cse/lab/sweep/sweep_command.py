"""A command with -m or sweep=: which arguments belong to its jobs, and which say how to start them.

`starts_many` knows such a command from the command of one run. `read_sweep_command` reads it into a SweepCommand, and
refuses what no command of several jobs can have.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError, check_loads
from cse.lab.run.resume import started_from
from cse.lab.settings.check import validate_keys
from cse.lab.settings.command import MULTIRUN, Command
from cse.lab.settings.compose import composed, explaining
from cse.lab.settings.groups import PROGRAMS
from cse.lab.settings.roles import role_of
from cse.lab.settings.schema import Starting
from cse.lab.settings.words import RUN_ALONE, Word, merged, texts_of, values_of
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.sweeps import AdHocSweep, AnySweep, axis_keys_of, load_sweep
from cse.ranges import Mark

LAUNCHERS = ("basic", "submitit_slurm")
SUBMITIT = ("submitit", "-e '.[launchers]'")
SMAC = ("smac", "-e '.[smac]'")
"""The packages that a command may need, each with what to install for it."""


@dataclass(frozen=True)
class SweepCommand:
    """A command that starts several jobs, as given.

    start: its arguments that say how to start. given: the ones for its jobs; one with several values is an axis. axes:
    the axes of the sweep's file that no given argument replaces.

    program: of its jobs. sweep: what it runs. folder: of the jobs' folders. options: its jobs.* and dry_run.
    launcher: "basic" is this machine. sweeper: the config hydra.sweeper of a search; None for a grid, which runs all
    combinations.
    """

    program: str
    start: list[Word]
    given: list[Word]
    axes: list[Word]
    sweep: AnySweep
    folder: Path
    options: DictConfig
    launcher: str
    sweeper: DictConfig | None

    @property
    def job_words(self) -> list[Word]:
        """All arguments of its jobs, an axis with its values."""
        return merged([*self.axes, *self.given])

    def job(self, words: Sequence[Word]) -> PlannedJob:
        """The job of one combination of values, in the folder that has it already, if one does."""
        return self.sweep.job(words, self.folder, axis_keys_of(self.given))

    def no_job(self) -> UserError:
        """The refusal of a command that starts nothing."""
        given = " ".join(texts_of(self.given))
        return UserError(f"{given}: there is no job: a range is empty, or there is none to search")


def starts_many(words: Sequence[Word], flags: Sequence[str]) -> str:
    """The flag or argument by which a command starts several jobs, rather than one; "" for one."""
    if RUN_ALONE.text in texts_of(words):
        return ""
    given = values_of(words)
    starting = [flag for flag in flags if flag in MULTIRUN]
    starting += [f"sweep={sweep_of(given)}"] if sweep_of(given) else []
    for key in ("hydra/launcher", "hydra/sweeper"):
        if given.get(key) not in (None, "basic"):
            starting.append(f"{key}={given[key]}")
    return starting[0] if starting else ""


def read_sweep_command(command: Command) -> SweepCommand:
    """The command that was given, with -m among its flags or not. Raises UserError if it cannot start jobs,
    MissingResource if it needs a package that is missing."""
    program = PROGRAMS[command.kind]
    start = [word for word in command.words if belongs_to_start(word)]
    given = [word for word in command.words if not belongs_to_start(word)]
    values = values_of(start)
    named = sweep_of(values)
    sweep = load_sweep(named) if named else AdHocSweep(program)
    options, sweeper = options_of(start, sweep)
    launcher = values.get("hydra/launcher", "basic")
    check_launcher(launcher, start, options.jobs.parallel)
    if sweeper is not None:
        check_loads(*SMAC)
    return SweepCommand(
        program=program,
        start=start,
        given=given,
        axes=sweep.axes(given),
        sweep=sweep,
        folder=Path(values.get("hydra.sweep.dir") or sweep.folder_of_jobs(given)),
        options=options,
        launcher=launcher,
        sweeper=sweeper,
    )


def belongs_to_start(word: Word) -> bool:
    """Whether an argument says how to start the jobs: it is none of theirs."""
    return Mark.START in role_of(word.key).marks


def refuse_words_of_one_job(words: Sequence[Word]) -> None:
    """Raise UserError for what a command of several jobs cannot have: a folder of one run, resume=, a launcher's
    process."""
    for word in words:
        if f"{word.key}.".startswith(("hydra.run.", "hydra.sweep.")) and word.key != "hydra.sweep.dir":
            raise UserError(
                f"{word} has no effect on a command of several jobs, whose folder is hydra.sweep.dir=FOLDER"
            )
    if origin := started_from(words):
        raise UserError(f"{origin} starts one run: leave out -m and sweep=, and give each key one value")
    if "RANK" in os.environ:
        raise UserError("-m and sweep= start processes of their own: run them without torchrun, accelerate or srun")


def options_of(words: Sequence[Word], sweep: AnySweep) -> tuple[DictConfig, DictConfig | None]:
    """A command's own settings, and its search's, if it is one. Raises UserError for an unknown or invalid one."""
    option_keys = ("jobs.", "dry_run.", "hydra/sweeper.", "hydra.sweeper.")
    texts = [word.text for word in words if f"{word.key}.".startswith(option_keys)]
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
    """Raise UserError for a launcher that cannot run jobs, or an argument of another; MissingResource for one whose
    package is missing."""
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
    """The sweep that a command's values name; "" for none or sweep=null."""
    named = given.get("sweep", "")
    return "" if named == "null" else named
