"""The arguments of a command with -m or sweep=: arguments for the jobs, and arguments that control the start.

`starts_many` recognises such a command. `read_sweep_command` returns the command as a SweepCommand.
`refuse_arguments_of_one_job` refuses arguments that are only for the command of a single run.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError, check_loads
from cse.lab.run.resume import earlier_run
from cse.lab.settings.arguments import RUN_ALONE, Argument, merged, texts_of, values_of
from cse.lab.settings.check import validate_settings
from cse.lab.settings.command import MULTIRUN, Command
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import PROGRAMS
from cse.lab.settings.mistakes import explaining
from cse.lab.settings.roles import role_of
from cse.lab.settings.schema import Starting
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.rows import ReadOnce, axis_keys_of, folder_without_sweep, job_of_row, job_without_sweep
from cse.lab.sweep.sweeps import Sweep, load_sweep
from cse.ranges import Mark

LAUNCHERS = ("basic", "submitit_slurm")
SUBMITIT = ("submitit", "-e '.[launchers]'")
SMAC = ("smac", "-e '.[smac]'")
"""The packages that a command may need, each with the arguments for pip."""


@dataclass(frozen=True)
class SweepCommand:
    """A command that starts several jobs.

    start_arguments: the arguments that control the start. given: the arguments for the jobs. An argument with several
    values is an axis. axes: the axes of the sweep's file that no given argument replaces.

    program: the jobs' program. sweep: the sweep that the command names, or None. folder: the folder that holds the
    jobs' folders. options: jobs.* and dry_run. launcher: "basic" is this machine. sweeper: the config hydra.sweeper of
    a search; None for a grid, which runs all combinations.
    """

    program: str
    start_arguments: list[Argument]
    given: list[Argument]
    axes: list[Argument]
    sweep: Sweep | None
    folder: Path
    options: DictConfig
    launcher: str
    sweeper: DictConfig | None

    @property
    def name(self) -> str:
        """The name of the command's sweep; without a sweep, the program."""
        return self.program if self.sweep is None else self.sweep.name

    @property
    def search_each(self) -> list[str]:
        """The keys of the axes that no search varies."""
        return [] if self.sweep is None else self.sweep.search_each

    @property
    def job_arguments(self) -> list[Argument]:
        """All arguments of the jobs. An axis has all its values."""
        return merged([*self.axes, *self.given])

    def job(self, arguments: Sequence[Argument]) -> PlannedJob:
        """Return the job of one combination of values. A job that already has a folder gets the folder's name."""
        if self.sweep is None:
            return job_without_sweep(self.program, arguments, self.folder, self.axis_keys, self.once)
        return job_of_row(self.sweep, arguments, self.folder, self.axis_keys, self.once)

    @cached_property
    def axis_keys(self) -> list[str]:
        """The keys of the axes in `given`."""
        return axis_keys_of(self.given)

    @cached_property
    def once(self) -> ReadOnce:
        """The cached readers of the jobs."""
        return ReadOnce()

    def no_job(self) -> UserError:
        """Return the error for a command that starts no job."""
        given = " ".join(texts_of(self.given or self.start_arguments))
        return UserError(f"{given} starts no job: a range is empty, or there is no range to search")


def starts_many(arguments: Sequence[Argument], flags: Sequence[str]) -> str:
    """Return the flag or argument by which a command starts several jobs; "" for a command of one job."""
    if RUN_ALONE in arguments:
        return ""
    given = values_of(arguments)
    starting = [flag for flag in flags if flag in MULTIRUN]
    starting += [f"sweep={sweep_of(given)}"] if sweep_of(given) else []
    for key in ("hydra/launcher", "hydra/sweeper"):
        if given.get(key) not in (None, "basic"):
            starting.append(f"{key}={given[key]}")
    return starting[0] if starting else ""


def read_sweep_command(command: Command) -> SweepCommand:
    """Return a command as a SweepCommand, even if the command has no -m.

    Raises UserError if the command cannot start jobs. Raises MissingResource if the command needs a missing package."""
    program = PROGRAMS[command.kind]
    start = [argument for argument in command.arguments if belongs_to_start(argument)]
    given = [argument for argument in command.arguments if not belongs_to_start(argument)]
    values = values_of(start)
    named = sweep_of(values)
    sweep = load_sweep(named) if named else None
    options, sweeper = options_of(start, sweep)
    launcher = values.get("hydra/launcher", "basic")
    check_launcher(launcher, start, options.jobs.parallel)
    if sweeper is not None:
        check_loads(*SMAC)
    default = folder_without_sweep(program, given) if sweep is None else sweep.folder_of_jobs(given)
    return SweepCommand(
        program=program,
        start_arguments=start,
        given=given,
        axes=[] if sweep is None else sweep.axes(given),
        sweep=sweep,
        folder=Path(values.get("hydra.sweep.dir") or default),
        options=options,
        launcher=launcher,
        sweeper=sweeper,
    )


def belongs_to_start(argument: Argument) -> bool:
    """Return whether an argument controls the start of the jobs. No job gets such an argument."""
    return Mark.START in role_of(argument.key).marks


def refuse_arguments_of_one_job(command: Command) -> None:
    """Raise UserError for a command of several jobs with the folder of one run, with resume=, or under torchrun or
    srun.
    """
    for argument in command.arguments:
        if f"{argument.key}.".startswith(("hydra.run.", "hydra.sweep.")) and argument.key != "hydra.sweep.dir":
            raise UserError(
                f"{argument} has no effect on a command of several jobs; hydra.sweep.dir=FOLDER sets the jobs' folder"
            )
    if run := earlier_run(command.arguments, command.kind):
        raise UserError(f"{run} starts one run: leave out -m and sweep=, and give each key one value")
    if "RANK" in os.environ:
        raise UserError("-m and sweep= start processes of their own: run them without torchrun, accelerate or srun")


def options_of(arguments: Sequence[Argument], sweep: Sweep | None) -> tuple[DictConfig, DictConfig | None]:
    """Return (the options of a command's start, hydra.sweeper). hydra.sweeper is None for a grid.

    arguments: the start's arguments. Raises UserError for an unknown or invalid setting.
    """
    keys = (*Starting.__annotations__, "hydra.sweeper")
    texts = [argument.text for argument in arguments if argument.key.replace("/", ".").startswith(keys)]
    texts += [] if sweep is None else [sweep.argument]
    with explaining(texts, "train"):
        config = composed("train", texts)
        options = validate_settings(OmegaConf.masked_copy(config, [*Starting.__annotations__, "hydra"]), Starting)
    if config.hydra.runtime.choices["hydra/sweeper"] == "basic":
        return options, None
    for key in ("n_trials", "batch"):
        if config.hydra.sweeper[key] < 1:
            raise UserError(f"hydra.sweeper.{key}={config.hydra.sweeper[key]}: give a number above 0")
    return options, config.hydra.sweeper


def check_launcher(launcher: str, arguments: Sequence[Argument], parallel: int) -> None:
    """Raise UserError for an unknown launcher or an argument of another launcher, and MissingResource if the launcher's
    package is missing."""
    if launcher not in LAUNCHERS:
        raise UserError(f"hydra/launcher={launcher} is not a choice; the choices are {', '.join(LAUNCHERS)}")
    if launcher == "submitit_slurm":
        if parallel > 1:
            raise UserError(
                f"jobs.parallel={parallel} is for this machine; on a cluster set hydra.launcher.array_parallelism"
            )
        check_loads(*SUBMITIT)
        return
    of_cluster = [argument for argument in arguments if argument.key.startswith("hydra.launcher.")]
    if of_cluster:
        raise UserError(f"{of_cluster[0]} is for a cluster: add hydra/launcher=submitit_slurm")


def sweep_of(given: Mapping[str, str]) -> str:
    """Return the sweep that a command's values name; "" for none or sweep=null."""
    named = given.get("sweep", "")
    return "" if named == "null" else named
