"""What `--help WORD` shows: settings and choices with that name, another trainer's argument, or comments with the word.

`matches_of` finds the entries: settings and choices. `search_help` writes the lines about them.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from cse.errors import UserError
from cse.lab.settings.groups import CONF_DIR, Kind, groups
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
from cse.lab.text_columns import at_width, in_column

SHOWN = 4
"""The largest number of choices shown beside a setting that they share, and of sentences about other trainers."""
PARAGRAPHS = 15
"""The largest number of entries that one search shows."""


def search_help(kind: Kind, word: str, width: int) -> str:
    """Return lines about a word: sentences, then a paragraph for each entry. width: a line's width in characters.

    Raises UserError if nothing mentions the word.
    """
    entries = [*all_choices(kind), *settings_of_command(kind)]
    sentences, matches = matches_of(word, entries, kind)
    elsewhere = "" if with_name(entries, word) else in_other_commands(word)
    if not matches and not sentences:
        near = nearest(word, keys_of_command(kind)) or "; --help alone shows what can be chosen"
        hint = f"; {elsewhere}" if elsewhere else near
        raise UserError(f"--help {word}: no setting or group has this name or mentions this word{hint}")
    wrapped = [line for sentence in sentences[:SHOWN] for line in in_column("", sentence, width).splitlines()]
    found = [*wrapped, *in_column("", elsewhere, width).splitlines(), *paragraphs(in_order(matches, word, kind), width)]
    notes = (legend(" ".join(" ".join(found).split())), recipe_note(matches, kind))
    return "\n".join([*found, *(line for note in notes for line in in_column("", note, width).splitlines())])


def search_page(page: str, word: str, settings: Sequence[Entry], width: int) -> str:
    """Return lines about a word, or "" if nothing mentions the word. width: a line's width in characters.

    First come the page's lines that have the word, then the settings whose names have the word. If there is no such
    line and no such setting, `matches_of` finds the entries.
    """
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    parts = re.sub(r"\n {20,}", "\0", page.partition("\n")[2]).splitlines()  # a command with its explanation
    said = [line for part in parts if whole.search(part) for line in part.replace("\0", f"\n{' ' * 56}").splitlines()]
    sentences: list[str] = []
    matches = with_parts(settings, word)
    if not said and not matches:
        sentences, matches = matches_of(word, settings, "train")
    wrapped = [line for sentence in sentences[:SHOWN] for line in in_column("", sentence, width).splitlines()]
    return "\n".join([*map(at_width, said), *wrapped, *paragraphs(in_order(matches, word, "train"), width)])


def in_other_commands(word: str) -> str:
    """Return a sentence that names the command with a setting of this name; "" if there is none."""
    keys = {
        "cse-report": [entry.key for entry in settings_of_file(Path(CONF_DIR, "reporting.yaml"), "", "")],
        "cse-data": [entry.key for entry in settings_of_file(Path(CONF_DIR, "mining.yaml"), "", "")],
        "cse-train": keys_of_command("train"),
        "cse-eval": keys_of_command("evaluate"),
    }
    programs = [name for name, known in keys.items() if word in known or word in map(last_part, known)]
    return f"{word} is a setting of {programs[0]}: {programs[0]} --help {word}" if programs else ""


MARKS = {
    "P": "the paper",
    "A": "the paper's appendix",
    "C": "the authors' code, where the paper has another value or none",
    "L": "the authors' training logs",
}
"""The sources of values in conf/, by the letter that is in brackets beside a value: [C], or [A L] for two sources."""


def legend(text: str) -> str:
    """Return a sentence that explains the letters of MARKS in a text, or "" if the text has none."""
    letters = {letter for marks in re.findall(r"\[((?:[PACL] ?)+)[\],]", text) for letter in marks.split()}
    return "; ".join(f"[{letter}]: from {source}" for letter, source in MARKS.items() if letter in letters)


def matches_of(word: str, entries: Sequence[Entry], kind: Kind) -> tuple[list[str], list[Entry]]:
    """Return (sentences, entries) about a word.

    - If the word is another trainer's argument, and no dotted key of cse: a sentence on the argument, its counterparts,
      and entries of that name.
    - Else, if names of entries have the word as a part: these entries, and entries with the word as an allowed value.
      If no usual setting has such a name, then also usual settings whose comments contain the word.
    - Else: the entries whose comments contain the word. Before them come groups and usual settings, if the word begins
      with a part of their names, as `evaluation` begins with `eval`. If there are none, then also the sentences about
      other trainers that contain the word.
    """
    keys = [entry.key for entry in entries]
    answer = answer_to(word.rpartition("/")[2], keys, kind)
    if answer and not (word in keys and ("." in word or answer.kind != kind)):
        sentence = answer.sentence() if answer.note else f"{word} is {answer.type} here"
        counterparts = [entry for entry in entries if meets(entry, answer.first or word)]
        called_so = with_name(entries, word) if "." not in word else []
        return [sentence], [*counterparts, *(entry for entry in called_so if entry not in counterparts)]
    named = with_parts(entries, word)
    usual = [entry for entry in entries if entry.key == entry.name and is_usual(entry, kind)]
    if named:
        of_all = [] if any(entry in usual for entry in named) else usual
        also = [*with_comment(of_all, word), *with_value(entries, word)]
        return [], [*named, *(entry for entry in also if entry not in named)]
    mentions = with_comment(entries, word)
    near = [*groups_that_begin(word, kind), *(entry for entry in usual if begins_with_a_part(word, entry.name))]
    if mentions and near:
        return [], [*near, *(entry for entry in mentions if entry not in near)]
    return sentences_with(word), mentions


def is_usual(entry: Entry, kind: Kind) -> bool:
    """Return whether every command of a kind has this entry, if the command chooses nothing in the entry's group."""
    group, _, choice = entry.choice.partition("=")
    return not choice or choice in groups(kind)[group].choices


def groups_that_begin(word: str, kind: Kind) -> list[Entry]:
    """Return each group with whose name the word begins, with the group's default and its comment."""
    found = {group: default for group, default in groups(kind).items() if begins_with_a_part(word, group)}
    return [
        Entry(group, "[{}]".format(",".join(chosen)) if chosen[1:] else "".join(chosen), f"{comment}; {more}", group)
        for group, (chosen, comment) in found.items()
        for more in [f"--help {group} lists the choices"]
    ]


def begins_with_a_part(word: str, name: str) -> bool:
    """Return whether a word begins with a part of a name that has four letters or more: evaluation, eval_every."""
    parts = [part for part in re.split(r"[._]", name) if len(part) > 3]
    return word.isalpha() and word.lower().startswith(tuple(parts))


def meets(entry: Entry, given: str) -> bool:
    """Return whether a KEY or KEY=VALUE of cse means this entry, or a mapping that contains this entry.

    A group such as `trainer` does not mean the settings in the group.
    """
    key = given.partition("=")[0]
    if "." in key:
        return f"{entry.key}.".startswith(f"{key}.")
    return entry.key == key and given in (key, f"{key}={entry.value}")


def with_name(entries: Sequence[Entry], word: str) -> list[Entry]:
    """Return the entries that have this word as their name, or as the last part of their name."""
    return [entry for entry in entries if word.lower() in (entry.name.lower(), last_part(entry.name.lower()))]


def with_parts(entries: Sequence[Entry], word: str) -> list[Entry]:
    """Return the entries whose name has the word as a part or, if there are none, a part that begins with the word."""
    joined = "[._]".join(map(re.escape, re.split(r"[\s-]+", word)))
    part = rf"(^|[._]){joined}"
    whole, begun = re.compile(rf"{part}($|[._])", re.IGNORECASE), re.compile(part, re.IGNORECASE)
    named = [entry for entry in entries if whole.search(entry.name)]
    return named or [entry for entry in entries if begun.search(entry.name)]


def with_comment(entries: Sequence[Entry], word: str) -> list[Entry]:
    """Return the entries whose comment has the word or, if there are none, a longer word that begins with the word.

    For several words, the comment may also have longer words that begin with them, in any order.
    """
    begun = "".join(rf"(?=.*\b{re.escape(part)})" for part in word.split())
    for pattern in (rf"\b{re.escape(word)}(?!\w)", rf"\b{re.escape(word)}", begun):
        mentions = [entry for entry in entries if re.search(pattern, entry.comment, re.IGNORECASE)]
        if mentions:
            return mentions
    return []


def with_value(entries: Sequence[Entry], word: str) -> list[Entry]:
    """Return the entries whose comment lists the word as an allowed value, as in "linear | cosine: decay to 0"."""
    value = re.compile(rf"\| {re.escape(word)}\b|(?:^|: ){re.escape(word)}\b[^.|]*\|", re.IGNORECASE)
    return [entry for entry in entries if value.search(entry.comment)]


def recipe_note(matches: Sequence[Entry], kind: Kind) -> str:
    """Return a sentence on how to see a run's values, or "" if no recipe or experiment sets one of these settings."""
    if kind == "evaluate":
        return ""
    files = [file for group in ("recipe", "experiment") for file in Path(CONF_DIR, group).rglob("*.yaml")]
    replaced = {setting.key for file in files for setting in settings_of_file(file, "", "")}
    if replaced.isdisjoint(entry.key for entry in matches):
        return ""
    return "A recipe or an experiment may replace these values: add --cfg job to your command to see its values."


def in_order(matches: Sequence[Entry], word: str, kind: Kind) -> list[Entry]:
    """Return the entries about a word, with the entry first that the word means.

    Settings of choices that are no default come after all other entries. In each of these two lists, the order is:
    names that have the word, comments by the place of the word, keys with fewer dots. A setting that refuses every
    other value comes last.
    """

    def place(entry: Entry) -> tuple[bool, bool, int, int, str, bool]:
        is_refused = entry.comment.startswith("another value is refused")
        is_named = word.lower() in entry.name.lower() or begins_with_a_part(word, entry.name)
        before = 0 if is_named else len(entry.comment.lower().partition(word.lower())[0])
        return is_refused, not is_usual(entry, kind), before, entry.key.count("."), entry.key, bool(entry.choice)

    return sorted(matches, key=place)


def paragraphs(matches: Sequence[Entry], width: int) -> Iterator[str]:
    """Yield a paragraph for each entry. If choices of a group have an equal setting, one paragraph shows it.

    After PARAGRAPHS paragraphs, one line gives the number of the remaining paragraphs, and how to see the next one.
    """
    alike: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)  # the choices that share a setting
    for entry in matches:
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
    """Return a head and a text in a column to the right of the head. If the head is too long, the text is below it."""
    head = f"{left:<{column}}" if len(left) < column else f"{left}\n{' ' * column}"
    return (head + textwrap.fill(right, width - column).replace("\n", "\n" + " " * column)).rstrip()
