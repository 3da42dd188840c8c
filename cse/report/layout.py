"""A paper's table beside ours as text, the same for the terminal, Markdown, LaTeX and HTML, and its cells as CSV.

With up to two columns, each number has a line, with its facts side by side. With more, each row of the paper has a
block with a line for each fact, under the paper's own columns.
"""

from collections.abc import Callable

import pandas as pd

from cse.columns import to_markdown
from cse.record.scores import ALTERED, IS_ALTERED
from cse.report.cells import Cell
from cse.report.markup import PLUS_MINUS, TIED, bounds, number, probability, signed
from cse.report.statistics import Value
from cse.report.table import Table


def spread(value: Value, digits: int | None) -> str:
    """mean ± sd (n); only the mean if there is no sd."""
    mean = number(value.mean, digits)
    return mean if value.sd is None else f"{mean} {PLUS_MINUS} {number(value.sd, digits)} ({value.n})"


def _published(cell: Cell, digits: int | None) -> str:
    """The printed number, starred if the paper's text garbles it."""
    if cell.published is None:
        return ""
    return spread(cell.published, digits) + ("*" if cell.published.note else "")


def _ours(cell: Cell, digits: int | None) -> str:
    """Our number, what a statistic is over, the marks of altered data and of a tie, and how many runs are missing."""
    if cell.ours is None:
        return ""
    of = f" {cell.aggregate} of {len(cell.runs)}" if len(cell.runs) > len(cell.values) else ""
    missing = f" [{len(cell.runs)} of {cell.expected} runs]" if len(cell.runs) < (cell.expected or 0) else ""
    marks = (f" {ALTERED}" if cell.altered else "") + (f" {TIED}" if cell.tied else "")
    return spread(cell.ours, digits) + of + marks + missing


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


def grid(table: Table) -> dict[str, list[tuple[str, str, str]]]:
    """The table as its paper prints it: for each cell (ours, the printed number and the difference, the verdict)."""

    def shown(cell: Cell) -> tuple[str, str, str]:
        digits = table.printed.digits(cell.column)
        below = [_published(cell, digits), signed(cell.difference, digits)]
        return _ours(cell, digits), " · ".join(filter(None, below)), cell.verdict

    return {row: [shown(cells[name]) for name in table.printed.columns] for row, cells in table.cells.items()}


def text_table(table: Table) -> pd.DataFrame:
    """The table as text, without facts that no cell has."""
    if table.lines is not None:
        return table.lines
    printed, cells = table.printed, table.all_cells
    columns = {column: printed.split_of(column) for column in printed.columns}
    names = {column: column if split == "none" else f"{column} ({split})" for column, split in columns.items()}
    texts = pd.DataFrame(
        {name: [fact(cell, printed.digits(cell.column)) for cell in cells] for name, fact in FACTS.items()},
        index=pd.MultiIndex.from_arrays([[cell.row for cell in cells], [names[cell.column] for cell in cells]]),
    )
    texts = texts.loc[:, (texts != "").any()]
    if len(names) <= 2:
        return texts.reset_index(names=["", "score"])
    blocks = []
    for row, of_row in texts.groupby(level=0, sort=False):
        block = of_row.droplevel(0).T
        block = block[(block != "").any(axis=1)].reset_index(names="")
        block.insert(0, "row", [row, *[""] * (len(block) - 1)])
        blocks.append(block)
    return pd.concat(blocks).set_axis(["", "", *names.values()], axis=1)


def remarks(table: Table) -> list[str]:
    """What a reader must know besides the numbers."""
    bases = sorted(set(table.baselines.values()))
    ties = any(cell.tied for cell in table.all_cells)
    return [
        *(f"Not the paper's setting: {line}" for line in table.deviations),
        *([f"{IS_ALTERED}."] if any(cell.altered for cell in table.all_cells) else []),
        *([f"{TIED}: the best of ours in its column, or not told apart from it."] if ties else []),
        *([f"gain and p: against our own runs of {', '.join(bases)}."] if bases else []),
        *(f"Missing: {line}" for line in dict.fromkeys(table.absent)),
        *table.notes,
    ]


def section(table: Table) -> str:
    """The table as Markdown under a heading, with its remarks as a list."""
    notes = "".join(f"- {line}\n" for line in remarks(table))
    return f"### {table.printed.title}\n\n{to_markdown(text_table(table))}\n\n{notes}"


def cells_frame(tables: list[Table]) -> pd.DataFrame:
    """report.csv: a line for each cell, with unrounded numbers."""
    cells = [_cell_values(cell, table.printed.split_of(cell.column)) for table in tables for cell in table.all_cells]
    return pd.DataFrame(cells, columns=list(_cell_values(Cell("", ""), "")), dtype=object)


def _cell_values(cell: Cell, split: str) -> dict[str, str | float | None]:
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
        "data": "" if not cell.values else "partial" if cell.altered else "whole",
        "published_note": printed.note if printed else "",
        "values": " ".join(map(repr, cell.values.values())),
    }
