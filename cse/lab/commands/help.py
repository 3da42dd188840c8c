"""How our commands begin: what --help, --version and question marks ask for is printed, or there is work to do.

The choices are read from conf/; nothing slow is imported.
"""

import re
import sys
from collections.abc import Sequence

from cse.errors import UserError
from cse.lab.sections import in_column
from cse.lab.settings.conf_files import body
from cse.lab.settings.groups import (
    EXTRAS,
    ONE,
    adopt_folders,
    choices,
    file_of,
    first_comment,
    groups,
    included,
    section_of,
)
from cse.lab.settings.lookup import find
from cse.lab.settings.mistakes import no_choice
from cse.lab.settings.typed_line import normalized

WIDTH = 120

QUESTION = re.compile(r"\?\w[\w.]*|\w[\w.]*[=.]?\?|\w+=\w+\.\?")
"""A word that asks for help: GROUP=?, GROUP=CHOICE.?, KEY=?, ?KEY."""


def arguments_or_exit(text: str, command: str | None = None) -> list[str]:
    """What was typed, with --config-dir's folders adopted. If that asks a question, prints the answer and exits.

    text and command: as `answer` takes them.
    """
    arguments = adopt_folders(normalized(sys.argv[1:]))
    shown = answer(text, arguments, command)
    if shown is not None:
        print(shown)
        sys.exit(0)
    return arguments


def answer(text: str, arguments: Sequence[str], command: str | None = None) -> str | None:
    """What --help, --version or a question mark asks for; None if the arguments have none of them.

    text: what --help alone shows. command: "train" or "evaluate", whose choices and settings one may ask about, too:
    WORD=?, WORD.? and ?WORD mean `--help WORD`, which needs no quotes in shells that expand question marks. Raises
    UserError for a word that is not the name of a group, a choice or a setting.
    """
    if "--version" in arguments:
        import cse

        return f"cse {cse.__version__}"
    is_helped = bool({"-h", "--help"} & {*arguments})
    if command is None:
        return text if is_helped else None
    if is_helped or "?" in arguments or list(arguments[:1]) == ["help"]:
        asked = [word for word in arguments if not word.startswith("-") and word not in ("", "?", "help")]
        if not asked:
            return text.replace("CHOICES", what_to_choose(command))
    else:
        asked = [word for word in arguments if QUESTION.fullmatch(word)]
    helped = [help_on(command, word.strip("?").rstrip("=.")) for word in asked]
    return "\n\n".join(helped) if helped else None


def what_to_choose(command: str) -> str:
    """A line for each group of a command that offers a choice, with all its choices."""
    lines = []
    for group in groups(command):
        names = ["PAPER/TABLE"] if group == "sweep" else choices(group)
        if names not in ([], ONE):
            lines.append(in_column(f"  {group + '=':<16}", " ".join(names), WIDTH))
    return "\n".join(lines)


def help_on(command: str, word: str) -> str:
    """The choices of a group, the keys of a choice, or the settings and choices of that name.

    Raises UserError for a choice that the group lacks.
    """
    group, _, choice = word.partition("=")
    if group not in groups(command):
        return find(command, group, WIDTH)
    several = choices(group)
    if several == ONE:
        return help_on_choice(group, "default")
    if not choice:
        width = max(map(len, several)) + 2
        return "\n".join(in_column(f"{one:<{width}}", first_comment(group, one), WIDTH) for one in several)
    names = choice.strip("[]").split(",")
    for name in names:
        if name not in several:
            raise UserError(f"--help {word}: {no_choice(group, name, command)}")
    if group == "sweep":
        return "\n\n".join(map(help_on_sweep, names))
    return "\n\n".join(help_on_choice(group, name) for name in names)


def help_on_choice(group: str, choice: str) -> str:
    """The lines of a choice's file and of the files that it includes, below the full name of its keys."""
    file = file_of(group, choice)
    if group in EXTRAS:
        how = "trainer.lr=VALUE"
    elif group == "eval":
        how = f"eval.{choice}.KEY=VALUE"
    else:
        how = f"{group}.KEY=VALUE"
    if not section_of(group, file):
        how += ", and so for the other parts"
    lines = [f"{group}={choice}    (to set one: {how})"]
    for one in included(file):
        kept = [
            line for line in body(one, comment=True) if not re.match(r"\s*_(target|convert|partial)_|# @pack", line)
        ]
        lines += ["", "\n".join(kept).strip()]
    return "\n".join(lines)


def help_on_sweep(name: str) -> str:
    """What a sweep is, the values of its axes (`case` is one of its rows), and how many jobs they make."""
    from cse.lab.sweep.grid import combinations
    from cse.lab.sweep.sweeps import load_sweep

    sweep = load_sweep(name)
    axes, is_grid = sweep.axes(), sweep.is_grid
    rows = combinations(axis for axis in axes if is_grid or axis.key in sweep.search_each)
    count = (
        f"{len({sweep.job(row, sweep.folder_of_jobs(row)).name for row in rows})} {'jobs' if is_grid else 'searches'}"
    )
    lines = [in_column(f"{name}: ", first_comment("sweep", name), WIDTH)]
    for axis in axes:
        wrapped = in_column(f"  {axis.key}=", axis.spelled.replace(",", ", "), WIDTH)
        lines.append(wrapped.replace(", ", ","))
    lines.append(
        f"  {count}: sweep={name} dry_run=true lists them; KEY=A,B replaces an axis or, as seed=1,2,3, adds one"
    )
    return "\n".join(lines)
