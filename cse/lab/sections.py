"""Tables with their notes, as Markdown and as LaTeX.

A `Section` is a table. Its docstring lists the parts of a section that each medium shows. A `PaperSection` is a table
of a paper. `markdown` and `latex` write a list of sections. cse.lab.report.show shows sections on a terminal or a page.
"""

import re
from collections.abc import Collection, Iterable, Sequence
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
        "±": r"$\pm$",
        "≈": r"$\approx$",
        "†": r"$\dagger$",
        "‡": r"$\ddagger$",
    }
)
"""{sign: how LaTeX spells it}."""
MINUS = re.compile(r"(?<![^\s\[])-(?=\.?\d)")
"""The minus sign before a number, which is not the hyphen in 1e-05 or in a name."""
OPENS = re.compile(r"^[\[*]")
"""A [ or * at the start of a cell. LaTeX would read this sign as part of the line break before the cell."""
MARKDOWN = re.compile(
    r"([*~$`])(?=.*\1)|(?<![^\W_])_(?=.*_)|\\(?=[!-/:-@\[-`{-~])|<(?=[a-zA-Z/!?])|\](?=\()|&(?=#?\w+;)"
)
"""A sign that Markdown would interpret: a pair of signs around a text, an escape, a tag, a link or an entity."""
BEYOND_PDFLATEX = re.compile(r"[^\x00-\u017f–—‘-”†‡•…]|[«»ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ]")
"""A sign that pdfLaTeX cannot print without a further package."""

COLUMN = 68  # a table with more characters in a row spans both columns: in one column, its text is below 7 pt
FITTED = "\\smallskip\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
"""The LaTeX between a caption and its table. It shrinks a wide table to the width of the paper's column."""


@dataclass(frozen=True)
class Section:
    """A table of text with its title and its notes.

    The parts that each medium shows:
        terminal    `shown` and `lines_below`; with layout "claims", a paragraph for each claim
        Markdown    `shown` and `lines_below`
        LaTeX       `shown`; the legend is in the caption, and the notes are in comments
        page        as on the terminal; with layout "sortable", the whole `table` instead of `shown`
        CSV         no part, because a CSV file has unrounded numbers (cse.lab.report.show.document.Report.csv)

    table: text in each cell; "" in an empty cell.
    notes: lines below the table.
    legend: lines that explain the table's signs, and further text for a caption.
    label_columns: the number of columns at the left of `shown` that name a row.
    bold: (row, column) of each best cell in `shown`.
    missing: the missing runs, with reasons.
    caption: the caption in LaTeX; "": the title.
    label: the name for \\ref, after "tab:"; "" for a table that no paper would publish.
    column_prefix: a prefix of some column names. LaTeX drops the prefix, because the caption has it.
    hidden: the columns that only a page has. A reader can show them there.
    layout: how a page shows the table. rows: unchanged. sortable: a reader can sort and filter the rows. grid: in the
        paper's layout. claims: as one paragraph for each claim of a paper, with the columns claim, source, verdict
        and further facts.
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
        """Return the title, the table and the lines below the table as Markdown."""
        heading = f"## {markdown_text(self.title)}\n\n" if self.title else ""
        listed = "".join(f"- {markdown_text(line)}\n" for line in self.lines_below)
        return f"{heading}{to_markdown(self.shown)}\n" + (f"\n{listed}" if listed else "")

    def latex(self) -> str:
        """Return a booktabs table for \\input. Its caption has the legend, and comments have the notes."""
        latex = booktabs(self)
        comments = [r"needs \usepackage{booktabs,graphicx}", *font_needed(latex)]
        comments += [line for line in self.lines_below if line not in self.legend]
        return latex_comments(comments) + latex


class GridCell(NamedTuple):
    """A cell of a paper's table, as text. ours: our number. difference: our number minus the published number."""

    ours: str
    published: str
    difference: str
    verdict: str
    is_best: bool


@dataclass(frozen=True)
class PaperSection(Section):
    """A section whose table is also in a paper. A page and LaTeX show the table in the paper's layout.

    table: all facts of the grid's cells. grid: the table in the paper's layout, with a GridCell in each cell.
    """

    grid: "pd.DataFrame" = field(kw_only=True)
    layout: Literal["grid"] = "grid"

    def latex(self) -> str:
        """Return the booktabs table in the paper's layout."""
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


def markdown(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Return the content of report.md. subtitle: the text below the title; "" for none."""
    head = [f"# {markdown_text(title)}\n", *([f"{markdown_text(subtitle)}\n"] if subtitle else [])]
    return "\n".join([*head, *(section.markdown() for section in sections)])


def latex(sections: Sequence[Section]) -> str:
    """Return the content of report.tex: the tables of the sections that have a label."""
    return "\n".join(section.latex() for section in sections if section.label)


def to_markdown(table: "pd.DataFrame") -> str:
    """Return a table as a Markdown table."""
    rows = [list(table.columns), *table.to_numpy().tolist()]
    head, *lines = (" | ".join(markdown_text(cell).replace("|", "\\|") for cell in row) for row in rows)
    rule = " | ".join(["---"] * len(table.columns))
    return "\n".join(f"| {line} |" for line in (head, rule, *lines))


def markdown_text(text: str) -> str:
    """Return a text in Markdown, on one line. All text that a user may have chosen enters Markdown by this function."""
    return MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))


def in_lines(grid: "pd.DataFrame") -> "tuple[pd.DataFrame, list[tuple[int, int]]]":
    """Return (a grid as a table of text, (row, column) of each best cell in this table).

    Each row of the paper becomes a line of published numbers and, if our runs have a number in this row, a line of our
    numbers below.
    """
    import pandas as pd

    lines, bold = [], []
    for row, cells in grid.iterrows():
        lines.append([str(row), "published", *(cell.published for cell in cells)])
        if any(cell.ours for cell in cells):
            bold += [(len(lines), 2 + column) for column, cell in enumerate(cells) if cell.is_best]
            lines.append(["", "ours", *(cell.ours for cell in cells)])
    return pd.DataFrame(lines, columns=[str(grid.index.name), "", *grid.columns], dtype=object), bold


def booktabs(section: Section) -> str:
    """Return a booktabs table, at most as wide as the text. A wide table spans both columns of a paper.

    The column `folder` is left out, and so is the column `runs` if all its values are equal.
    """
    table = section.shown
    left_out = ["folder", *(["runs"] if "runs" in table and table["runs"].nunique() == 1 else [])]
    cells = table.map(latex_cell)
    for row, column in section.bold:
        cells.iloc[row, column] = rf"\textbf{{{cells.iloc[row, column]}}}"
    names = [name.removeprefix(section.column_prefix) for name in table.columns.drop(left_out, errors="ignore")]
    table, cells = (each.drop(columns=left_out, errors="ignore").set_axis(names, axis=1) for each in (table, cells))
    environment = "table*" if characters_in_a_row(table) > COLUMN else "table"
    latex = cells.rename(columns=latex_head).to_latex(
        index=False,
        escape=False,
        column_format="l" * section.label_columns + "r" * (len(names) - section.label_columns),
        caption=latex_text(" ".join([f"{(section.caption or section.title).rstrip('.')}.", *section.legend])),
        label=f"tab:{latex_label(section.label)}",
    )
    latex = latex.replace("\\begin{table}\n", f"\\begin{{{environment}}}\n\\centering\n", 1)
    latex = latex.replace("\\end{table}", f"\\end{{{environment}}}")
    latex = latex.replace("\\begin{tabular}", FITTED + "\\begin{tabular}")
    return latex.replace("\\end{tabular}", "\\end{tabular}}")


def characters_in_a_row(table: "pd.DataFrame") -> int:
    """Return the width of a table in characters: each column's longest text, and two blanks between columns.

    The parts of a score's name are below each other, as in `latex_head`.
    """
    widths = [max(map(len, [*name.split("/"), *column])) for name, column in table.items()]
    return sum(widths) + 2 * (len(widths) - 1)


def latex_comments(lines: Iterable[str]) -> str:
    """Return lines as comments of LaTeX."""
    return "".join(f"% {' '.join(line.splitlines())}\n" for line in lines)


def font_needed(latex: str) -> list[str]:
    """Return a line that names the signs that pdfLaTeX lacks; [] if it has all signs."""
    signs = "".join(dict.fromkeys(BEYOND_PDFLATEX.findall(latex)))
    return [f"compile it with LuaLaTeX or XeLaTeX, and a font that has {signs}"] if signs else []


def latex_text(text: str) -> str:
    """Return a text in LaTeX. All text that a user may have chosen enters LaTeX by this function.

    Line breaks and control characters become blanks. {} keeps LaTeX from joining two hyphens to a dash.
    """
    one_line = re.sub(r"[\x00-\x20\x7f-\xa0]+", " ", text)
    return re.sub("-(?=-)", "-{}", one_line.translate(LATEX))


def latex_path(path: str) -> str:
    r"""Return a file's path for \includegraphics. \char_generate makes each sign that LaTeX would interpret."""
    signs = r"[\\%#{}~^]| (?= )"
    return re.sub(signs, lambda found: rf"\csname char_generate:nn\endcsname{{{ord(found[0])}}}{{12}}", path)


def latex_label(name: str) -> str:
    """Return a name for \\label. A hyphen replaces all signs but letters, digits, underscores and dots."""
    return re.sub(r"[^\w.]+", "-", name).strip("-")


def latex_head(name: str) -> str:
    """Return a column's head in LaTeX. The parts of a score's name are on separate lines, because a name is long."""
    parts = [OPENS.sub(r"{\g<0>}", latex_text(part)) for part in name.split("/")]
    stack = r" \\ ".join(parts)
    return rf"\shortstack[r]{{{stack}}}" if len(parts) > 1 else stack


def latex_cell(text: str) -> str:
    """Return a cell's text in LaTeX, with minus signs."""
    return OPENS.sub(r"{\g<0>}", MINUS.sub("$-$", latex_text(text)))
