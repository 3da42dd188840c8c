"""One rule for unusable data, the same for text, images and sound.

Up to 1 % of the rows or files, and always one, may be unusable: they are left out, and their number and the first of
them are logged at every start. More than 1 % is a broken data set, and refused before any work. For text `data.empty`
changes the rule; the papers' corpora keep such rows (they have some, and their order must not change).

A text row is unusable where one of its cells has no visible character (empty, blanks, zero-width and control
characters), holds NUL, which no text has and UTF-16 or a binary file read as text is full of, or is longer than 1 MiB:
cse.data.readers does not hold such a text, and gives " " for it.
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


Notes = dict[str, Any]
"""What is kept beside the cached rows. rows: how many there are; faults: {why: the places of the unusable ones}."""


def noted(rows: Iterable[tuple[str, ...]], names: Sequence[str], notes: Notes) -> Iterator[tuple[str, ...]]:
    """The same rows, while `notes` is made of them. names: of the columns of text, which come first in a row."""
    notes |= {"rows": 0, "faults": {}}
    for row in rows:
        for name, cell in zip(names, row, strict=False):
            if not usable(cell):
                notes["faults"].setdefault(f"{name} {fault(cell)}", []).append(notes["rows"])
        notes["rows"] += 1
        yield row


def usable(cell: str) -> bool:
    """Whether a text has a visible character, and no NUL."""
    return VISIBLE.search(cell) is not None and "\0" not in cell


def fault(cell: str) -> str:
    """Why a text is unusable, in words; readers give " " for one that is too long."""
    return "holds NUL" if "\0" in cell else "is empty or over 1 MiB" if cell == " " else "has nothing visible"


def usable_rows(notes: Notes, empty: Empty | None, where: str) -> np.ndarray:
    """The places of the rows that are used, in order; of others their number and why is logged.

    empty: data.empty, see conf/data/text.yaml; where: names the data. Raises UserError, with the reasons and what to
    do, for more unusable rows than `empty` allows.
    """
    total, faults = notes["rows"], notes.get("faults", {})
    unusable = sorted(set().union(*faults.values()))
    if not unusable:
        return np.arange(total)
    why = ", ".join(f"{reason} ({len(rows):,}, the first: row {rows[0] + 1})" for reason, rows in faults.items())
    said = f"data={where}: {len(unusable):,} of {total:,} rows cannot be used: {why}"
    few = len(unusable) <= max(1, UNUSABLE_SHARE * total)
    if empty == "refuse" or not (few or empty == "skip"):
        limit = "data.empty=refuse" if empty == "refuse" else f"more than {UNUSABLE_SHARE:.0%}"
        raise UserError(f"{said}; {limit}: repair or delete them, or leave them out with data.empty=skip")
    if empty == "keep":
        log.warning("%s; they are used as they are, what is too long as empty", said)
        return np.arange(total)
    log.warning("%s; they are left out", said)
    return np.setdiff1d(np.arange(total), unusable)


def check_share(unusable: int, total: int, items: str, where: str, first: str) -> None:
    """Raise UserError where more than 1 % of the items, and more than one, cannot be used.

    items: what they are called; first: names the first unusable one.
    """
    if unusable > max(1, UNUSABLE_SHARE * total):
        raise UserError(
            f"{unusable} of the {total} {items} of {where} cannot be used, more than {UNUSABLE_SHARE:.0%} "
            f"(the first: {first}): repair or delete them"
        )
