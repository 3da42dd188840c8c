"""The rule for unusable data: one rule for text, images and sound.

Up to 1 % of the rows or files may be unusable. A single unusable row or file is always allowed. Unusable rows and files
are skipped. Every start logs their number and names the first. More than 1 % means a broken dataset, which is refused
before any work. For text, `data.empty` changes the rule. The papers' corpora keep unusable rows, because the order of
these corpora must not change.

A row of text is unusable if one of its cells has no visible character, is a missing value that a program wrote as a
word (NA, NULL, \\N), or contains NUL. Whitespace, zero-width and control characters are not visible. NUL is a sign of
UTF-16, or of a binary file. The user's own files for evaluation (cse.eval.pairs.read_own) have the same rule for a
text, but no row may be unusable.
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
"""The words for a missing value in pandas, R, spreadsheets (also for a failed formula) and databases (MySQL's \\N)."""

NUL, IS_EMPTY, INVISIBLE = "holds NUL", "is empty", "has nothing visible"
REASONS = (NUL, IS_EMPTY, INVISIBLE, *(f"is {word}" for word in MISSING))
"""The reasons that `fault` may return. No reason ends with another reason, because `from_json` compares the ends."""


class Fault(NamedTuple):
    """A column with unusable cells, and the reason why they are unusable: one of REASONS."""

    column: str
    reason: str

    def __str__(self) -> str:
        return f"{self.column} {self.reason}"

    @property
    def is_missing(self) -> bool:
        """Return whether the cells have no text. A cell with NUL has text: NUL is a sign of a broken file."""
        return self.reason != NUL


@dataclass
class RowNotes:
    """Notes about the rows of a text, made while the rows are read, and kept in the rows' cache.

    total: the number of rows. faults: {fault: the numbers of the unusable rows, from 0}.
    """

    total: int = 0
    faults: dict[Fault, list[int]] = field(default_factory=dict)

    def noting(self, rows: Iterable[Row], columns: Sequence[str]) -> Iterator[Row]:
        """Yield the same rows, and note each row. columns: the names of the columns of text, which come first."""
        for row in rows:
            for column, cell in zip(columns, row, strict=False):
                if reason := fault(cell):
                    self.faults.setdefault(Fault(column, reason), []).append(self.total)
            self.total += 1
            yield row

    def as_json(self) -> Json:
        """Return the notes as JSON types, for a cache."""
        return {"rows": self.total, "faults": {str(fault): numbers for fault, numbers in self.faults.items()}}

    @classmethod
    def from_json(cls, kept: Json) -> "RowNotes":
        """Return the notes of a cache. Raises KeyError for the notes of an older version."""
        faults = {}
        for words, numbers in kept["faults"].items():
            reason = next(reason for reason in REASONS if words.endswith(f" {reason}"))
            faults[Fault(words.removesuffix(f" {reason}"), reason)] = numbers
        return cls(kept["rows"], faults)

    def missing(self, column: str) -> list[int]:
        """Return the numbers of the rows that have no text in a column."""
        faults = [fault for fault in self.faults if fault.column == column and fault.is_missing]
        return [number for fault in faults for number in self.faults[fault]]


def fault(cell: str) -> str | None:
    """Return the reason why a text is unusable, or None for a usable text."""
    if "\0" in cell:
        return NUL
    if cell.strip() in MISSING:
        return f"is {cell.strip()}"
    if VISIBLE.search(cell):
        return None
    return IS_EMPTY if cell == " " else INVISIBLE


def usable_numbers(notes: RowNotes, empty: Empty | None, where: str, optional: Sequence[str] = ()) -> np.ndarray:
    """Return the numbers of the rows to use, in order (int64). Logs how many rows are unusable, and why.

    empty: data.empty, see conf/data/text.yaml. where: the name of the data. optional: the columns in which a row may
    have no text. Raises UserError if there are more unusable rows than `empty` allows.
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
    said = f"data={where}: {len(unusable):,} of {notes.total:,} rows have a fault: {why}"
    limit = ""
    if empty == "refuse":
        limit = "`empty`=refuse allows none"
    elif empty != "skip" and are_many(len(unusable), notes.total):
        limit = f"at most {UNUSABLE_SHARE:.0%} of the rows may have a fault"
    empty_columns = [one for one in {fault.column: 0 for fault in faults} if len(notes.missing(one)) == notes.total]
    if empty_columns and (limit or empty == "skip"):  # without these rows there is no row
        column = empty_columns[0]
        raise UserError(f"{said}; {column} is empty in every row read so far: name another column in `columns`")
    if limit:
        raise UserError(f"{said}; {limit}: repair or delete these rows, or leave them out with `empty`=skip")
    if empty == "keep":
        log.warning("%s; these rows are kept unchanged", said)
        return every_number
    log.warning("%s; these rows are left out", said)
    return np.setdiff1d(every_number, unusable)


def are_many(unusable: int, total: int) -> bool:
    """Return whether this number of unusable items means a broken dataset: more than one and more than 1 % of all."""
    return unusable > max(1, UNUSABLE_SHARE * total)


def check_share(unusable: int, total: int, items: str, where: str, first: str) -> None:
    """Raise UserError if more than one item and more than 1 % of all items are unusable.

    items: the word for the items. first: the name of the first unusable item.
    """
    if are_many(unusable, total):
        raise UserError(
            f"{unusable} of the {total} {items} of {where} cannot be used, more than the allowed {UNUSABLE_SHARE:.0%} "
            f"(the first: {first}): repair or delete them"
        )
