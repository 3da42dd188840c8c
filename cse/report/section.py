"""A table of a report as text, from which the terminal, Markdown, LaTeX, the page and a tracker are written."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from cse.columns import to_latex, to_markdown


@dataclass(frozen=True)
class Section:
    """One table with its heading and what a reader must know beside it.

    words: how many columns, the first ones, name a line. bold: the best cells, by row and column. legend: what its
    signs, p and intervals mean, which LaTeX has in the caption; notes: what else to know. missing: what has not run,
    and why. caption: LaTeX's; label: what \\ref names, after "tab:"; "" for a table that no paper would print.
    """

    title: str
    table: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    legend: list[str] = field(default_factory=list)
    words: int = 2
    bold: Sequence[tuple[int, int]] = ()
    missing: list[str] = field(default_factory=list)
    caption: str = ""
    label: str = ""

    @property
    def remarks(self) -> list[str]:
        """The legend, the notes, and a line for each thing that is missing."""
        return [*self.legend, *self.notes, *(f"Missing: {line}" for line in self.missing)]


def markdown(title: str, sections: Sequence[Section]) -> str:
    """report.md. title: of the report, with what follows it."""
    parts = [f"# {title}\n"]
    for one in sections:
        listed = "".join(f"- {' '.join(line.split())}\n" for line in one.remarks)
        parts.append(f"## {one.title}\n\n{to_markdown(one.table)}\n" + (f"\n{listed}" if listed else ""))
    return "\n".join(parts)


def latex(sections: Sequence[Section]) -> str:
    """report.tex, of the sections that have a label, without their folders."""
    tables = [
        to_latex(
            one.table.drop(columns="folder", errors="ignore"),
            " ".join([f"{(one.caption or one.title).rstrip('.')}.", *one.legend]),
            [*one.notes, *(f"Missing: {line}" for line in one.missing)],
            one.words,
            one.label,
            one.bold,
        )
        for one in sections
        if one.label
    ]
    return "\n".join(tables)
