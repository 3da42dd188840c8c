"""One rule for unusable data, the same for text, images and sound.

Up to 1 % of the rows or files may be unusable, and one always may. They are skipped. Every start logs how many there
are, and names the first. More than 1 % means a broken data set: it is refused before any work. For text `data.empty`
changes the rule. The papers' corpora keep unusable rows, because the order of these corpora must not change.

A row of text is unusable if one of its cells has no visible character (only whitespace, zero-width and control
characters), is a missing value that a program wrote as a word (NA, NULL, \\N), or contains NUL. NUL is a sign of
UTF-16, or of a binary file.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from cse.errors import UserError

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

Notes = dict[str, Any]
"""Kept beside the cached rows. rows: their number. faults: {reason: the numbers of the unusable rows, from 0}."""


def note_faults(rows: Iterable[tuple[str, ...]], names: Sequence[str], notes: Notes) -> Iterator[tuple[str, ...]]:
    """Pass the rows through and fill `notes`. names: the columns of text; they come first in a row."""
    notes |= {"rows": 0, "faults": {}}
    for row in rows:
        for name, cell in zip(names, row, strict=False):
            if reason := fault(cell):
                notes["faults"].setdefault(f"{name} {reason}", []).append(notes["rows"])
        notes["rows"] += 1
        yield row


def fault(cell: str) -> str | None:
    """The reason why a text is unusable, or None."""
    if "\0" in cell:
        return "holds NUL"
    if cell.strip() in MISSING:
        return f"is {cell.strip()}"
    return None if VISIBLE.search(cell) else "is empty" if cell == " " else "has nothing visible"


def missing_reasons(column: str) -> set[str]:
    """The faults of a column's cell that say that there is no text. NUL is not among them: it shows a broken file."""
    return {f"{column} {why}" for why in ("is empty", "has nothing visible", *(f"is {word}" for word in MISSING))}


def missing_rows(notes: Notes, column: str) -> list[int]:
    """The numbers of the rows that have no text in a column."""
    faults = notes["faults"]
    return [row for reason in missing_reasons(column) for row in faults.get(reason, [])]


def usable_rows(notes: Notes, empty: Empty | None, where: str, optional: Sequence[str] = ()) -> np.ndarray:
    """The numbers of the rows to use, in order (int64). Logs how many are unusable, and why.

    empty: data.empty, see conf/data/text.yaml. where: the name of the data. optional: the columns in which a row may
    have no text. Raises UserError if there are more unusable rows than `empty` allows. The error has the reasons and
    says what to do.
    """
    total, allowed = notes["rows"], set().union(*map(missing_reasons, optional))
    faults = {reason: rows for reason, rows in notes["faults"].items() if reason not in allowed}
    unusable = sorted(set().union(*faults.values()))
    if not unusable:
        return np.arange(total)
    why = ", ".join(f"{reason} ({len(rows):,}, the first: row {rows[0] + 1})" for reason, rows in faults.items())
    said = f"data={where}: {len(unusable):,} of {total:,} rows cannot be used: {why}"
    few = len(unusable) <= max(1, UNUSABLE_SHARE * total)
    if empty == "refuse" or not (few or empty == "skip"):
        limit = "`empty`=refuse" if empty == "refuse" else f"more than {UNUSABLE_SHARE:.0%}"
        raise UserError(f"{said}; {limit}: repair or delete them, or leave them out with `empty`=skip")
    if empty == "keep":
        log.warning("%s; they are kept unchanged", said)
        return np.arange(total)
    log.warning("%s; they are left out", said)
    return np.setdiff1d(np.arange(total), unusable)


def check_share(unusable: int, total: int, items: str, where: str, first: str) -> None:
    """Raise UserError if more than one item and more than 1 % of all items are unusable.

    items: the name of the items. first: the name of the first unusable item.
    """
    if unusable > max(1, UNUSABLE_SHARE * total):
        raise UserError(
            f"{unusable} of the {total} {items} of {where} cannot be used, more than {UNUSABLE_SHARE:.0%} "
            f"(the first: {first}): repair or delete them"
        )
