"""One rule for unusable data, the same for text, images and sound.

Up to 1 % of the rows or files may be unusable, and a single one is always allowed. Unusable rows and files are skipped.
Every start logs how many there are, and names the first. More than 1 % means a broken data set, which is refused before
any work. For text `data.empty` changes the rule. The papers' corpora keep unusable rows, because the order of these
corpora must not change.

A row of text is unusable if one of its cells has no visible character (only whitespace, zero-width and control
characters), is a missing value that a program wrote as a word (NA, NULL, \\N), or contains NUL. NUL is a sign of
UTF-16, or of a binary file.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from cse.data.columns import Row
from cse.errors import UserError
from cse.files import Json

log = logging.getLogger(__name__)

UNUSABLE_SHARE = 0.01
Empty = Literal["skip", "keep", "refuse"]
VISIBLE = re.compile(
    "[^\\s\x00-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]"
)

MISSING = {
    *("nan", "NaN", "-nan", "-NaN", "NULL", "null", "None", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A"),
    *("\\N", "(null)", "<null>", "NaT", "1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND"),
    *("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),
}
"""How pandas, R, spreadsheets (also for a formula that failed) and databases (MySQL's \\N) write a missing value."""

NUL, IS_EMPTY, INVISIBLE = "holds NUL", "is empty", "has nothing visible"
REASONS = (NUL, IS_EMPTY, INVISIBLE, *(f"is {word}" for word in MISSING))
"""The reasons that `fault` may give for a cell. No reason ends with another: `from_json` finds a reason by its end."""


class Fault(NamedTuple):
    """Why cells of a column are unusable: one of REASONS."""

    column: str
    reason: str

    def __str__(self) -> str:
        return f"{self.column} {self.reason}"

    @property
    def is_missing(self) -> bool:
        """Whether there is no text. NUL is not missing text: it shows a broken file."""
        return self.reason != NUL


@dataclass
class RowNotes:
    """What is noted of the rows of a text while they are read, and kept with them in the cache.

    total: the number of rows. faults: the numbers of the unusable rows, from 0.
    """

    total: int = 0
    faults: dict[Fault, list[int]] = field(default_factory=dict)

    def noting(self, rows: Iterable[Row], columns: Sequence[str]) -> Iterator[Row]:
        """The same rows; each is noted when it is read. columns: the names of the columns of text, the first cells."""
        for row in rows:
            for column, cell in zip(columns, row, strict=False):
                if reason := fault(cell):
                    self.faults.setdefault(Fault(column, reason), []).append(self.total)
            self.total += 1
            yield row

    def as_json(self) -> Json:
        """The notes in the form for a cache."""
        return {"rows": self.total, "faults": {str(fault): numbers for fault, numbers in self.faults.items()}}

    @classmethod
    def from_json(cls, kept: Json) -> "RowNotes":
        """The notes of a cache. Raises KeyError for the notes of an older version."""
        faults = {}
        for words, numbers in kept["faults"].items():
            reason = next(reason for reason in REASONS if words.endswith(f" {reason}"))
            faults[Fault(words.removesuffix(f" {reason}"), reason)] = numbers
        return cls(kept["rows"], faults)

    def missing(self, column: str) -> list[int]:
        """The numbers of the rows that have no text in a column."""
        faults = [fault for fault in self.faults if fault.column == column and fault.is_missing]
        return [number for fault in faults for number in self.faults[fault]]


def fault(cell: str) -> str | None:
    """The reason why a text is unusable, or None."""
    if "\0" in cell:
        return NUL
    if cell.strip() in MISSING:
        return f"is {cell.strip()}"
    if VISIBLE.search(cell):
        return None
    return IS_EMPTY if cell == " " else INVISIBLE


def usable_numbers(notes: RowNotes, empty: Empty | None, where: str, optional: Sequence[str] = ()) -> np.ndarray:
    """The numbers of the rows to use, in order (int64). Logs how many are unusable, and why.

    empty: data.empty, see conf/data/text.yaml. where: the name of the data. optional: the columns in which a row may
    have no text. Raises UserError if there are more unusable rows than `empty` allows. The error has the reasons and
    says what to do.
    """
    every_number = np.arange(notes.total)
    faults = {}
    for fault, numbers in notes.faults.items():
        if not (fault.is_missing and fault.column in optional):
            faults[fault] = numbers
    unusable = sorted(set().union(*faults.values()))
    if not unusable:
        return every_number
    why = ", ".join(f"{fault} ({len(rows):,}, the first: row {rows[0] + 1})" for fault, rows in faults.items())
    said = f"data={where}: {len(unusable):,} of {notes.total:,} rows cannot be used: {why}"
    limit = ""
    if empty == "refuse":
        limit = "`empty`=refuse"
    elif empty != "skip" and are_many(len(unusable), notes.total):
        limit = f"more than {UNUSABLE_SHARE:.0%}"
    if limit:
        raise UserError(f"{said}; {limit}: repair or delete them, or leave them out with `empty`=skip")
    if empty == "keep":
        log.warning("%s; they are kept unchanged", said)
        return every_number
    log.warning("%s; they are left out", said)
    return np.setdiff1d(every_number, unusable)


def are_many(unusable: int, total: int) -> bool:
    """Whether this number of unusable items means a broken data set: more than one, and more than 1 % of all."""
    return unusable > max(1, UNUSABLE_SHARE * total)


def check_share(unusable: int, total: int, items: str, where: str, first: str) -> None:
    """Raise UserError if more than one item and more than 1 % of all items are unusable.

    items: the name of the items. first: the name of the first unusable item.
    """
    if are_many(unusable, total):
        raise UserError(
            f"{unusable} of the {total} {items} of {where} cannot be used, more than {UNUSABLE_SHARE:.0%} "
            f"(the first: {first}): repair or delete them"
        )
