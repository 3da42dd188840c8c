"""The command lines of cse-train and cse-eval: help, --cfg and several jobs are handled here, one job by cse.api."""

import os
import re
import sys
from functools import partial
from typing import NoReturn

from cse.errors import UserError
from cse.lab.commands.exits import words_or_help
from cse.lab.commands.help import answer
from cse.lab.folder.runs import RUN
from cse.lab.run import slurm
from cse.lab.run.resume import started_from
from cse.lab.settings.compose import explaining, refuse_words
from cse.lab.settings.groups import CONF_DIR, PROGRAMS
from cse.lab.settings.lookup import keys
from cse.lab.settings.spelling import LOOKS, MULTIRUN, spell, split_flags
from cse.lab.settings.suggest import nearest, topic
from cse.lab.sweep.line import is_many


def words_of_one_job(command: str, text: str) -> list[str]:
    """The words of this command line, if it is one job. Does anything else itself, and exits.

    command: "train" or "evaluate". text: its help.
    """
    words = words_or_help(text, partial(answer, command))
    refuse_flags(words, command)
    if set(LOOKS) & set(words):
        show_config(command, words)
    if is_many(words):
        run_many(command, words)
    return words


def run_many(command: str, words: list[str]) -> NoReturn:
    """Run the jobs of a line with -m or sweep=. Exits with 1 if one failed, with 2 after a user's mistake."""
    from cse.lab.sweep import engine

    slurm.release()
    with explaining(words, command):
        sys.exit(engine.main(spell(words, command, many=True), PROGRAMS[command]))


def show_config(command: str, words: list[str]) -> NoReturn:
    """Let Hydra show what these words give (--cfg, --info, --shell-completion, --hydra-help), without a run."""
    import hydra

    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that Hydra raises errors
    with explaining(words, command):
        if origin := started_from(spell(words, command)):
            raise UserError(f"{origin} starts from {origin.folder / RUN}: look at that file instead")
        refuse_words(words)
        sys.argv[1:] = spell(words, command)
        hydra.main(version_base="1.3", config_path=CONF_DIR, config_name=command)(lambda _: None)()
    sys.exit(0)


def refuse_flags(words: list[str], command: str) -> None:
    """Raise UserError for -m with a flag that shows one run, and for a flag that is unknown or lacks its value."""
    from hydra._internal.utils import get_args_parser

    looks = [word for word in words if word in LOOKS]
    if looks and set(MULTIRUN) & set(words):
        raise UserError(f"{looks[0]} shows one run: leave out -m, and give each key one value")

    def refuse(message: str) -> NoReturn:
        hint = ""
        if flag := re.fullmatch(r"unrecognized arguments: --?([\w.-]+).*", message):
            close = nearest(flag[1].replace("-", "_"), list(keys(command))).replace("?", "=...?")
            hint = f"; {topic(flag[1]) or f'a setting is KEY=VALUE{close}'}"
        raise UserError(f"{message}{hint}")

    parser = get_args_parser()
    parser.error = refuse  # type: ignore[method-assign]
    settings, flags = split_flags(words)
    parser.parse_args([*settings, *flags])
