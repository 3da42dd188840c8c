"""Tables with their notes, as Markdown and as LaTeX.

To read: a `Section` is a table. Its docstring lists the parts that each medium shows. A `PaperSection` is a table of a
paper. `markdown` and `latex` write a list of sections. The terminal and the page are in cse.lab.report.show.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "\n": " ",
        "±": r"$\pm$",
        "≈": r"$\approx$",
        "†": r"$\dagger$",
        "‡": r"$\ddagger$",
    }
)
MINUS = re.compile(r"(?<![^\s\[])-(?=\.?\d)")
"""The sign of a number, not the hyphen of 1e-05 or a name."""
OPENS = re.compile(r"^[\[*]")
"""A [ or * at the start of a line. LaTeX would read it as part of the line break before it."""
BEYOND_LATIN = re.compile(r"[^\x00-\u024f\u1e00-\u1eff\u2010-\u2026]")

BOTH_COLUMNS = 5  # a table with more columns of numbers spans both columns of a paper
FITTED = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
"""LaTeX that makes a wide table as narrow as its column of the paper."""


@dataclass(frozen=True)
class Section:
    """A table of text with its title and its notes.

    The parts that each medium shows:
        terminal    `shown` and `lines_below`; or a paragraph for each claim
        Markdown    `shown` and `lines_below`
        LaTeX       `shown`; the legend is in the caption, and the notes are in comments
        page        `shown` and `lines_below`; or the whole `table`, if a reader sorts it; or a paragraph for each claim
        CSV         nothing, because a CSV file has unrounded numbers (cse.lab.report.show.document.Report.csv)

    table: text in each cell; "" in an empty cell.
    notes: lines below the table.
    legend: lines on the meaning of the table's signs, and further text for a caption.
    label_columns: how many of the first columns of `shown` name a row.
    bold: the best cells, by row and column of `shown`.
    missing: the missing runs, with reasons.
    caption: the caption in LaTeX; "": the title.
    label: the name for \\ref, after "tab:"; "" for a table that no paper would publish.
    column_prefix: the start of some column names. LaTeX leaves this start out, because the caption has it.
    hidden: the columns that only a page has. A reader can show them there.
    layout: how a page shows the table. rows: unchanged. sortable: a reader can sort and filter the rows. grid: in the
        layout of the paper. claims: one paragraph for each claim of a paper, on the terminal too. The columns are then
        claim, source, verdict and further facts.
    colours: the colour of each row on a page. Charts use the same colours.
    """

    title: str
    table: "pd.DataFrame"
    notes: Sequence[str] = ()
    legend: Sequence[str] = ()
    label_columns: int = 2
    bold: Sequence[tuple[int, int]] = ()
    missing: Sequence[str] = ()
    caption: str = ""
    label: str = ""
    column_prefix: str = ""
    hidden: Collection[str] = ()
    layout: Literal["rows", "sortable", "claims", "grid"] = "rows"
    colours: Sequence[str] = ()

    @property
    def shown(self) -> "pd.DataFrame":
        """The table without hidden columns."""
        return self.table.drop(columns=list(self.hidden))

    @property
    def lines_below(self) -> list[str]:
        """The lines below the table: the legend, the notes, and the missing runs."""
        missing = [f"Missing: {'; '.join(self.missing)}."] if self.missing else []
        return [*self.legend, *self.notes, *missing]

    def markdown(self) -> str:
        """The title, the table and the lines below it."""
        heading = f"## {' '.join(self.title.split())}\n\n" if self.title else ""
        listed = "".join(f"- {' '.join(line.split())}\n" for line in self.lines_below)
        return f"{heading}{to_markdown(self.shown)}\n" + (f"\n{listed}" if listed else "")

    def latex(self) -> str:
        """A booktabs table for \\input. The legend is in its caption, and the notes are in comments."""
        cells = latex_cells(self.shown, self.bold, self.column_prefix)
        caption = " ".join([f"{(self.caption or self.title).rstrip('.')}.", *self.legend])
        latex = booktabs(cells, self.label_columns, caption, self.label)
        comments = [r"needs \usepackage{booktabs,graphicx}"]
        if others := "".join(dict.fromkeys(BEYOND_LATIN.findall(latex))):
            comments.append(f"compile it with LuaLaTeX or XeLaTeX, and a font that has {others}")
        comments += [line for line in self.lines_below if line not in self.legend]
        return "".join(f"% {' '.join(comment.splitlines())}\n" for comment in comments) + latex


class GridCell(NamedTuple):
    """A cell of a paper's table, as text: our number, the published number, our difference from it, and the verdict."""

    ours: str
    published: str
    difference: str
    verdict: str
    is_best: bool


@dataclass(frozen=True)
class PaperSection(Section):
    """A section with a table that is also in a paper. A page and LaTeX show it in the layout of the paper.

    table: all facts of the grid's cells. grid: the table in the layout of the paper, with a GridCell in each cell.
    """

    grid: "pd.DataFrame" = field(kw_only=True)
    layout: Literal["grid"] = "grid"

    def latex(self) -> str:
        """The booktabs table in the layout of the paper."""
        table, bold = in_lines(self.grid)
        lines = Section(
            self.title,
            table,
            self.notes,
            self.legend,
            bold=bold,
            missing=self.missing,
            caption=self.caption,
            label=self.label,
        )
        return lines.latex()


def markdown(title: str, sections: Sequence[Section]) -> str:
    """report.md. title: the title of the report, with the text after it."""
    return "\n".join([f"# {title}\n", *(section.markdown() for section in sections)])


def latex(sections: Sequence[Section]) -> str:
    """report.tex, of the sections that have a label."""
    return "\n".join(section.latex() for section in sections if section.label)


def to_markdown(table: "pd.DataFrame") -> str:
    """The table's header and rows as a Markdown table."""
    cells = [list(table.columns), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    lines = [[" ".join(cell.replace("|", "\\|").split()) for cell in line] for line in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def in_lines(grid: "pd.DataFrame") -> "tuple[pd.DataFrame, list[tuple[int, int]]]":
    """A grid as a table of text, and the row and column of its best cells.

    Each row of the paper has a line of published numbers. If runs fill the row, a line of our numbers is below it.
    """
    import pandas as pd

    lines, bold = [], []
    for row, cells in grid.iterrows():
        lines.append([str(row), "published", *(cell.published for cell in cells)])
        if any(cell.ours for cell in cells):
            bold += [(len(lines), 2 + column) for column, cell in enumerate(cells) if cell.is_best]
            lines.append(["", "ours", *(cell.ours for cell in cells)])
    return pd.DataFrame(lines, columns=[str(grid.index.name), "", *grid.columns], dtype=object), bold


def latex_cells(table: "pd.DataFrame", bold: Sequence[tuple[int, int]], column_prefix: str) -> "pd.DataFrame":
    """The table in LaTeX, without the column `folder`. bold, column_prefix: as in Section."""
    cells = table.map(latex_cell)
    for row, column in bold:
        cells.iloc[row, column] = rf"\textbf{{{cells.iloc[row, column]}}}"
    cells = cells.drop(columns="folder", errors="ignore")
    return cells.set_axis([latex_head(name.removeprefix(column_prefix)) for name in cells.columns], axis=1)


def booktabs(cells: "pd.DataFrame", label_columns: int, caption: str, label: str) -> str:
    """A booktabs table, at most as wide as the text. A table of many columns spans both columns of a paper."""
    numbers = len(cells.columns) - label_columns
    environment = "table*" if numbers > BOTH_COLUMNS else "table"
    latex = cells.to_latex(
        index=False,
        escape=False,
        column_format="l" * label_columns + "r" * numbers,
        caption=caption.translate(LATEX),
        label="tab:" + re.sub(r"[^\w.]+", "-", label).strip("-"),
    )
    latex = latex.replace("\\begin{table}\n", f"\\begin{{{environment}}}\n\\centering\n", 1)
    latex = latex.replace("\\end{table}", f"\\end{{{environment}}}")
    latex = latex.replace("\\begin{tabular}", FITTED + "\\begin{tabular}")
    return latex.replace("\\end{tabular}", "\\end{tabular}}")


def latex_head(name: str) -> str:
    """The head of a column for LaTeX. The parts of a score's name are below each other, because they are long."""
    parts = [part.translate(LATEX) for part in name.split("/")]
    stack = r" \\ ".join(parts)
    return rf"\shortstack[r]{{{stack}}}" if len(parts) > 1 else stack


def latex_cell(text: str) -> str:
    """A cell's text for LaTeX, with minus signs."""
    return OPENS.sub(r"{\g<0>}", MINUS.sub("$-$", text.translate(LATEX)))
