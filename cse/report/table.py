"""A table of ours, beside the paper's or of runs alone: its cells, their verdicts, and the remarks that a reader needs.

A cell compares our mean with the printed number:
    PASS                within the tolerance
    WITHIN SEED NOISE   the printed number lies where further runs of ours would be expected
    DIFFERS             it lies further off than seeds explain
    ONE SEED            there is one run, and nothing says how much seeds vary
    OTHER SETTING       our runs are not the paper's experiment, so the numbers are not compared
    NOT RUN             we have no run of it
    PUBLISHED ONLY      another group's model, which is never run here
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cse.record.runs import Run, Where, described, same
from cse.report.cells import (
    QUARTILES,
    Cell,
    compare,
    compare_with_baseline,
    compare_with_printed,
    fill_cell,
    other_setting,
)
from cse.report.comparison import Comparison
from cse.report.notes import deviations, missing_jobs, mixed, retrieved, scored_differently
from cse.report.published import Published
from cse.report.seeds import in_words, pooled_sd
from cse.report.spec import Spec
from cse.report.statistics import Value, holm, reach_of_noise

PASS, WITHIN_NOISE, DIFFERS, ONE_SEED = "PASS", "WITHIN SEED NOISE", "DIFFERS", "ONE SEED"
NOT_RUN, PUBLISHED_ONLY, OTHER_SETTING = "NOT RUN", "PUBLISHED ONLY", "OTHER SETTING"


@dataclass
class Table:
    """cells[row][column], beside the printed table. baselines: by row, the row that it is compared with.

    deviations: how runs differ from the paper's setting; absent: what is missing, and why; lines: the whole table as
    text, for runs without a published table, which have no cells.
    """

    printed: Published
    cells: dict[str, dict[str, Cell]]
    baselines: dict[str, str] = field(default_factory=dict)
    deviations: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lines: pd.DataFrame | None = None

    @property
    def all_cells(self) -> list[Cell]:
        """Every cell, row after row."""
        return [cell for row in self.cells.values() for cell in row.values()]


def build(spec: Spec, published: Published, runs: list[Run], expected: list[Where], confidence: float) -> Table:
    """Fill the published table from runs. expected: every job's axes, as the sweep plans them."""
    table = blank(published, spec)
    for row in spec.rows:
        for name in spec.columns:
            table.absent += fill_cell(table.cells[row][name], spec, runs, expected)
    for name in spec.columns:
        own = [table.cells[row][name] for row in spec.rows]
        seed_sd = seed_sd_of(name, spec, [cell for cell in own if cell.values])
        for cell in own:
            cell.verdict = judge_cell(cell, spec, seed_sd, confidence)
            if cell.verdict != OTHER_SETTING:  # such a difference would mean nothing
                compare_with_printed(cell, confidence)
        mark_ties(own, confidence)
    for row, base in spec.baselines.items():
        for name in (name for name, line in spec.columns.items() if not line.config):
            compare_with_baseline(table.cells[row][name], table.cells[base][name], confidence)
    table.absent += missing_jobs(runs, expected)
    table.notes = [*published.notes, *notes(table, spec, runs, confidence)]
    for cell in table.all_cells:
        table.notes += mixed(f"{cell.row}, {cell.column}", cell.runs, spec.seed, settings=cell.aggregate == "mean")
    used = [run for cell in table.all_cells for run in cell.runs]
    if differing := scored_differently(used):
        table.notes.append(f"Not all cells were scored alike: {'; '.join(differing)}.")
    table.deviations = deviations(spec.setting, used)
    return table


def blank(published: Published, spec: Spec) -> Table:
    """The table as printed. Rows that runs fill have no verdict yet; a column that none measures (widths) gets none."""
    cells = {
        row: {
            column: Cell(
                row,
                column,
                printed,
                "" if row in spec.rows else PUBLISHED_ONLY if row in published.others else NOT_RUN,
                p_published=published.p_values.get((row, column), ""),
            )
            for column, printed in line.items()
        }
        for row, line in published.cells.items()
    }
    return Table(published, cells, spec.baselines)


def notes(table: Table, spec: Spec, runs: list[Run], confidence: float) -> list[str]:
    """How the table's intervals and verdicts were made, and what its runs retrieved."""
    done = [run for run in runs if run.status == "done"]
    lines = retrieved({row: run for row, line in spec.rows.items() for run in done if run.matches(line.where)})
    if any(cell.difference is not None and len(cell.values) == 1 for cell in table.all_cells):
        lines.append(
            "A cell with one seed is judged by how much the seeds of its column's other cells vary; if there are none, "
            f"STS scores are taken to vary by sd {spec.seed_sd:g}, and other scores are not judged (ONE SEED)."
        )
    own = {column: line.tolerance for column, line in spec.columns.items() if line.tolerance is not None}
    others = "".join(f", {column} within {tolerance:g}" for column, tolerance in own.items())
    lines.append(f"PASS: within {spec.tolerance:g}{others}. Intervals: {confidence:.0%}, t over seeds.")
    for column in spec.columns:
        filled = [list(table.cells[row][column].values.values()) for row in spec.rows]
        several = [values for values in filled if len(values) > 1]
        if several and (sd := pooled_sd(several)):
            seeds = min(map(len, several))
            lines.append(f"{column}: {in_words(sd, seeds, level=1 - confidence)}.")
    if any(line.aggregate in QUARTILES for line in spec.rows.values()):
        lines.append("A quartile of one seed has a bootstrap interval over that seed's runs; a maximum has none.")
    return lines


def of_runs(comparison: Comparison, runs: list[Run], expected: list[Where]) -> Table:
    """The table of a sweep whose report has none: a line for each setting."""
    done = [run for run in runs if run.status == "done"]
    table = Table(Published(title=comparison.counted, split="none", columns=[]), {}, lines=comparison.table())
    table.deviations, table.absent, table.notes = deviations({}, done), missing_jobs(runs, expected), comparison.notes
    return table


def judge_cell(cell: Cell, spec: Spec, seed_sd: float | None, confidence: float) -> str:
    """The verdict on a cell that runs may fill; "" where the paper prints no number. seed_sd: see `seed_sd_of`."""
    ours, column = cell.ours, spec.columns[cell.column]
    if ours is None:
        return NOT_RUN
    if cell.published is None:
        return ""
    if other_setting(cell.runs, spec):
        return OTHER_SETTING
    if column.config:
        return PASS if same(ours.mean, cell.published.mean) else DIFFERS
    tolerance = spec.tolerance if column.tolerance is None else column.tolerance
    return against_printed(ours, cell.published, tolerance, seed_sd, confidence)


def against_printed(ours: Value, printed: Value, tolerance: float, seed_sd: float | None, confidence: float) -> str:
    """PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED where one run and no `seed_sd` cannot tell the last two apart."""
    distance = abs(ours.mean - printed.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and seed_sd is None:
        return ONE_SEED
    return WITHIN_NOISE if distance <= reach_of_noise(ours, printed.n, seed_sd, confidence) else DIFFERS


def seed_sd_of(column: str, spec: Spec, filled: list[Cell]) -> float | None:
    """The seeds' deviation in a column, for its cells with one seed: as the sweep says, else pooled over the column's
    cells with several, else `spec.seed_sd` if all its scores are STS scores; None if nothing tells."""
    if spec.columns[column].seed_sd is not None:
        return spec.columns[column].seed_sd
    several = [list(cell.values.values()) for cell in filled if len(cell.values) > 1]
    if several:
        return pooled_sd(several)
    metrics = {str(spec.metric_of(cell.row, column)) for cell in filled}
    return spec.seed_sd if all("/sts" in metric for metric in metrics) else None


def mark_ties(cells: Sequence[Cell], confidence: float) -> None:
    """Mark the best of a column's scores, and those that may differ from it by noise alone: none of these has won.

    p is corrected by Holm over the column. A column with one filled row has no best.
    """
    cells = [cell for cell in cells if cell.values and cell.metric]
    if len(cells) < 2:
        return
    runs, metric = cells[0].runs, cells[0].metric  # of a mean of several scores more is better
    sign = 1 if described(runs, metric).lower_is_better else -1
    best = min(cells, key=lambda cell: sign * float(np.mean(list(cell.values.values()))))
    best.tied = True
    order = [cell for cell in cells if cell is not best]
    for cell, p in zip(order, holm([compare(best, cell, confidence).p for cell in order]), strict=True):
        cell.tied = math.isnan(p) or p >= 1 - confidence
