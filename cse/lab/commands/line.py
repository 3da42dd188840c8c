"""The command lines of cse-train and cse-eval: help, --cfg and several jobs are handled here, one job by
cse.lab.run.start."""

import os
import re
import sys
from functools import partial
from typing import NoReturn

from cse.errors import UserError
from cse.lab.commands.help import answer, arguments_or_exit
from cse.lab.folder.contents import RUN
from cse.lab.run import slurm
from cse.lab.run.resume import started_from
from cse.lab.settings.compose import explaining, refuse_words
from cse.lab.settings.groups import CONF_DIR, PROGRAMS
from cse.lab.settings.lookup import keys_of_command
from cse.lab.settings.suggest import nearest, topic
from cse.lab.settings.words import LOOKS, MULTIRUN, Word, read_words, split_flags, texts_of
from cse.lab.sweep.line import starts_many


def words_of_one_job(command: str, text: str) -> list[Word]:
    """The words of this command line, if it is one job. Does anything else itself, and exits.

    command: "train" or "evaluate". text: its help.
    """
    arguments = arguments_or_exit(text, partial(answer, command))
    texts, flags = split_flags(arguments)
    refuse_flags(texts, flags, command)
    with explaining(texts, command):
        words = read_words(texts, command)
        if {*LOOKS} & {*flags}:
            show_config(command, words, flags)
        if starts_many(words, flags):
            run_many(command, arguments)
    if flags:
        raise UserError(f"{flags[0]} has no effect on a run: leave it out")
    return words


def run_many(command: str, arguments: list[str]) -> NoReturn:
    """Run the jobs of a line with -m or sweep=. Exits with 1 if one failed, with 2 after a user's mistake."""
    from cse.lab.sweep import engine

    slurm.release()
    sys.exit(engine.run_line(arguments, PROGRAMS[command]))


def show_config(command: str, words: list[Word], flags: list[str]) -> NoReturn:
    """Let Hydra show what these words give (--cfg, --info, --shell-completion, --hydra-help), without a run."""
    import hydra

    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that Hydra raises errors
    if origin := started_from(words):
        raise UserError(f"{origin} starts from {origin.folder / RUN}: look at that file instead")
    refuse_words(texts_of(words))
    sys.argv[1:] = [*texts_of(words), *flags]  # which Hydra's own program reads
    hydra.main(version_base="1.3", config_path=CONF_DIR, config_name=command)(lambda _: None)()
    sys.exit(0)


def refuse_flags(texts: list[str], flags: list[str], command: str) -> None:
    """Raise UserError for -m with a flag that shows one run, and for a flag that is unknown or lacks its value."""
    from hydra._internal.utils import get_args_parser

    looks = [flag for flag in flags if flag in LOOKS]
    if looks and {*MULTIRUN} & {*flags}:
        raise UserError(f"{looks[0]} shows one run: leave out -m, and give each key one value")

    def refuse(message: str) -> NoReturn:
        hint = ""
        if flag := re.fullmatch(r"unrecognized arguments: --?([\w.-]+).*", message):
            known = list(keys_of_command(command))
            close = nearest(flag[1].replace("-", "_"), known).replace("?", "=...?")
            hint = f"; {topic(flag[1], known) or f'a setting is KEY=VALUE{close}'}"
        raise UserError(f"{message}{hint}")

    parser = get_args_parser()
    parser.error = refuse  # type: ignore[method-assign]
    parser.parse_args([*texts, *flags])
