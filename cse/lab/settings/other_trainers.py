"""The table of other trainers' arguments, other_trainers.yaml, and the answer to a word of it."""

from collections import defaultdict
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("other_trainers.yaml")


class Answer(NamedTuple):
    """A row of the table: what a trainer calls a thing, what to type here, and what differs.

    type: "" if nothing here corresponds.
    """

    trainer: str
    arguments: list[str]
    type: str
    note: str

    @property
    def first(self) -> str:
        """The first of the words to type: a KEY, or a KEY=VALUE."""
        return self.type.partition(" ")[0]

    @property
    def key(self) -> str:
        """The setting, or the group, of the first word."""
        return self.first.partition("=")[0]

    def sentence(self) -> str:
        """What to type and what differs, for a terminal."""
        return ": ".join(part for part in (self.type, self.note.replace("`", "")) if part)


@cache
def trainers() -> dict[str, tuple[str, list[Answer]]]:
    """Each trainer with a sentence about it and its rows, in the table's order."""
    import yaml

    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {
        trainer: (part["about"], [row(trainer, names, told) for names, told in part["arguments"].items()])
        for trainer, part in table.items()
    }


def row(trainer: str, names: str, told: str | dict[str, str]) -> Answer:
    """The row of one line or mapping of the table."""
    said = {"type": told} if isinstance(told, str) else told
    return Answer(trainer, str(names).split(", "), said["type"], said.get("note", ""))


@cache
def rows_by_name() -> dict[str, list[Answer]]:
    """The rows of each name that a person types: an argument, with its group and without, unless ours is the same."""
    found: dict[str, list[Answer]] = defaultdict(list)
    for _, rows in trainers().values():
        for one in rows:
            names = {spelled(name) for argument in one.arguments for name in (argument, last_part(argument))}
            for name in names - {last_part(one.key)}:
                found[name].append(one)
    return found


def last_part(name: str) -> str:
    """The part of a dotted name after the last dot."""
    return name.rpartition(".")[2]


def spelled(name: str) -> str:
    """A name as the table is searched: lower case, one kind of dash."""
    return name.strip("-").lower().replace("-", "_").replace(" ", "_")


def answer_to(name: str, known: Collection[str] = ()) -> Answer | None:
    """The row of a name, or of its last part. One whose setting is known comes before others; None if there is none."""
    rows = rows_by_name().get(spelled(name)) or rows_by_name().get(spelled(last_part(name))) or []
    return next((one for one in rows if one.key in known), rows[0] if rows else None)
