"""One rule for unusable data, the same for text, images and sound.

Up to 1 % of the rows or files, and always one, may be unusable: their number and the first of them are logged at every
start. Text rows stay in the data as they are (a paper's corpus has some, and its order must not change); images and
clips are left out. More than 1 % is a broken data set, and refused before any work.

A text row is unusable where one of its cells has no visible character (empty, blanks, zero-width and control
characters), holds NUL, which no text has and UTF-16 or a binary file read as text is full of, or is longer than 1 MiB:
cse.data.readers does not hold such a text, and gives " " for it.
"""

import logging
import re
from collections.abc import Iterable, Iterator

from cse.errors import UserError

log = logging.getLogger(__name__)

UNUSABLE_SHARE = 0.01
VISIBLE = re.compile(
    "[^\\s\x00-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]"
)


def counted(rows: Iterable[tuple[str, ...]], counts: dict[str, int], where: str) -> Iterator[tuple[str, ...]]:
    """The same rows; `counts` becomes {rows, unusable, first}, `first` being the number of the first unusable one.

    Raises UserError at their end where more than 1 % are unusable. where: names the data.
    """
    counts |= {"rows": 0, "unusable": 0, "first": 0}
    for row in rows:
        counts["rows"] += 1
        if not all(usable(cell) for cell in row):
            counts["unusable"] += 1
            counts["first"] = counts["first"] or counts["rows"]
        yield row
    check_share(counts["unusable"], counts["rows"], "rows", f"data={where}", f"row {counts['first']}")


def usable(cell: str) -> bool:
    """Whether a text has a visible character, and no NUL."""
    return VISIBLE.search(cell) is not None and "\0" not in cell


def report(counts: dict[str, int], where: str) -> None:
    """Log how many rows are unusable, if any are."""
    if counts["unusable"]:
        log.warning(
            "data=%s: %d of %s rows are empty, invisible, hold NUL or are longer than 1 MiB (the first: row %d); they "
            "are used as they are, what is too long as empty",
            *(where, counts["unusable"], f"{counts['rows']:,}", counts["first"]),
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
