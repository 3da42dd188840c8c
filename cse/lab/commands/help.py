"""How our commands begin: what --help, --version and question marks ask for is printed, or there is work to do.

Texts are as wide as the terminal, at most 120 columns. The choices are read from conf/. Nothing slow is imported.
"""

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NoReturn

from cse.errors import UserError
from cse.lab.settings.command import MULTIRUN, WITH_VALUE, normalized
from cse.lab.settings.conf_files import body, first_sentence
from cse.lab.settings.groups import (
    OPTIONAL_GROUPS,
    Kind,
    choices,
    file_of,
    groups,
    included,
    section_of,
)
from cse.lab.settings.lookup import find
from cse.lab.settings.mistakes import no_choice
from cse.lab.settings.user_folders import adopt_folders
from cse.lab.text_columns import in_column

if TYPE_CHECKING:  # importing omegaconf takes time
    from cse.lab.sweep.sweeps import Sweep

NO_CHOICE = ["default"]
"""The choices of a group that offers none."""
IN_COLUMNS = re.compile(r"( *\S.*?  +)(\S.*)")
"""A line of two columns: the left one with the blanks behind it, and the right one."""
COMMAND_ALONE = re.compile(r" +cse-\w+( \S+)+")
"""A line with a command, and nothing beside it."""
BELOW = " " * 6
"""The indentation of what has no room in its column."""
HELP_FLAGS = {"-h", "--help"}
QUESTION = re.compile(r"\?\w[\w.]*|\w[\w.]*[=.]?\?|\w+=\w+\.\?")
"""An argument that asks for help: GROUP=?, GROUP=CHOICE.?, KEY=?, ?KEY."""


def arguments_or_exit(page: str) -> list[str]:
    """The arguments of a command that has one page of help. Exits after --help and --version."""
    arguments = given_arguments()
    if HELP_FLAGS & {*arguments}:
        exit_showing("\n".join(map(at_width, page.splitlines())))
    return arguments


def run_arguments_or_exit(page: str, kind: Kind) -> list[str]:
    """The arguments of cse-train or cse-eval. Exits after --version and after a question."""
    arguments = given_arguments()
    shown = answer_question(page, arguments, kind)
    if shown is not None:
        exit_showing(shown)
    return arguments


def given_arguments() -> list[str]:
    """What was given on the command line, with --config-dir's folders adopted. Exits after --version."""
    arguments = adopt_folders(normalized(sys.argv[1:]))
    if "--version" in arguments:
        import cse

        exit_showing(f"cse {cse.__version__}")
    return arguments


def exit_showing(text: str) -> NoReturn:
    """Print a text, and exit with 0."""
    print(text)
    sys.exit(0)


def answer_question(page: str, arguments: Sequence[str], kind: Kind) -> str | None:
    """What the arguments of cse-train or cse-eval ask for; None if they ask nothing. page: what --help alone shows.

    Raises UserError for an argument that is not the name of a group, a choice or a setting.
    """
    if topics := topics_asked(arguments):
        return "\n\n".join(help_on(kind, topic) for topic in topics)
    if asks_for_help(arguments):
        lines = [what_to_choose(kind) if line == "CHOICES" else at_width(line) for line in page.splitlines()]
        return "\n".join(lines)
    return None


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether --help, -h, a question mark alone, or `help` before all others was given."""
    return bool((HELP_FLAGS | {"?"}) & {*arguments}) or list(arguments[:1]) == ["help"]


def topics_asked(arguments: Sequence[str]) -> list[str]:
    """The groups, choices and settings that are asked about: the arguments beside --help.

    An argument with dashes of another trainer is asked about without its value. WORD=?, WORD.? and ?WORD mean
    `--help WORD`, and need no quotes in shells that expand question marks.
    """
    if asks_for_help(arguments):
        flags = [
            argument
            for argument in arguments
            if argument.startswith("--") and argument not in {"--help", *MULTIRUN, *WITH_VALUE}
        ]
        asked = [
            argument for argument in arguments if not argument.startswith("-") and argument not in ("", "?", "help")
        ]
        asked = [flag.lstrip("-") for flag in flags] or asked
    else:
        asked = [argument for argument in arguments if QUESTION.fullmatch(argument)]
    return [argument.strip("?").rstrip("=.") for argument in asked]


def terminal_width() -> int:
    """The terminal's width between 40 and 120 columns; 120 into a pipe."""
    return max(40, min(120, shutil.get_terminal_size((120, 24)).columns))


def at_width(line: str) -> str:
    """A line of help at the terminal's width.

    Of two columns the right one is wrapped. It stands below the left one if that takes more than half of the width.
    """
    width = terminal_width()
    indent = indentation(line)
    if len(indent) > width // 2:
        return in_column(BELOW, line.strip(), width)
    if len(line) <= width:
        return line
    if COMMAND_ALONE.fullmatch(line):
        return command_at_width(line.strip(), indent, width)
    columns = IN_COLUMNS.fullmatch(line)
    if columns is None:
        return in_column(indent, line.strip(), width)
    left, right = columns.groups()
    if len(left) <= width // 2:
        return in_column(left, right, width)
    return f"{at_width(left.rstrip())}\n{in_column(BELOW, right, width)}"


def command_at_width(command: str, indent: str, width: int) -> str:
    """A command in lines of this width that a shell reads as one: each but the last ends with a backslash."""
    lines = textwrap.wrap(command, width - 2 - len(BELOW), break_long_words=False, break_on_hyphens=False)
    return f" \\\n{BELOW}".join([indent + lines[0], *lines[1:]])


def what_to_choose(kind: Kind) -> str:
    """A line for each group of a command that offers a choice, with all its choices."""
    lines = []
    for group in groups(kind):
        names = ["PAPER/TABLE"] if group == "sweep" else choices(group)
        if names not in ([], NO_CHOICE):
            lines.append(in_column(f"  {group + '=':<16}", " ".join(names), terminal_width()))
    return "\n".join(lines)


def help_on(kind: Kind, word: str) -> str:
    """The choices of a group, the keys of a choice, or the settings and choices of that name.

    Raises UserError for a choice that the group lacks.
    """
    group, _, choice = word.partition("=")
    if group not in groups(kind):
        return find(kind, group, terminal_width())
    several = choices(group)
    if several == NO_CHOICE:
        return help_on_choice(group, "default")
    if not choice:
        width = max(map(len, several)) + 2
        return "\n".join(at_width(f"{name:<{width}}{first_sentence(file_of(group, name))}") for name in several)
    names = choice.strip("[]").split(",")
    for name in names:
        if name not in several:
            raise UserError(f"--help {word}: {no_choice(group, name, kind)}")
    if group == "sweep":
        return "\n\n".join(map(help_on_sweep, names))
    return "\n\n".join(help_on_choice(group, name) for name in names)


def help_on_choice(group: str, choice: str) -> str:
    """The lines of a choice's file and of the files that it includes, below the full name of its keys."""
    file = file_of(group, choice)
    if group in OPTIONAL_GROUPS:
        how = "trainer.lr=VALUE"
    elif group == "eval":
        how = f"eval.{choice}.KEY=VALUE"
    else:
        how = f"{group}.KEY=VALUE"
    if not section_of(group, file):
        how += ", and so for the other parts"
    lines = [at_width(f"{group}={choice}    (to set one: {how})")]
    for part in included(file):
        kept = [
            line for line in body(part, comment=True) if not re.match(r"\s*_(target|convert|partial)_|# @pack", line)
        ]
        lines += ["", "\n".join(yaml_at_width(kept)).strip()]
    return "\n".join(lines)


def yaml_at_width(lines: Sequence[str]) -> list[str]:
    """Lines of YAML at the terminal's width. If one is wider, comments are wrapped; a wide one stands above its key."""
    width = terminal_width()
    if all(len(line) <= width for line in lines):
        return list(lines)
    shown: list[str] = []
    for is_comment, block in groupby(lines, key=lambda line: line.lstrip().startswith("#")):
        if is_comment:
            first, *others = block
            text = " ".join([first.strip(" #"), *(line.strip(" #") for line in others)])
            shown.append(wrapped_comment(indentation(first), text, width))
            continue
        for line in block:
            content, _, comment = line.partition("  # ")
            if len(line) > width and comment:
                shown += [wrapped_comment(indentation(line), comment, width), content]
            else:
                shown.append(line)
    return shown


def indentation(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def wrapped_comment(indent: str, text: str, width: int) -> str:
    """A comment of YAML in lines of this width."""
    begin = f"{indent}# "
    return textwrap.fill(text, width, initial_indent=begin, subsequent_indent=begin, break_on_hyphens=False)


def help_on_sweep(name: str) -> str:
    """What a sweep is, the values of its axes (`case` is one of its rows), and how many jobs they make."""
    from cse.lab.sweep.sweeps import load_sweep

    sweep, width = load_sweep(name), terminal_width()
    lines = [in_column(f"{name}: ", first_sentence(file_of("sweep", name)), width)]
    lines += [list_at_width(f"  {axis.key}=", axis.spelled, width) for axis in sweep.axes()]
    advice = f"sweep={name} dry_run=true lists them. KEY=A,B replaces an axis; seed=1,2,3 adds one."
    return "\n".join([*lines, at_width(f"  {jobs_in_words(sweep)}: {advice}")])


def list_at_width(head: str, values: str, width: int) -> str:
    """Values with commas between them, beside their head. A line ends behind a comma, and no blank is added."""
    return in_column(head, values.replace(",", ", "), width).replace(", ", ",")


def jobs_in_words(sweep: "Sweep") -> str:
    """How many jobs a sweep has, or how many searches."""
    from cse.lab.sweep.grid import combinations

    axes = [axis for axis in sweep.axes() if sweep.is_grid or axis.key in sweep.search_each]
    names = {sweep.job(row, sweep.folder_of_jobs(row)).name for row in combinations(axes)}
    return f"{len(names)} {'jobs' if sweep.is_grid else 'searches'}"
