"""A table of text as Markdown and as LaTeX, and numbers as text. Every table here is a DataFrame of text."""

import math
from collections.abc import Sequence

import pandas as pd

from cse.report.statistics import Interval

PLUS_MINUS, TIED = "±", "≈"


def number(value: float, digits: int | None) -> str:
    """A number with so many decimals; None: as many as it takes."""
    return f"{value:g}" if digits is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int | None) -> str:
    """A difference with its sign; "" for None."""
    if value is None:
        return ""
    return f"{value:+g}" if digits is None else f"{value:+.{digits}f}"


def bounds(interval: Interval | None, digits: int | None) -> str:
    """[low, high]; "" for None."""
    return f"[{signed(interval[0], digits)}, {signed(interval[1], digits)}]" if interval else ""


def probability(p: float | None) -> str:
    """A p value without its leading zero; "" for None and NaN."""
    if p is None or math.isnan(p):
        return ""
    return "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0")


def to_markdown(table: pd.DataFrame) -> str:
    """A Markdown table; a line break in a cell becomes a space."""
    lines = [list(table.columns), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    cells = ([" ".join(cell.splitlines()).replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "<": "$<$",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "\n": " ",
        PLUS_MINUS: r"$\pm$",
        TIED: r"$\approx$",
    }
)


def to_latex(table: pd.DataFrame, title: str, notes: Sequence[str], words: int) -> str:
    """A booktabs table, to be \\input, whose first columns are words, with the notes as comments."""
    escaped = table.map(lambda cell: cell.translate(LATEX)).set_axis([name.translate(LATEX) for name in table], axis=1)
    columns = "l" * words + "r" * (len(table.columns) - words)
    latex = escaped.to_latex(index=False, escape=False, column_format=columns, caption=title.translate(LATEX))
    comments = [r"needs \usepackage{booktabs}", *(" ".join(note.splitlines()) for note in notes)]
    return "".join(f"% {comment}\n" for comment in comments) + latex
