"""Read the arguments of cse-train or cse-eval, and do what they ask for.

Start at `run_command`. The arguments ask for help, for the configuration (--cfg), for several jobs, or for one run.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from cse.errors import UserError
from cse.lab.commands.help import arguments_or_exit
from cse.lab.commands.old_command import refuse_old_command
from cse.lab.folder.contents import RUN
from cse.lab.run import slurm
from cse.lab.run.resume import earlier_run
from cse.lab.settings.arguments import Argument, key_of, shell_argument, texts_of, values_of
from cse.lab.settings.command import HYDRAS_FLAGS, MULTIRUN, Command, flags_that_show, read_command, split_flags
from cse.lab.settings.compose import refuse_arguments
from cse.lab.settings.groups import CONF_DIR, Kind
from cse.lab.settings.mistakes import explaining
from cse.lab.sweep.sweep_command import starts_many
from cse.lab.text_columns import as_shown


def run_command(kind: Kind, page: str, run: Callable[[list[Argument]], None]) -> None:
    """Read the arguments of this process, and do what they ask for.

    After help, the process exits with 0. After several jobs, it exits with the code of `run_many`. page: the command's
    help. run: a function that does one job.
    """
    arguments = arguments_or_exit(page, kind)
    refuse_old_command(sys.argv[1:], kind)
    check_flags(arguments)
    command = read_command(arguments, kind)
    say_repeated(command.arguments)
    is_many = bool(starts_many(command.arguments, command.flags))
    idle = [flag for flag in command.flags if not (is_many and flag in MULTIRUN)]
    if flags_that_show(command.flags):
        show_config(command)
    elif idle:
        raise UserError(f"{idle[0]} has no effect on a run: leave it out")
    elif is_many:
        sys.exit(run_many(command))
    else:
        refuse_mode(command)
        run(command.arguments)


def say_repeated(arguments: Sequence[Argument]) -> None:
    """Print on standard error each argument of the user that has no effect: a later argument sets the same key."""
    given: dict[str, Argument] = {}
    for argument in arguments:
        if argument.by == "person":
            if argument.key in given and os.environ.get("RANK", "0") == "0":
                said = f"{given[argument.key].text} has no effect: {argument.text} replaces it"
                print(as_shown(said, sys.stderr), file=sys.stderr)
            given[argument.key] = argument


def refuse_mode(command: Command) -> None:
    """Raise UserError for hydra.mode in a command that names neither a sweep nor the run's folder.

    A sweep adds hydra.mode=RUN to the command of each job. The arguments to the left of hydra.mode are the sweep's.
    """
    given = values_of(command.arguments)
    if "hydra.mode" in given and not given.keys() & {"sweep", "hydra.run.dir"}:
        raise UserError(f"hydra.mode={given['hydra.mode']} has no effect on a run: leave it out")


def show_config(command: Command) -> None:
    """Let Hydra show what --cfg, --info, --shell-completion or --hydra-help asks for, without a run."""
    import hydra

    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that Hydra raises errors
    if run := earlier_run(command.arguments, command.kind):
        raise UserError(f"{run} has its settings in {run.folder / RUN}: read that file instead")
    texts = texts_of(command.arguments)
    with explaining(texts, command.kind):
        refuse_arguments(texts, command.kind)
        sys.argv[1:] = [*texts, *command.flags]  # hydra.main reads sys.argv
        hydra.main(version_base="1.3", config_path=CONF_DIR, config_name=command.kind)(lambda _: None)()


def run_many(command: Command) -> int:
    """Run the jobs of a command with -m or sweep=. Return 1 if a job failed."""
    from cse.lab.sweep import engine

    slurm.release()
    with explaining(texts_of(command.arguments), command.kind):
        return engine.run_sweep(command)


def check_flags(arguments: Sequence[str]) -> None:
    """Raise UserError for -KEY=VALUE, a flag of Hydra without its value, and -m with a flag that shows one run."""
    from hydra._internal.utils import get_args_parser

    texts, flags = split_flags(arguments)
    for flag in flags:
        key = key_of(flag)
        if re.fullmatch(r"-[A-Za-z][\w.]*=.*", flag) and {key, f"-{key}"}.isdisjoint(HYDRAS_FLAGS):
            raise UserError(f"{flag}: a setting has no dash: give {shell_argument(flag[1:])}")
    looks = flags_that_show(flags)
    if looks and {*MULTIRUN} & {*flags}:
        raise UserError(f"{looks[0]} shows one run: leave out -m, and give each key one value")
    parser = get_args_parser()
    parser.error = refuse_flag  # type: ignore[method-assign]
    parser.parse_args([*texts, *flags])


def refuse_flag(message: str) -> NoReturn:
    """Raise UserError with the message of Hydra's parser."""
    raise UserError(message)
