"""Tables as text: in columns, Markdown, LaTeX."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def to_markdown(table: "pd.DataFrame") -> str:
    """The table's header and rows as a Markdown table."""
    cells = [list(table.columns), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    lines = [[" ".join(cell.replace("|", "\\|").split()) for cell in line] for line in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """The rows as lines, each column as wide as its widest cell. right: the numbers of the right-aligned columns."""
    columns = []
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


def to_latex(
    table: "pd.DataFrame",
    caption: str,
    notes: Sequence[str],
    words: int,
    label: str,
    bold: Iterable[tuple[int, int]] = (),
) -> str:
    """A booktabs table for \\input, with the notes as comments. words: how many columns, the first ones, are text.

    label: what \\ref names, after "tab:". bold: cells, by row and column.
    """
    escaped = table.map(lambda cell: cell.translate(LATEX)).set_axis([name.translate(LATEX) for name in table], axis=1)
    for row, column in bold:
        escaped.iloc[row, column] = rf"\textbf{{{escaped.iloc[row, column]}}}"
    latex = escaped.to_latex(
        index=False,
        escape=False,
        column_format="l" * words + "r" * (len(table.columns) - words),
        caption=caption.translate(LATEX),
        label="tab:" + re.sub(r"[^\w.]+", "-", label).strip("-"),
    ).replace("\\begin{table}\n", "\\begin{table}\n\\centering\n", 1)
    comments = [r"needs \usepackage{booktabs}", *(" ".join(note.splitlines()) for note in notes)]
    return "".join(f"% {comment}\n" for comment in comments) + latex
