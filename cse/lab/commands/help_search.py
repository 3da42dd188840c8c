"""What `--help WORD` shows: settings and choices with that name, another trainer's argument, or comments with the word.

To read: `matches_of` finds the entries, and `search_help` writes the lines about them.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from cse.errors import UserError
from cse.lab.settings.groups import CONF_DIR, Kind
from cse.lab.settings.lookup import (
    Entry,
    all_choices,
    answer_to,
    keys_of_command,
    last_part,
    nearest,
    sentences_with,
    settings_of_command,
    settings_of_file,
)
from cse.lab.text_columns import at_width

SHOWN = 4
"""The most choices that are listed with a setting that they share, and the most sentences on other trainers."""
PARAGRAPHS = 15
"""How many settings and choices one search shows."""


def search_help(kind: Kind, word: str, width: int) -> str:
    """Lines of this width about a word: sentences, then a paragraph for each entry. Raises UserError if nothing
    mentions it."""
    sentences, matches = matches_of(word, [*all_choices(kind), *settings_of_command(kind)], kind)
    if not matches and not sentences:
        hint = nearest(word, keys_of_command(kind)) or "; --help alone shows what can be chosen"
        raise UserError(f"--help {word}: no setting or group has that name, and none mentions it{hint}")
    wrapped = [line for sentence in sentences[:SHOWN] for line in textwrap.wrap(sentence, width)]
    found = [*wrapped, *paragraphs(matches, width)]
    notes = (legend(" ".join(" ".join(found).split())), recipe_note(matches, kind))
    return "\n".join([*found, *(line for note in notes for line in textwrap.wrap(note, width))])


def search_page(page: str, word: str, settings: Sequence[Entry], width: int) -> str:
    """Lines of this width about a word; "" if nothing mentions it.

    These are the lines of the command's page with the word, and the settings with the word in their name. If there are
    none: what `matches_of` finds.
    """
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    parts = re.sub(r"\n {20,}", "\0", page.partition("\n")[2]).splitlines()  # a command with its explanation
    said = [line for part in parts if whole.search(part) for line in part.replace("\0", f"\n{' ' * 56}").splitlines()]
    sentences: list[str] = []
    matches = with_parts(settings, word)
    if not said and not matches:
        sentences, matches = matches_of(word, settings, "train")
    wrapped = [line for sentence in sentences[:SHOWN] for line in textwrap.wrap(sentence, width)]
    return "\n".join([*map(at_width, said), *wrapped, *paragraphs(matches, width)])


MARKS = {
    "P": "the paper",
    "A": "the paper's appendix",
    "C": "the authors' code, where the paper has another value or none",
    "L": "the authors' training logs",
}
"""The sources of a value of conf/, by the letter in brackets beside the value: [C], or [A L] for two sources."""


def legend(text: str) -> str:
    """A sentence about the marks in a text; "" without marks."""
    letters = {letter for marks in re.findall(r"\[((?:[PACL] ?)+)[\],]", text) for letter in marks.split()}
    return "; ".join(f"[{letter}]: from {source}" for letter, source in MARKS.items() if letter in letters)


def matches_of(word: str, entries: Sequence[Entry], kind: Kind) -> tuple[list[str], list[Entry]]:
    """(sentences, entries) about a word.

    If the word is an argument of another trainer: that argument and its counterparts. Else, if the word names entries:
    these entries. Else: each row of the table of other trainers' arguments, and each entry, that mentions the word.
    """
    answer = answer_to(word.rpartition("/")[2], [entry.key for entry in entries], kind)
    if answer:
        sentence = answer.sentence() if answer.note else f"{word} is {answer.type} here"
        counterparts = [entry for entry in entries if meets(entry, answer.first or word)]
        called_so = with_name(entries, word) if "." not in word else []
        return [sentence], [*counterparts, *(entry for entry in called_so if entry not in counterparts)]
    named = with_parts(entries, word)
    return ([], named) if named else (sentences_with(word), with_comment(entries, word))


def meets(entry: Entry, given: str) -> bool:
    """Whether our KEY or KEY=VALUE is this setting, is this choice, or is a key above this setting.

    A group such as `trainer` does not count as a key above its settings.
    """
    key = given.partition("=")[0]
    if "." in key:
        return f"{entry.key}.".startswith(f"{key}.")
    return entry.key == key and given in (key, f"{key}={entry.value}")


def with_name(entries: Sequence[Entry], word: str) -> list[Entry]:
    """The entries that have exactly this name, with or without its group."""
    return [entry for entry in entries if word.lower() in (entry.name.lower(), last_part(entry.name.lower()))]


def with_parts(entries: Sequence[Entry], word: str) -> list[Entry]:
    """The entries with the word as a part of their name. If there are none: with a part that begins with the word."""
    joined = re.sub(r"[\s-]+", "_", word)
    part = rf"(^|[._]){re.escape(joined)}"
    whole, begun = re.compile(rf"{part}($|[._])", re.IGNORECASE), re.compile(part, re.IGNORECASE)
    named = [entry for entry in entries if whole.search(entry.name)]
    return named or [entry for entry in entries if begun.search(entry.name)]


def with_comment(entries: Sequence[Entry], word: str) -> list[Entry]:
    """The entries whose comment has the word. If there are none: whose comment has a longer word that begins so."""
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
    return "A recipe may replace these values: add --cfg job to your command to see its values."


def paragraphs(matches: Sequence[Entry], width: int) -> Iterator[str]:
    """A paragraph for each entry. First come settings that every command has, then keys with few dots.

    After PARAGRAPHS paragraphs, a line counts the other entries, and says how to see the first of them.
    """
    alike: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)  # the choices that share a setting
    for entry in sorted(matches, key=lambda entry: (bool(entry.choice), entry.key.count("."), entry.key)):
        group, _, choice = entry.choice.partition("=")
        alike[entry.key, entry.value, entry.comment, group].append(choice)
    column = min(44, max((len(f"{key}={value}") for key, value, _, _ in alike), default=0) + 2)
    rows = list(alike.items())
    for (key, value, comment, group), names in rows[:PARAGRAPHS]:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        right = f"({group}={' '.join(names[:SHOWN])}{more}) {comment}" if group else comment
        yield paragraph(f"{key}={value}", right, column, width)
    if rows[PARAGRAPHS:]:
        (key, value, _, group), names = rows[PARAGRAPHS]
        longer = key
        if key in [shown for (shown, *_), _ in rows[:PARAGRAPHS]]:
            longer = f"{group}={names[0]}" if group else f"{key}={value}"
        yield f"and {len(rows) - PARAGRAPHS} more: for example --help {longer}"


def paragraph(left: str, right: str, column: int, width: int) -> str:
    """A text in a column to the right of a head. If the head is too long, the text is below it."""
    head = f"{left:<{column}}" if len(left) < column else f"{left}\n{' ' * column}"
    return (head + textwrap.fill(right, width - column).replace("\n", "\n" + " " * column)).rstrip()
