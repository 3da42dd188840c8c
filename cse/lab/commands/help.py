"""How each command begins: it reads its arguments, or it answers --help, --version or a question mark and exits.

Start at `arguments_or_exit`. `answer_question` gives the help of cse-train and cse-eval: `topics_asked` finds the words
that the arguments ask about, and `help_on` writes the help on a word. The choices are read from the files of conf/. No
import is slow.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from cse.errors import UserError
from cse.lab.commands.help_search import in_other_commands, legend, search_help, search_page, with_parts
from cse.lab.settings.command import MULTIRUN, WITH_VALUE, normalized
from cse.lab.settings.conf_files import body, first_sentence, text_of
from cse.lab.settings.groups import OPTIONAL_GROUPS, Kind, adopt_folders, choices, file_of, groups, included, section_of
from cse.lab.settings.lookup import Entry, answer_to, nearest, settings_of_command
from cse.lab.settings.mistakes import no_choice
from cse.lab.text_columns import at_width, in_column, list_at_width, terminal_width, yaml_at_width

if TYPE_CHECKING:  # importing omegaconf takes time
    from cse.lab.sweep.sweeps import Sweep

NO_CHOICE = ["default"]
"""The choices of a group whose only choice is `default`."""
HIDDEN = r" {0,2}_target_|\s*_(convert|partial)_|# @pack"
"""A line of a choice's file that the help leaves out. The help shows the classes of inner parts, such as a head."""
HELP_FLAGS = {"-h", "--help"}
QUESTION = re.compile(r"\?\w[\w.]*|\w[\w.]*[=.]?\?|\w+=\w+\.\?")
"""An argument that asks for help: GROUP=?, GROUP=CHOICE.?, KEY=?, ?KEY."""


def arguments_or_exit(page: str, kind: Kind | None = None, settings: Iterable[Entry] = ()) -> list[str]:
    """Return the arguments of this process without --config-dir, or print what --version or --help asks for and exit.

    The folders of --config-dir are added to the user's own folders. page: the text of --help. kind: "train" for
    cse-train, "evaluate" for cse-eval, None for the other commands. The help of cse-train and cse-eval also covers
    groups and choices. settings: for the other commands, the settings that --help WORD searches.
    """
    arguments = adopt_folders(normalized(sys.argv[1:]))
    shown = None
    if "--version" in arguments:
        import cse

        shown = f"cse {cse.__version__}"
    elif kind:
        shown = answer_question(page, arguments, kind)
    elif asks_for_help(arguments):
        shown = help_on_page(page, arguments, settings)
    if shown is None:
        return arguments
    print(shown)
    sys.exit(0)


def answer_question(page: str, arguments: Sequence[str], kind: Kind) -> str | None:
    """Return the help that arguments of cse-train or cse-eval ask for, or None if they do not ask for help.

    Raises UserError if they ask about a word that nothing mentions.
    """
    if topics := topics_asked(arguments):
        name = " ".join(topics)  # the words of one name without quotation marks: batch size
        found = with_parts([*settings_of_command(kind)], name) or ("." not in name and answer_to(name, kind=kind))
        one_name = len(topics) > 1 and found
        return "\n\n".join(help_on(kind, topic) for topic in ([name] if one_name else topics))
    if asks_for_help(arguments):
        lines = [what_to_choose(kind) if line == "CHOICES" else at_width(line) for line in page.splitlines()]
        return "\n".join(lines)
    return None


def help_on_page(page: str, arguments: Sequence[str], settings: Iterable[Entry]) -> str:
    """Return the help of a command without groups: the lines about the words given with --help, or the whole page.

    If nothing mentions a word before --help, return the page: the word may be an argument of a command. Raises
    UserError if nothing mentions a word after --help.
    """
    topics = [topic.partition("=")[0] for topic in topics_asked(arguments)]
    entries = list(settings) if topics else []
    answers = [search_page(page, topic, entries, terminal_width()) for topic in topics]
    if topics and all(answers):
        return "\n\n".join(answers)
    if topics and asks_for_help(arguments[:1]):
        elsewhere = in_other_commands(topics[0])
        hint = f"; {elsewhere}" if elsewhere else nearest(topics[0], [entry.key for entry in entries])
        none = "neither this page nor a setting mentions this word"
        raise UserError(f"--help {topics[0]}: {none}{hint}; --help alone shows the page")
    return "\n".join(map(at_width, page.splitlines()))


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Return whether an argument is --help, -h or a question mark, or the first argument is `help`."""
    return bool((HELP_FLAGS | {"?"}) & {*arguments}) or list(arguments[:1]) == ["help"]


def topics_asked(arguments: Sequence[str]) -> list[str]:
    """Return the groups, choices and settings that arguments ask about.

    With --help, the other arguments are the topics. Another trainer's argument loses its dashes: --learning_rate is the
    topic learning_rate. WORD=?, WORD.? and ?WORD mean `--help WORD`. If several words are given, a setting before
    --help is no topic: the person typed a whole command first.
    """
    if asks_for_help(arguments):
        others = [text for text in arguments if text not in {"", "?", "help", "--help", *MULTIRUN, *WITH_VALUE}]
        flags = [text.lstrip("-") for text in others if text.startswith("--")]
        asked = flags or [text for text in others if not text.startswith("-")]
        before = [*takewhile(lambda text: not asks_for_help([text]), arguments)]
        if len(asked) > 1:
            asked = [text for text in asked if "=" not in text or text not in before]
    else:
        asked = [text for text in arguments if QUESTION.fullmatch(text)]
    return [text.strip("?").rstrip("=.") for text in asked]


def what_to_choose(kind: Kind) -> str:
    """Return a line for each group that offers choices, with the names of the group's choices."""
    lines = []
    for group in groups(kind):
        names = ["PAPER/TABLE"] if group == "sweep" else choices(group)
        if names not in ([], NO_CHOICE):
            lines.append(in_column(f"  {group + '=':<16}", " ".join(names), terminal_width()))
    return "\n".join(lines)


def help_on(kind: Kind, topic: str) -> str:
    """Return help on a group (its choices), a choice (its keys), or a word (the settings and choices of that name).

    Raises UserError for a choice that the group lacks.
    """
    group, _, choice = topic.removesuffix("[]").partition("=")  # eval=[] chooses nothing
    if group not in groups(kind):
        return search_help(kind, group, terminal_width())
    several = choices(group)
    if several == NO_CHOICE:
        return help_on_choice(group, "default")
    if not choice:
        width = max(map(len, several)) + 2
        return "\n".join(at_width(f"{name:<{width}}{first_sentence(file_of(group, name))}") for name in several)
    names = choice.strip("[]").split(",")
    for name in names:
        if name not in several:
            raise UserError(f"--help {topic}: {no_choice(group, name, kind)}")
    if group == "sweep":
        return "\n\n".join(map(help_on_sweep, names))
    return "\n\n".join(help_on_choice(group, name) for name in names)


def help_on_choice(group: str, choice: str) -> str:
    """Return the syntax to set a key of a choice, then the lines of the choice's file and of the files it includes."""
    file = file_of(group, choice)
    if group in OPTIONAL_GROUPS:
        how = "trainer.lr=VALUE"
    elif group == "eval":
        how = f"eval.{choice}.KEY=VALUE"
    else:
        how = f"{group}.KEY=VALUE"
    if not section_of(group, file):
        how += "; likewise for the other parts"
    lines = [at_width(f"{group}={choice}    (to set a key: {how})")]
    for part in reversed(included(file)):
        kept = [line for line in body(part, comment=True) if not re.match(HIDDEN, line)]
        lines += ["", "\n".join(yaml_at_width(kept)).strip()]
    marks = legend("\n".join(map(text_of, included(file))))
    return "\n".join([*lines, "", at_width(marks)] if marks else lines)


def help_on_sweep(name: str) -> str:
    """Return the first sentence of a sweep's file, the values of its axes, and the number of jobs.

    The values of the axis `case` are the names of the entries of `cases` in the sweep's file.
    """
    from cse.lab.sweep.sweeps import load_sweep

    sweep, width = load_sweep(name), terminal_width()
    lines = [in_column(f"{name}: ", first_sentence(file_of("sweep", name)), width)]
    lines += [list_at_width(f"  {axis.key}=", axis.spelled, width) for axis in sweep.axes()]
    advice = f"sweep={name} dry_run=true lists them. KEY=A,B replaces an axis; seed=1,2,3 adds an axis."
    return "\n".join([*lines, at_width(f"  {jobs_in_words(sweep)}: {advice}")])


def jobs_in_words(sweep: "Sweep") -> str:
    """Return the number of a grid's jobs, as "12 jobs", or of another sweep's searches, as "3 searches"."""
    from cse.lab.sweep.axes import combinations
    from cse.lab.sweep.rows import ReadOnce, job_of_row

    axes = list(sweep.axes())
    if not sweep.is_grid:
        axes = [axis for axis in axes if axis.key in sweep.search_each]
    once = ReadOnce()
    names = {job_of_row(sweep, row, sweep.folder_of_jobs(row), once=once).name for row in combinations(axes)}
    return f"{len(names)} {'jobs' if sweep.is_grid else 'searches'}"
