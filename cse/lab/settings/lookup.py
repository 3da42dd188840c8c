"""All settings and choices of a command, and what `--help WORD` finds among them.

First what there is: `all_choices` and `settings_of_command`, read from the text of conf/. Then the search: `find` looks
for a name, for another trainer's name (suggest.py), or for a word in a comment. Nothing slow is imported.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.settings.conf_files import body, first_sentence, keys_of_text
from cse.lab.settings.groups import CONF_DIR, GLOBAL_GROUPS, Kind, choices, file_of, groups, included, section_of
from cse.lab.settings.suggest import answer_to, last_part, nearest, sentences_with

SHOWN = 4
"""How many choices of a group are named beside a setting that they share, and how many sentences of the table."""
PARAGRAPHS = 15
"""How many settings and choices one search shows."""


class Entry(NamedTuple):
    """A setting, with its value and its comment, or a choice of a group.

    key, value: of a choice, its group and its name. name: what a search looks at, a setting's key or a choice's own
    name. choice: the GROUP=CHOICE that sets a setting; "" if every command has it.
    """

    key: str
    value: str
    comment: str
    name: str
    choice: str = ""


def all_choices(kind: Kind) -> Iterator[Entry]:
    """Each group's choices with their first sentences."""
    for group in groups(kind):
        for choice in choices(group):
            if choice != "default":
                yield Entry(group, choice, first_sentence(file_of(group, choice)), choice)


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
        dotted, last = inside + key, last_part(key)
        is_hydras = dotted.startswith("hydra.") and dotted != "hydra.run.dir"
        is_of_run = last.startswith("_") or "a run fills this in" in comment
        if value and not is_hydras and not is_of_run:
            yield Entry(dotted, value, comment, dotted, choice)


def keys_of_command(kind: Kind) -> dict[str, list[str]]:
    """Every group and every setting of a kind of command, with the GROUP=CHOICEs that set it; "" for every
    command."""
    choices_by_key: dict[str, list[str]] = {group: [""] for group in groups(kind)}
    for setting in settings_of_command(kind):
        choices_by_key.setdefault(setting.key, []).append(setting.choice)
    return choices_by_key


# What --help WORD finds


def find(kind: Kind, word: str, width: int) -> str:
    """Lines of this width about a word: sentences, then a paragraph for each entry. Raises UserError if nothing
    mentions it."""
    sentences, matches = search(word, [*all_choices(kind), *settings_of_command(kind)])
    if not matches and not sentences:
        hint = nearest(word, keys_of_command(kind)) or "; --help alone shows what can be chosen"
        raise UserError(f"--help {word}: no setting or group has that name, and none mentions it{hint}")
    wrapped = [line for sentence in sentences[:SHOWN] for line in textwrap.wrap(sentence, width)]
    return "\n".join([*wrapped, *paragraphs(matches, width), *textwrap.wrap(recipe_note(matches, kind), width)])


def search(word: str, entries: Sequence[Entry]) -> tuple[list[str], list[Entry]]:
    """(sentences, entries) about a word: another trainer's argument and its counterparts; else the entries that it
    names; else what mentions it, in the table of other trainers' arguments and in comments."""
    answer = answer_to(word.rpartition("/")[2], [entry.key for entry in entries])
    if answer:
        sentence = answer.sentence() if answer.note else f"{word} is {answer.type} here"
        counterparts = [entry for entry in entries if meets(entry, answer.first or word)]
        called_so = with_name(entries, word) if "." not in word else []
        return [sentence], [*counterparts, *(entry for entry in called_so if entry not in counterparts)]
    named = with_parts(entries, word)
    return ([], named) if named else (sentences_with(word), with_comment(entries, word))


def meets(entry: Entry, given: str) -> bool:
    """Whether a KEY or KEY=VALUE is this entry, contains it, or is this choice. A group does not contain its keys."""
    key = given.partition("=")[0]
    if "." in key:
        return f"{entry.key}.".startswith(f"{key}.")
    return entry.key == key and given in (key, f"{key}={entry.value}")


def with_name(entries: Sequence[Entry], word: str) -> list[Entry]:
    """The entries that have exactly this name, with or without its group."""
    return [entry for entry in entries if word.lower() in (entry.name.lower(), last_part(entry.name.lower()))]


def with_parts(entries: Sequence[Entry], word: str) -> list[Entry]:
    """The entries whose name has the word as a part or, if there is none, a part that begins with it."""
    joined = re.sub(r"[\s-]+", "_", word)
    part = rf"(^|[._]){re.escape(joined)}"
    whole, begun = re.compile(rf"{part}($|[._])", re.IGNORECASE), re.compile(part, re.IGNORECASE)
    named = [entry for entry in entries if whole.search(entry.name)]
    return named or [entry for entry in entries if begun.search(entry.name)]


def with_comment(entries: Sequence[Entry], word: str) -> list[Entry]:
    """The entries whose comment has the word or, if there is none, a word that begins with it."""
    whole, begun = (re.compile(rf"\b{re.escape(word)}{end}", re.IGNORECASE) for end in (r"(?!\w)", ""))
    mentions = [entry for entry in entries if whole.search(entry.comment)]
    return mentions or [entry for entry in entries if begun.search(entry.comment)]


def recipe_note(matches: Sequence[Entry], kind: Kind) -> str:
    """How to see a run's values, if a file of conf/recipe sets one of these settings; else ""."""
    if kind == "evaluate":
        return ""
    files = Path(CONF_DIR, "recipe").rglob("*.yaml")
    of_recipes = {setting.key for file in files for setting in settings_of_file(file, "", "")}
    if of_recipes.isdisjoint(entry.key for entry in matches):
        return ""
    return "A recipe may replace these values: add --cfg job to your command to see yours."


class Paragraph(NamedTuple):
    """A KEY=VALUE with its comment, and the choices of a group that set it; no group if every command has it."""

    key: str
    value: str
    comment: str
    group: str
    choices: list[str]

    def at_width(self, column: int, width: int) -> str:
        """Its lines: KEY=VALUE, then in a column the choices and the comment."""
        left, right = f"{self.key}={self.value}", self.comment
        if self.group:
            count = len(self.choices) - SHOWN
            more = f" and {count} more" if count > 0 else ""
            right = f"({self.group}={' '.join(self.choices[:SHOWN])}{more}) {right}"
        first = f"{left:<{column}}" if len(left) < column else f"{left}\n{' ' * column}"
        return (first + textwrap.fill(right, width - column).replace("\n", "\n" + " " * column)).rstrip()


def paragraphs(matches: Sequence[Entry], width: int) -> Iterator[str]:
    """A paragraph for each entry. Settings of every command come first, then short keys. After PARAGRAPHS of them, a
    line counts the others, and says how to see the first of them."""
    alike: dict[tuple[str, str, str, str], Paragraph] = {}
    for entry in sorted(matches, key=lambda entry: (bool(entry.choice), entry.key.count("."), entry.key)):
        group, _, choice = entry.choice.partition("=")
        content = (entry.key, entry.value, entry.comment, group)
        alike.setdefault(content, Paragraph(*content, [])).choices.append(choice)
    shown, others = [*alike.values()][:PARAGRAPHS], [*alike.values()][PARAGRAPHS:]
    longest = max((len(f"{one.key}={one.value}") for one in alike.values()), default=0)
    for one in shown:
        yield one.at_width(min(44, longest + 2), width)
    if others:
        first = others[0]
        longer = first.key
        if first.key in [one.key for one in shown]:
            longer = f"{first.group}={first.choices[0]}" if first.group else f"{first.key}={first.value}"
        yield f"and {len(others)} more: for example --help {longer}"
