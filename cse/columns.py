"""Text for terminals, logs and tables: columns, Markdown, LaTeX, and nothing that a terminal would obey."""

import logging
import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

HARMLESS = "\n\t\u00ad\u200c\u200d"  # scripts need the soft hyphen, and what joins letters and emoji
PICTURES = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "\u2421"}


def printable(text: str) -> str:
    """The text with a symbol for each character that a terminal obeys or hides; newlines and tabs stay.

    A run's name, its error or a row of training text may come from a stranger, with escapes that move the cursor,
    change the title or reverse the direction of writing. The length stays; ␛ stands for an escape, � for a character
    without a symbol of its own.
    """
    if text.isascii() and text.isprintable():
        return text
    kinds = {sign: unicodedata.category(sign) for sign in set(text) - set(HARMLESS)}
    obeyed = [sign for sign, kind in kinds.items() if kind in ("Cc", "Cf", "Zl", "Zp")]
    return text.translate({ord(sign): PICTURES.get(sign, "\ufffd") for sign in obeyed})


def markdown_cell(text: str) -> str:
    """The text on one line, so that in a Markdown table it ends no cell and is no HTML, picture or link."""
    text = " ".join(printable(text).split())
    return text.replace("|", "\\|").replace("<", "\\<").replace("](", "]\\(")


def to_markdown(table: "pd.DataFrame") -> str:
    """The table's header and rows as a Markdown table."""
    lines = [list(table.columns), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(map(markdown_cell, line))} |" for line in lines)


class PrintableHandler(logging.StreamHandler):
    """A handler whose lines are printable, wherever their text comes from."""

    def format(self, record: logging.LogRecord) -> str:
        """The printable line of a record."""
        return printable(super().format(record))


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """The rows as lines, each column as wide as its widest cell. right: the numbers of the right-aligned columns."""
    columns = []
    rows = [[printable(cell) for cell in row] for row in rows]
    for number, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if number in right else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "<": "$<$",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "\n": " ",
        "±": r"$\pm$",
        "≈": r"$\approx$",
        "†": r"$\dagger$",
    }
)


def to_latex(table: "pd.DataFrame", title: str, notes: Sequence[str], words: int) -> str:
    """A booktabs table for \\input, with the notes as comments. words: how many columns, the first ones, are text."""
    escaped = table.map(lambda cell: cell.translate(LATEX)).set_axis([name.translate(LATEX) for name in table], axis=1)
    columns = "l" * words + "r" * (len(table.columns) - words)
    latex = escaped.to_latex(index=False, escape=False, column_format=columns, caption=title.translate(LATEX))
    comments = [r"needs \usepackage{booktabs}", *(" ".join(note.splitlines()) for note in notes)]
    return "".join(f"% {comment}\n" for comment in comments) + latex
