"""Which rows of a column cannot be told apart from its best: they share a mark, and none of them has won."""

import math

from cse.eval.score import nature
from cse.report import statistics
from cse.report.cells import Cell
from cse.report.sides import compare_sides, of_cell
from cse.report.table import Table


def mark(table: Table, seed: str, confidence: float) -> None:
    """Mark the best cell of ours in every column of scores, and those that differ from it by noise alone.

    By seeds and test items (cse.report.sides), p corrected by Holm over the column. seed: the config key that tells
    repetitions apart. A column with one filled row has no best.
    """
    for column in table.columns:
        cells = [row[column] for row in table.cells.values() if row[column].values and row[column].metric]
        if len(cells) > 1:
            _mark(cells, seed, confidence)


def _mark(cells: list[Cell], seed: str, confidence: float) -> None:
    sides = [of_cell(cell, cell.row, seed) for cell in cells]
    means = [statistics.summary(cell.values).mean for cell in cells]
    metric = cells[0].metric  # a mean of several scores is best where it is most
    lower = isinstance(metric, str) and nature(metric).lower_is_better
    best = means.index((min if lower else max)(means))
    p_values = [
        math.nan if place == best else compare_sides(sides[best], side, confidence).p
        for place, side in enumerate(sides)
    ]
    for cell, p in zip(cells, statistics.holm(p_values), strict=True):
        cell.tied = math.isnan(p) or p >= 1 - confidence
