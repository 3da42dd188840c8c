"""A table as lines of text, the same for the terminal, Markdown, LaTeX and HTML.

Up to two columns: one line for each number, its facts side by side. More columns: a block of lines for each row of the
paper, one fact a line, under the paper's own columns.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from cse.files import csv_text
from cse.report.cells import Cell
from cse.report.published import Value
from cse.report.statistics import Interval, Summary
from cse.report.table import Table

PLUS_MINUS, TIED = "±", "≈"
Texts = Mapping[str, Callable[[Cell], str]]  # a fact's name: how a cell shows it


@dataclass
class Grid:
    """header, and lines of as many cells. A line that begins a row of the paper is in `first`."""

    header: list[str]
    lines: list[list[str]]
    first: set[int]


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


def spread(value: Summary | Value, digits: int | None) -> str:
    """mean +- sd (n); only the mean if there is one value."""
    mean = number(value.mean, digits)
    return mean if value.sd is None else f"{mean} {PLUS_MINUS} {number(value.sd, digits)} ({value.n})"


def probability(p: float | None) -> str:
    """A p value without its leading zero; "" for None and NaN."""
    if p is None or math.isnan(p):
        return ""
    return "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0")


def _published(cell: Cell, digits: int | None) -> str:
    """The printed number, with a * if the paper's text garbles it."""
    if cell.published is None:
        return ""
    return spread(cell.published, digits) + ("*" if cell.published.note else "")


def _ours(cell: Cell, digits: int | None) -> str:
    """Our number, what a statistic is of, whether it ties with the best, and how many runs are still missing."""
    if cell.ours is None:
        return ""
    of = f" {cell.aggregate} of {len(cell.runs)}" if len(cell.runs) > len(cell.values) else ""
    missing = f" [{len(cell.runs)} of {cell.expected} runs]" if len(cell.runs) < (cell.expected or 0) else ""
    return spread(cell.ours, digits) + of + (f" {TIED}" if cell.tied else "") + missing


FACTS: dict[str, Callable[[Cell, int | None], str]] = {
    "published": _published,
    "ours": _ours,
    "difference": lambda cell, digits: signed(cell.difference, digits),
    "interval": lambda cell, digits: bounds(cell.interval, digits),
    "gain": lambda cell, digits: signed(cell.gain, digits),
    "its interval": lambda cell, digits: bounds(cell.gain_interval, digits),
    "gain as printed": lambda cell, digits: signed(cell.gain_published, digits),
    "p as printed": lambda cell, _: cell.p_published,
    "p Student": lambda cell, _: probability(cell.p_student),
    "p Welch": lambda cell, _: probability(cell.p_welch),
    "verdict": lambda cell, _: cell.verdict,
}


def grid(table: Table) -> Grid:
    """The table's lines, without facts that no cell has."""
    facts = [
        fact for fact, text in FACTS.items() if any(text(cell, table.digits(cell.column)) for cell in table.all_cells)
    ]
    splits = {column: table.split_of(column) for column in table.columns}
    names = [column if split == "none" else f"{column} ({split})" for column, split in splits.items()]
    layout, header = (_side_by_side, ["", "score", *facts]) if len(names) <= 2 else (_stacked, ["", "", *names])
    named = {"ours": f"ours, {table.score}"} if table.score else {}
    header = [named.get(name, name) for name in header]
    texts = {named.get(fact, fact): partial(_text, fact=fact, table=table) for fact in facts}
    blocks = [layout(row, dict(zip(names, cells.values(), strict=True)), texts) for row, cells in table.cells.items()]
    starts = accumulate(map(len, blocks[:-1]), initial=0)
    return Grid(header, [line for block in blocks for line in block], set(starts))


def _text(cell: Cell, fact: str, table: Table) -> str:
    return FACTS[fact](cell, table.digits(cell.column))


def _side_by_side(row: str, cells: dict[str, Cell], texts: Texts) -> list[list[str]]:
    """A row of the paper: a line for each of its cells, facts side by side."""
    return [[row, name, *(text(cell) for text in texts.values())] for name, cell in cells.items()]


def _stacked(row: str, cells: dict[str, Cell], texts: Texts) -> list[list[str]]:
    """A row of the paper: a line for each fact that any of its cells has."""
    lines = [[fact, *(text(cell) for cell in cells.values())] for fact, text in texts.items()]
    filled = [line for line in lines if any(line[1:])]
    return [["" if place else row, *line] for place, line in enumerate(filled)]


def remarks(table: Table) -> list[str]:
    """What a reader must know beside the numbers."""
    bases = sorted(set(table.baselines.values()))
    ties = any(cell.tied for cell in table.all_cells)
    return [
        *(f"Not the paper's setting: {line}" for line in table.deviations),
        *([f"{TIED}: the best of ours in its column, or not told apart from it."] if ties else []),
        *([f"gain and p: over our own runs of {', '.join(bases)}."] if bases else []),
        *(f"Missing: {line}" for line in dict.fromkeys(table.absent)),
        *table.notes,
    ]


def to_csv(tables: list[Table]) -> str:
    """One line for each cell, numbers unrounded."""
    cells = [_csv_row(cell, table.split_of(cell.column)).values() for table in tables for cell in table.all_cells]
    return csv_text(_csv_row(Cell("", "", None), ""), cells)


def _csv_row(cell: Cell, split: str) -> dict[str, str | float | None]:
    printed, ours = cell.published, cell.ours
    low, high = cell.interval or (None, None)
    gain_low, gain_high = cell.gain_interval or (None, None)
    return {
        "row": cell.row,
        "column": cell.column,
        "split": split,
        "metric": "" if cell.metric is None else str(cell.metric),
        "published": printed.mean if printed else None,
        "published_sd": printed.sd if printed else None,
        "published_n": printed.n if printed else None,
        "ours": ours.mean if ours else None,
        "ours_sd": ours.sd if ours else None,
        "seeds": len(cell.values),
        "runs": len(cell.runs),
        "expected_runs": cell.expected,
        "difference": cell.difference,
        "difference_low": low,
        "difference_high": high,
        "gain": cell.gain,
        "gain_low": gain_low,
        "gain_high": gain_high,
        "gain_published": cell.gain_published,
        "p_published": cell.p_published,
        "p_student": cell.p_student,
        "p_welch": cell.p_welch,
        "tied_with_best": str(cell.tied) if cell.values else "",
        "verdict": cell.verdict,
        "published_note": printed.note if printed else "",
        "values": " ".join(map(repr, cell.values)),
    }


def to_markdown(table: Table) -> str:
    """The table under a heading, and its remarks as a list."""
    notes = "".join(f"- {line}\n" for line in remarks(table))
    return f"### {table.title}\n\n{grid_to_markdown(grid(table))}\n\n{notes}"


def grid_to_markdown(cells: Grid) -> str:
    """A Markdown table."""
    lines = [cells.header, ["---"] * len(cells.header), *cells.lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "<": "$<$",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        PLUS_MINUS: r"$\pm$",
        TIED: r"$\approx$",
    }
)


def to_latex(table: Table) -> str:
    """A booktabs table, to be \\input."""
    return grid_to_latex(grid(table), table.title, remarks(table), words=2)


def grid_to_latex(whole: Grid, title: str, notes: Sequence[str], words: int) -> str:
    """A booktabs table of a grid, whose first columns are words, with the notes as comments."""

    def line(cells: list[str]) -> str:
        return " & ".join(cell.translate(LATEX) for cell in cells) + r" \\"

    body = [("\\midrule\n" if i in whole.first else "") + line(cells) for i, cells in enumerate(whole.lines)]
    columns = "l" * words + "r" * (len(whole.header) - words)
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line(whole.header),
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{title.translate(LATEX)}}}",
            *(f"% {note}" for note in notes),
            r"\end{table}",
            "",
        ]
    )
