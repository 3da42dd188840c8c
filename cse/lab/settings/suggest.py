"""What a word may have meant: another trainer's name for a setting of ours (other_trainers.yaml), or a near spelling.

`nearest` is the hint in a refusal. `meant` has the names in it, those that the first of GUESSES finds. `answer_to` is
the row of the table of other trainers' arguments, `topic` its sentence. `sentences_with` and `value_here` search the
table's sentences.
"""

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("other_trainers.yaml")


def topic(word: str, names: Collection[str] = ()) -> str:
    """What the table of other trainers' arguments says about a word; "" if it says nothing beyond our name for it."""
    answer = answer_to(word, names)
    return answer.sentence() if answer and answer.note else ""


def nearest(word: str, names: Sequence[str]) -> str:
    """` (did you mean KEY?)` with the name that a word meant, or ""."""
    guesses = meant(word, names)
    return f" (did you mean {' or '.join(guesses)}?)" if guesses else ""


def meant(word: str, names: Sequence[str]) -> list[str]:
    """The name that a word meant; several choices if all are called so, [] if no name is near."""
    for guess in GUESSES:
        if guesses := guess(word, names):
            return guesses
    return []


def of_another_trainer(word: str, names: Sequence[str]) -> list[str]:
    """`learning_rate` is trainer.lr elsewhere."""
    answer = answer_to(word, names)
    return [answer.key] if answer and answer.key in names else []


def of_a_choice(word: str, names: Sequence[str]) -> list[str]:
    """`table1` is nonling/table1 or whitenedcse/table1."""
    return [name for name in names if name.endswith((f"/{word}", f"={word}"))]


def with_the_last_part(word: str, names: Sequence[str]) -> list[str]:
    """`trainer.mlm_weight` is objective.mlm_weight, if no other key ends so."""
    alike = [name for name in names if last_part(name) == last_part(word.lower())]
    return alike if len(alike) == 1 else []


def begun(word: str, names: Sequence[str]) -> list[str]:
    """`trainer.accum` is trainer.accumulate, if no other key begins so."""
    longer = [name for name in names if name.startswith(word.lower())]
    return longer if len(longer) == 1 else []


def spelled_alike(word: str, names: Sequence[str]) -> list[str]:
    """`trainer.batchsize` is trainer.batch_size."""
    return difflib.get_close_matches(word.lower(), names, 1, 0.6)


def with_a_last_part_alike(word: str, names: Sequence[str]) -> list[str]:
    """`trainer.temperature` is objective.temperature, which is not spelled like it as a whole."""
    by_last = {last_part(name): name for name in names}
    return [by_last[end] for end in difflib.get_close_matches(last_part(word.lower()), list(by_last), 1, 0.7)]


GUESSES = (of_another_trainer, of_a_choice, with_the_last_part, begun, spelled_alike, with_a_last_part_alike)
"""The ways to guess what a word meant, the surest first."""


# The table of other trainers' arguments


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
        trainer: (part["about"], [row(trainer, names, answer) for names, answer in part["arguments"].items()])
        for trainer, part in table.items()
    }


def row(trainer: str, names: str, answer: str | dict[str, str]) -> Answer:
    """The row of one line or mapping of the table."""
    columns = {"type": answer} if isinstance(answer, str) else answer
    return Answer(trainer, str(names).split(", "), columns["type"], columns.get("note", ""))


@cache
def rows_by_name() -> dict[str, list[Answer]]:
    """The rows of each name that a person types: an argument, with its group and without.

    An argument without a note is left out if ours has the same name.
    """
    by_name: dict[str, list[Answer]] = defaultdict(list)
    for _, rows in trainers().values():
        for answer in rows:
            full = {*map(spelled, answer.arguments)}
            ours = {last_part(answer.key)}
            last = {spelled(last_part(argument)) for argument in answer.arguments} - full - ours
            for name in last | (full if answer.note else full - ours):
                by_name[name].append(answer)
    return by_name


def last_part(name: str) -> str:
    """The part of a dotted name after the last dot."""
    return name.rpartition(".")[2]


def spelled(name: str) -> str:
    """A name as the table is searched: lower case, one kind of dash."""
    return name.strip("-").lower().replace("-", "_").replace(" ", "_")


def answer_to(word: str, names: Collection[str] = ()) -> Answer | None:
    """The row of a word, or of its last part if ours has another name. One whose setting is in `names` comes before
    others; None if there is none."""
    last = spelled(last_part(word))
    of_last = [answer for answer in rows_by_name().get(last, []) if last_part(answer.key) != last]
    rows = rows_by_name().get(spelled(word), of_last)
    return next((answer for answer in rows if answer.key in names), rows[0] if rows else None)


def sentences_with(word: str) -> list[str]:
    """What the table says about the arguments and the trainers whose text has the word."""
    whole = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)", re.IGNORECASE)
    sentences: list[str] = []
    for trainer, (about, rows) in trainers().items():
        about_it = f"{trainer}: {about.replace('`', '')}"
        if whole.search(about_it):
            sentences.append(about_it)
        sentences += [answer.sentence() for answer in rows if whole.search(answer.note)]
    return sentences


def value_here(setting: str, value: str) -> str:
    """The value of a setting that is another trainer's `value`; "" if the table has none."""
    pattern = re.compile(rf"(?<!\w){re.escape(value)}`? is `(?:\w+\.)*{re.escape(setting)}=(\w+)`")
    notes = [answer.note for _, rows in trainers().values() for answer in rows if last_part(answer.key) == setting]
    return next((match[1] for note in notes if (match := pattern.search(note))), "")
