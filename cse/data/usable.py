"""One rule for unusable data, the same for text, images and sound.

Up to 1 % of the rows or files, and always one, may be unusable: their number and the first of them are logged at every
start. Text rows stay in the data as they are (a paper's corpus has some, and its order must not change); images and
clips are left out. More than 1 % is a broken data set, and refused before any work.

A text row is unusable where one of its cells has no visible character (empty, blanks, zero-width and control
characters), or holds NUL, which no text has and UTF-16 or a binary file read as text is full of.
"""

import logging
import re
from collections.abc import Iterable, Iterator

import numpy as np

from cse.errors import UserError

log = logging.getLogger(__name__)

UNUSABLE_SHARE = 0.01
VISIBLE = re.compile(
    "[^\\s\x00-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]"
)


class TextRows:
    """Counts unusable rows while they are read. where: names the data, for messages."""

    def __init__(self, where: str):
        self.where = where
        self.rows = self.unusable = self.first = 0

    def counted(self, rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        """The same rows. Raises UserError at their end where more than 1 % are unusable."""
        for row in rows:
            self.rows += 1
            if not all(usable(cell) for cell in row):
                self.unusable += 1
                self.first = self.first or self.rows
            yield row
        check_share(self.unusable, self.rows, "rows", f"data={self.where}", f"row {self.first}")

    def notes(self) -> dict[str, int]:
        """What `report` needs, to be kept with the rows."""
        return {"rows": self.rows, "unusable": self.unusable, "first": self.first}


def usable(cell: str) -> bool:
    """Whether a text has a visible character, and no NUL."""
    return VISIBLE.search(cell) is not None and "\0" not in cell


def report(notes: dict[str, int], where: str) -> None:
    """Log how many rows are unusable, if any are."""
    if notes["unusable"]:
        log.warning(
            "data=%s: %d of %s rows are empty, invisible or hold NUL (the first: row %d); they are used as they are",
            *(where, notes["unusable"], f"{notes['rows']:,}", notes["first"]),
        )


def check_share(unusable: int, total: int, items: str, where: str, first: str) -> None:
    """Raise UserError where more than 1 % of the items, and more than one, cannot be used.

    items: what they are called; first: names the first unusable one.
    """
    if unusable > max(1, UNUSABLE_SHARE * total):
        raise UserError(
            f"{unusable} of the {total} {items} of {where} cannot be used, more than {UNUSABLE_SHARE:.0%} "
            f"(the first: {first}): repair or delete them"
        )


def check_labels(labels: np.ndarray, batch_size: int, items: str, where: str) -> None:
    """Raise UserError where there is less than one batch; warn of one class, where a loss by labels has no negatives.

    items: what they are called; where: what holds them.
    """
    if len(labels) < batch_size:
        raise UserError(
            f"{where} has {len(labels)} items, fewer than aux_modality.data.batch_size={batch_size}: lower it, or add "
            "data"
        )
    if len(np.unique(labels)) == 1:
        log.warning("%s: all %d %s are of one class, so a loss by labels has no negatives", where, len(labels), items)
