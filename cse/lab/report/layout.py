"""A paper's table beside ours as text, from its cells.

With up to two columns, each number has a line, with its facts side by side. With more, each row of the paper has a
block with a line for each fact, under the paper's own columns.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from cse.lab.folder.score_tables import ALTERED
from cse.lab.report.markup import NO_BETTER, PLUS_MINUS, TIED, bounds, number, probability, signed
from cse.lab.report.published import Published
from cse.lab.sections import Section
from cse.lab.settings.dotted import Config


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
    marks = f" {ALTERED}" * (cell["data"] == "partial") + f" {NO_BETTER}" * (cell["no_better"] == "True")
    marks += f" {TIED}" * (cell["tied_with_best"] == "True")
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


def grid(printed: Published, cells: pd.DataFrame) -> dict[str, list[tuple[str, str, str]]]:
    """The table as its paper prints it: for each cell (ours, the printed number and the difference, the verdict)."""
    lines: dict[str, list[tuple[str, str, str]]] = {row: [] for row in printed.cells}
    for cell in cells.to_dict("records"):
        digits = printed.digits(cell["column"])
        below = [_published(cell, digits), signed(cell["difference"], digits)]
        lines[cell["row"]].append((_ours(cell, digits), " · ".join(filter(None, below)), cell["verdict"]))
    return lines


def section(printed: Published, cells: pd.DataFrame) -> Section:
    """The table as text, without facts that no cell has. cells: report.csv."""
    splits = {column: printed.split_of(column) for column in printed.columns}
    names = {column: column if split == "none" else f"{column} ({split})" for column, split in splits.items()}
    known = [(cell, printed.digits(cell["column"])) for cell in cells.to_dict("records")]
    texts = pd.DataFrame(
        {name: [fact(*one) for one in known] for name, fact in FACTS.items()},
        index=pd.MultiIndex.from_arrays([cells["row"], cells["column"].map(names)]),
    )
    texts = texts.loc[:, (texts != "").any()]
    tied = (cells["tied_with_best"] == "True").to_numpy()
    best = pd.DataFrame({name: tied & (name == "ours") for name in texts}, index=texts.index)
    if len(names) > 2:
        texts, best = (one.stack(future_stack=True).unstack(level=1, sort=False) for one in (texts, best))
        filled = (texts != "").any(axis=1)
        texts, best = texts[filled], best[filled]
    text = texts.reset_index()
    if len(names) > 2:  # a row's name heads its block
        text.iloc[:, 0] = text.iloc[:, 0].mask(text.iloc[:, 0].duplicated(), "")
    text = text.set_axis(["", "" if len(names) > 2 else "score", *texts.columns], axis=1)
    bold = [(row, 2 + column) for row, column in np.argwhere(best.to_numpy()).tolist()]
    return Section(printed.title, text, bold=bold, frame=cells)
