"""A paper's table beside ours as text, the same for the terminal, Markdown, LaTeX and HTML, and its cells as CSV.

With up to two columns, each number has a line, with its facts side by side. With more, each row of the paper has a
block with a line for each fact, under the paper's own columns.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from cse.columns import to_markdown
from cse.dotted import Config
from cse.record.scores import ALTERED, IS_ALTERED
from cse.report.markup import PLUS_MINUS, TIED, bounds, number, probability, signed
from cse.report.table import Table


def spread(mean: float, sd: float | None, n: int, digits: int | None) -> str:
    """mean ± sd (n); only the mean if there is no sd."""
    return number(mean, digits) + ("" if sd is None else f" {PLUS_MINUS} {number(sd, digits)} ({n})")


def _published(cell: Config, digits: int | None) -> str:
    """The printed number, starred if the paper's text garbles it."""
    if cell["published"] is None:
        return ""
    star = "*" if cell["published_note"] else ""
    return spread(cell["published"], cell["published_sd"], cell["published_n"], digits) + star


def _ours(cell: Config, digits: int | None) -> str:
    """Our number, what a statistic is over, the marks of altered data and of a tie, and how many runs are missing."""
    if cell["ours"] is None:
        return ""
    runs, expected = cell["runs"], cell["expected_runs"] or 0
    of = f" {cell['aggregate']} of {runs}" if runs > cell["seeds"] else ""
    marks = f" {ALTERED}" * (cell["data"] == "partial") + f" {TIED}" * (cell["tied_with_best"] == "True")
    missing = f" [{runs} of {expected} runs]" if runs < expected else ""
    return spread(cell["ours"], cell["ours_sd"], cell["seeds"], digits) + of + marks + missing


FACTS: dict[str, Callable[[Config, int | None], str]] = {
    "published": _published,
    "ours": _ours,
    "difference": lambda cell, digits: signed(cell["difference"], digits),
    "interval": lambda cell, digits: bounds(cell["difference_low"], cell["difference_high"], digits),
    "gain": lambda cell, digits: signed(cell["gain"], digits),
    "its interval": lambda cell, digits: bounds(cell["gain_low"], cell["gain_high"], digits),
    "gain as printed": lambda cell, digits: signed(cell["gain_published"], digits),
    "p as printed": lambda cell, _: cell["p_published"],
    "p Student": lambda cell, _: probability(cell["p_student"]),
    "p Welch": lambda cell, _: probability(cell["p_welch"]),
    "verdict": lambda cell, _: cell["verdict"],
}


def grid(table: Table) -> dict[str, list[tuple[str, str, str]]]:
    """The table as its paper prints it: for each cell (ours, the printed number and the difference, the verdict)."""
    lines: dict[str, list[tuple[str, str, str]]] = {row: [] for row in table.printed.cells}
    for cell in table.cells.to_dict("records"):
        digits = table.printed.digits(cell["column"])
        below = [_published(cell, digits), signed(cell["difference"], digits)]
        lines[cell["row"]].append((_ours(cell, digits), " · ".join(filter(None, below)), cell["verdict"]))
    return lines


def text_table(table: Table) -> pd.DataFrame:
    """The table as text, without facts that no cell has."""
    if table.lines is not None:
        return table.lines
    printed, cells = table.printed, table.cells.to_dict("records")
    columns = {column: printed.split_of(column) for column in printed.columns}
    names = {column: column if split == "none" else f"{column} ({split})" for column, split in columns.items()}
    texts = pd.DataFrame(
        {name: [fact(cell, printed.digits(cell["column"])) for cell in cells] for name, fact in FACTS.items()},
        index=pd.MultiIndex.from_arrays([table.cells["row"], table.cells["column"].map(names)]),
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


def best(text: pd.DataFrame) -> list[tuple[int, int]]:
    """The row and column of each best cell of ours, or one not told apart from it."""
    return [(row, column) for row, column in np.argwhere(text.map(lambda cell: TIED in cell).to_numpy()).tolist()]


def remarks(table: Table) -> list[str]:
    """What a reader must know besides the numbers."""
    bases, ties = sorted(set(table.baselines.values())), table.cells["tied_with_best"] == "True"
    return [
        *(f"Not the paper's setting: {line}" for line in table.deviations),
        *([f"{IS_ALTERED}."] if (table.cells["data"] == "partial").any() else []),
        *([f"{TIED}: the best of ours in its column, or not told apart from it."] if ties.any() else []),
        *([f"gain and p: against our own runs of {', '.join(bases)}."] if bases else []),
        *(f"Missing: {line}" for line in dict.fromkeys(table.absent)),
        *table.notes,
    ]


def section(table: Table) -> str:
    """The table as Markdown under a heading, with its remarks as a list."""
    notes = "".join(f"- {line}\n" for line in remarks(table))
    return f"### {table.printed.title}\n\n{to_markdown(text_table(table))}\n\n{notes}"
