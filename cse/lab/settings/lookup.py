"""Find a setting or a choice by its name, by another trainer's name for it, or by a word in its comment in conf/.

Nothing slow is imported.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.settings.conf_files import body, first_sentence, keys_of_text
from cse.lab.settings.groups import CONF_DIR, GLOBAL_GROUPS, Kind, choices, file_of, groups, included, section_of
from cse.lab.settings.suggest import answer_to, last_part, nearest, sentences_with

SHOWN = 4
"""How many choices of a group are named beside a setting that they share, and how many of the table's sentences."""
PARAGRAPHS = 15
"""How many settings and choices one search shows."""


class Entry(NamedTuple):
    """What a search finds: a setting, with its value and its comment, or a choice of a group.

    key, value: of a choice, its group and its name. choice: the GROUP=CHOICE that sets a setting; "" in every run.
    name: what the search looks at: a setting's key, or a choice's own name.
    """

    key: str
    value: str
    comment: str
    name: str
    choice: str = ""


def find(kind: Kind, word: str, width: int) -> str:
    """Lines for another trainer's argument or, if the word is none, for the choices and settings that it names.

    A word that names nothing is searched in comments, and in the table of other trainers' arguments. Raises UserError
    if nothing mentions it.
    """
    entries = [*all_choices(kind), *settings_of_command(kind)]
    sentences: list[str] = []
    if answer := answer_to(word.rpartition("/")[2], [entry.key for entry in entries]):
        sentences = [answer.sentence() if answer.note else f"{word} is {answer.type} here"]
        matches = [entry for entry in entries if meets(entry, answer.first or word)]
        if "." not in word:
            matches += [entry for entry in with_word(entries, word) if entry not in matches]
    else:
        matches = with_parts(entries, word)
        if not matches:
            sentences = sentences_with(word)
            matches = with_comment(entries, word)
    if not matches and not sentences:
        hint = nearest(word, list(keys_of_command(kind))) or "; --help alone shows what can be chosen"
        raise UserError(f"--help {word}: no setting or group has that name, and none mentions it{hint}")
    wrapped = [line for sentence in sentences[:SHOWN] for line in textwrap.wrap(sentence, width)]
    return "\n".join([*wrapped, *paragraphs(matches, width), *textwrap.wrap(recipe_note(matches, kind), width)])


def with_word(entries: list[Entry], word: str) -> list[Entry]:
    """The entries that have exactly this name, with or without its group."""
    return [entry for entry in entries if word.lower() in (entry.name.lower(), last_part(entry.name.lower()))]


def with_parts(entries: list[Entry], word: str) -> list[Entry]:
    """The entries whose name has the word as a part or, without one, a part that begins with it."""
    joined = re.sub(r"[\s-]+", "_", word)
    part = rf"(^|[._]){re.escape(joined)}"
    whole, begun = re.compile(rf"{part}($|[._])", re.IGNORECASE), re.compile(part, re.IGNORECASE)
    named = [entry for entry in entries if whole.search(entry.name)]
    return named or [entry for entry in entries if begun.search(entry.name)]


def with_comment(entries: list[Entry], word: str) -> list[Entry]:
    """The entries whose comment has the word or, without one, a word that begins with it."""
    whole, begun = (re.compile(rf"\b{re.escape(word)}{end}", re.IGNORECASE) for end in (r"(?!\w)", ""))
    mentions = [entry for entry in entries if whole.search(entry.comment)]
    return mentions or [entry for entry in entries if begun.search(entry.comment)]


def recipe_note(matches: list[Entry], kind: Kind) -> str:
    """Where a run's values are shown, if a file of conf/recipe sets one of these settings; "" without one."""
    if kind == "train" and not keys_of_recipes().isdisjoint(entry.key for entry in matches):
        return "A recipe may replace these values: add --cfg job to your command to see yours."
    return ""


def keys_of_recipes() -> set[str]:
    """The settings in the files of conf/recipe."""
    files = Path(CONF_DIR, "recipe").rglob("*.yaml")
    return {setting.key for file in files for setting in settings_of_file(file, "", "")}


def meets(entry: Entry, typed: str) -> bool:
    """Whether a KEY or KEY=VALUE is this entry, one inside it, or this choice. A whole group is none of its keys."""
    key = typed.partition("=")[0]
    if "." in key:
        return f"{entry.key}.".startswith(f"{key}.")
    return entry.key == key and typed in (key, f"{key}={entry.value}")


def paragraphs(matches: list[Entry], width: int) -> Iterator[str]:
    """A paragraph for each entry: KEY=VALUE, then in a column the choices that have it, and its comment.

    Settings of every run come first, then short keys. After PARAGRAPHS of them, a line counts the others.
    """
    having: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in sorted(matches, key=lambda entry: (bool(entry.choice), entry.key.count("."), entry.key)):
        group, _, choice = entry.choice.partition("=")
        having[f"{entry.key}={entry.value}", entry.comment, group].append(choice)
    column = min(44, max((len(left) for left, _, _ in having), default=0) + 2)
    for (left, comment, group), names in islice(having.items(), PARAGRAPHS):
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        right = f"({group}={' '.join(names[:SHOWN])}{more}) {comment}" if group else comment
        first = f"{left:<{column}}" if len(left) < column else f"{left}\n{' ' * column}"
        yield (first + textwrap.fill(right, width - column).replace("\n", "\n" + " " * column)).rstrip()
    if others := [*having.items()][PARAGRAPHS:]:
        shown = {left.partition("=")[0] for left, _, _ in [*having][:PARAGRAPHS]}
        (left, _, group), names = others[0]
        key = left.partition("=")[0]
        longer = (f"{group}={names[0]}" if group else left) if key in shown else key
        yield f"and {len(others)} more: for example --help {longer}"


def all_choices(kind: Kind) -> Iterator[Entry]:
    """Each group's choices with their first sentences."""
    for group in groups(kind):
        for choice in choices(group):
            if choice != "default":
                yield Entry(group, choice, first_sentence(file_of(group, choice)), choice)


def keys_of_command(kind: Kind) -> dict[str, list[str]]:
    """Every group and every setting of a kind of command, and the GROUP=CHOICEs that set it; "" is every run."""
    choices_by_key: dict[str, list[str]] = {group: [""] for group in groups(kind)}
    for setting in settings_of_command(kind):
        choices_by_key.setdefault(setting.key, []).append(setting.choice)
    return choices_by_key


def settings_of_command(kind: Kind) -> Iterator[Entry]:
    """Every setting of a kind of command and of every choice of its groups."""
    own = settings_of_file(Path(CONF_DIR, f"{kind}.yaml"), "", "")
    yield from (setting for setting in own if setting.value != "{}")  # eval: {}, to which each evaluator adds its own
    for group in groups(kind):
        for choice in choices(group) if group not in GLOBAL_GROUPS else ():
            name = "" if choice == "default" else f"{group}={choice}"
            by_key: dict[str, Entry] = {}
            for file in included(file_of(group, choice)):
                by_key |= {setting.key: setting for setting in settings_of_file(file, group, name)}
            yield from by_key.values()


def settings_of_file(file: Path, group: str, choice: str) -> Iterator[Entry]:
    """The settings of one file, in order."""
    inside = "".join(f"{name}." for name in section_of(group, file)) if group else ""
    for key, value, comment in keys_of_text("\n".join(body(file))):
        dotted, last = inside + key, key.rpartition(".")[2]
        is_hydras = dotted.startswith("hydra.") and dotted != "hydra.run.dir"
        is_of_run = last.startswith("_") or "a run fills this in" in comment
        if value and not is_hydras and not is_of_run:
            yield Entry(dotted, value, comment, dotted, choice)
