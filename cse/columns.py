"""Text as a person reads it on a terminal and in a log: in columns, and without what a terminal would obey."""

import logging
import unicodedata
from collections.abc import Collection, Sequence


def printable(text: str) -> str:
    """The text with a sign in place of each character that a terminal obeys or hides; lines and tabs stay.

    A run's name, its error and a row of training text may be a stranger's, with escapes that move the cursor, change
    the title or turn the order of writing. The text is as long as it was.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(shown_character, text))


def shown_character(character: str) -> str:
    """The character; ␛ for an escape (Unicode's picture of it), � for others that are obeyed or hidden."""
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp"):
        return character
    code = ord(character)
    return (
        chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else character if code in JOINERS else "\ufffd"
    )


def markdown_cell(text: str) -> str:
    """The text on one line of a Markdown table, where it ends no cell."""
    return " ".join(printable(text).split()).replace("|", "\\|")


class Shown(logging.StreamHandler):
    """A handler whose lines are printable, wherever their text came from."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return printable(super().format(record))


JOINERS = (0xAD, 0x200C, 0x200D)
"""The soft hyphen, and what joins letters and emoji: they are part of a script, and obey nothing."""


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """The rows as lines, each column as wide as its widest cell. right: the numbers of the columns that end alike."""
    columns = []
    rows = [[printable(cell) for cell in row] for row in rows]
    for number, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if number in right else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))
