"""Tables with their notes, as Markdown and as LaTeX.

A `Section` is a table. Its docstring lists the parts of a section that each medium shows. A `PaperSection` is a table
of a paper. `markdown` and `latex` write a list of sections. cse.lab.report.show shows sections on a terminal or a page.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
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
SPREAD = re.compile(r" ± (\S+( \(\d+\))?)")
"""The standard deviation after a mean, in a paper's table with the number of seeds."""
BEYOND_PDFLATEX = re.compile(r"[^\x00-\u017f–—‘-”†‡•…]|[«»ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ]")
"""A sign that pdfLaTeX cannot print without a further package."""

SPREAD_IN_LATEX = re.compile(r" \$\\pm\$ ([\d.]+( \(\d+\))?)")
SMALL = r"{\scriptsize\,$\pm$\,"
"""The start of a standard deviation in a cell of LaTeX. Its type is smaller than the type of the mean."""
SIGNS_IN_LATEX = re.compile(r"(?<=[\d)}])( \$\\(d?dagger|approx)\$)+")
"""The signs after a number in a cell of LaTeX."""
BLANK_BY_A_SIGN = re.compile(r" (?=[±†‡≈])|(?<=±) ")
"""A blank that LaTeX does not show, because deviations are small and signs are raised."""
LABEL = 32  # the most characters of a report's name in a label
COLUMN, BOTH_COLUMNS = 54, 96
"""The most characters in a row of a table that fits in one column, or in both columns, of a two-column paper.

The type of such a table has at least 80 % of the size of the paper's text. This also holds for a paper with one column
of 370 pt or more.
"""
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
    file: the name of the table's LaTeX file in a report, without .tex.
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
    file: str = "table"
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
        """Return the booktabs table in the paper's layout. If it is too wide, deviations have lines of their own."""
        table, bold = in_lines(self.grid)
        if characters_in_a_row([*lines_of_head(name), *column] for name, column in table.items()) > BOTH_COLUMNS:
            table, bold = with_lines_of_spread(table, bold, "± SD (n)", label_columns=2)
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


def markdown(title: str, subtitle: str, sections: Sequence[Section], headline: str = "") -> str:
    """Return the content of report.md. subtitle, headline: the paragraphs below the title; "" for none."""
    head = [f"# {markdown_text(title)}\n", *(f"{markdown_text(text)}\n" for text in (subtitle, headline) if text)]
    return "\n".join([*head, *(section.markdown() for section in sections)])


def latex(sections: Sequence[Section]) -> str:
    """Return the LaTeX of the tables of all sections that have a label."""
    return "\n".join(section.latex() for section in sections if section.label)


def to_markdown(table: "pd.DataFrame") -> str:
    """Return a table as a Markdown table."""
    rows = [list(table.columns), *table.to_numpy().tolist()]
    head, *lines = (" | ".join(markdown_text(cell).replace("|", "\\|") for cell in row) for row in rows)
    rule = " | ".join(["---"] * len(table.columns))
    return "\n".join(f"| {line} |" for line in (head, rule, *lines))


def markdown_text(text: str) -> str:
    """Return a text in Markdown, on one line. All Markdown puts every text of a user's choice through this function."""
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


def with_lines_of_spread(
    table: "pd.DataFrame", bold: Collection[tuple[int, int]], label: str, label_columns: int
) -> "tuple[pd.DataFrame, list[tuple[int, int]]]":
    """Return (a table with standard deviations in a line below their means, (row, column) of each best cell in it).

    label: the cell of the last label column in such a line.
    """
    import pandas as pd

    lines: list[list[str]] = []
    moved = []
    for row, cells in enumerate(table.to_numpy().tolist()):
        moved += [(len(lines), column) for of_row, column in bold if of_row == row]
        labels, numbers = cells[:label_columns], cells[label_columns:]
        lines.append([*labels, *(SPREAD.sub("", cell) for cell in numbers)])
        spreads = [found[1] if (found := SPREAD.search(cell)) else "" for cell in numbers]
        if any(spreads):
            lines.append([*[""] * (label_columns - 1), label, *spreads])
    return pd.DataFrame(lines, columns=table.columns, dtype=object), moved


def booktabs(section: Section) -> str:
    """Return a booktabs table, at most as wide as the text; "" for a table without columns.

    A table that is too wide for one column spans both columns. A table that is too wide for both columns, or a single
    row that is too wide for one column, is transposed if it then fits. If it does not fit, the standard deviations have
    lines of their own. The column `folder` is left out. So are the columns of paired tests, the columns `runs` and
    `seeds` if all their values are equal, and an empty column without a name.
    """
    table = section.shown
    left_out = ["folder"]
    left_out += [name for name in ("runs", "seeds") if name in table and table[name].nunique() == 1]
    left_out += [name for name in table if name.startswith("paired ")]  # a second p, which does not decide ≈
    left_out += [""] if "" in table and (table[""] == "").all() else []
    cells = table.map(latex_cell)
    for row, column in section.bold:
        mean, sign, spread = cells.iloc[row, column].partition(SMALL)
        cells.iloc[row, column] = rf"\textbf{{{mean}}}{sign}{spread}"
    kept = [place for place, name in enumerate(table.columns) if name not in left_out]
    if not kept:
        return ""
    labels = sum(place < section.label_columns for place in kept)
    names = [table.columns[place].removeprefix(section.column_prefix) for place in kept]
    rows, rows_of_cells = (each.iloc[:, kept].to_numpy().tolist() for each in (table, cells))

    width = characters_in_a_row([*lines_of_head(name), *column] for name, *column in zip(names, *rows, strict=True))
    width_turned = characters_in_a_row([names, *rows])
    has_spread = labels and any(SPREAD.search(cell) for row in rows for cell in row[labels:])
    if has_spread and min(width, width_turned) > BOTH_COLUMNS:
        bold = [(row, kept.index(place)) for row, place in section.bold]
        split, bold = with_lines_of_spread(table.iloc[:, kept], bold, "± SD", labels)
        return booktabs(replace(section, table=split, bold=bold, label_columns=labels, hidden=()))
    is_long_row = len(rows) == 1 and width > COLUMN >= width_turned
    if is_long_row or width > BOTH_COLUMNS >= width_turned:
        width, heads, alignment = width_turned, labels, "l" + "r" * len(rows)
        lines = [list(line) for line in zip(map(latex_cell, names), *rows_of_cells, strict=True)]
    else:
        heads, sides = 1, "l" * labels + "r" * (len(names) - labels)
        lines = [[latex_head(name, side) for name, side in zip(names, sides, strict=True)], *rows_of_cells]
        alignment = sides if names[0] else rf"l@{{\,}}{sides[1:]}"  # little space after the star of the best row
    return float_of_table(section, [" & ".join(line) + r" \\" for line in lines], heads, alignment, width)


def float_of_table(section: Section, lines: Sequence[str], heads: int, alignment: str, width: int) -> str:
    """Return a table's LaTeX with its caption. lines: the table's lines. heads: the number of lines above the rule.

    alignment: l or r for each column. width: the characters in a row.
    """
    environment, narrow = ("table*", r"\setlength{\tabcolsep}{3pt}") if width > COLUMN else ("table", "")
    caption = " ".join([f"{(section.caption or section.title).rstrip('.')}.", *section.legend])
    return "\n".join(
        [
            rf"\begin{{{environment}}}",
            r"\centering",
            rf"\caption{{{latex_text(caption)}}}",
            rf"\label{{tab:{latex_label(section.label)}}}",
            rf"{FITTED}{narrow}\begin{{tabular}}{{@{{}}{alignment}@{{}}}}",
            r"\toprule",
            *lines[:heads],
            r"\midrule",
            *lines[heads:],
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\end{{{environment}}}",
            "",
        ]
    )


def characters_in_a_row(columns: Iterable[Collection[str]]) -> int:
    """Return the width of a table in characters: each column's longest text, and two blanks between columns."""
    widths = [max(len(BLANK_BY_A_SIGN.sub("", text)) for text in column) for column in columns]
    return sum(widths) + 2 * (len(widths) - 1)


def lines_of_head(name: str) -> list[str]:
    """Return a column's name in two lines; a long name of a score in three lines.

    A score loses a part that begins its next part, such as sts in test/sts/STS12/spearman.
    """
    if "/" not in name or " " in name:
        return in_two_lines(name)
    split, *parts = name.split("/")
    named = [part for part, after in pairwise([*parts, ""]) if not after.lower().startswith(part.lower())]
    lines = in_two_lines(" ".join([split, *named]))
    is_long = len(named) > 2 and max(map(len, lines)) > len("-71.19 ± 0.54")
    return [f"{split} {named[0]}", *named[1:]] if is_long else lines


def in_two_lines(name: str) -> list[str]:
    """Return a name in one or two lines, as narrow as possible."""
    words = name.split(" ")
    halves = [[" ".join(words[:cut]), " ".join(words[cut:])] for cut in range(1, len(words))]
    return min(halves, key=lambda both: max(map(len, both)), default=[name])


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


def latex_label(name: str) -> str:
    """Return a name for \\label. A hyphen replaces all signs but letters, digits, underscores and dots."""
    return re.sub(r"[^\w.]+", "-", name).strip("-")


def short_label(name: str) -> str:
    """Return `latex_label` of a name. A label of more than LABEL characters is cut and ends in a digest of the name."""
    label = latex_label(name)
    return label if len(label) <= LABEL else f"{label[: LABEL - 9]}-{hashlib.sha1(name.encode()).hexdigest()[:8]}"


def latex_head(name: str, side: str) -> str:
    """Return a column's head in LaTeX, in the lines of `lines_of_head`. side: the side at which lines align, l or r."""
    lines = [OPENS.sub(r"{\g<0>}", latex_text(line)) for line in lines_of_head(name)]
    stack = r" \\ ".join(lines)
    return rf"\shortstack[{side}]{{{stack}}}" if len(lines) > 1 else stack


def latex_cell(text: str) -> str:
    """Return a cell's text in LaTeX, with minus signs, small standard deviations, and raised signs after a number."""
    cell = MINUS.sub("$-$", latex_text(text))
    small = SPREAD_IN_LATEX.sub(lambda found: f"{SMALL}{found[1]}}}", cell)
    raised = SIGNS_IN_LATEX.sub(lambda found: rf"\textsuperscript{{{found[0].replace(' ', '')}}}", small)
    return OPENS.sub(r"{\g<0>}", raised)
