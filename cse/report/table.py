"""A table of ours, beside the paper's or of runs alone: its cells, and the remarks that a reader needs with them."""

from dataclasses import dataclass, field

import pandas as pd

from cse.record.runs import Run, Where
from cse.report.cells import QUARTILES, Cell, compare_with_baseline, compare_with_printed, fill_cell
from cse.report.comparison import Comparison
from cse.report.notes import deviations, missing_jobs, mixed, retrieved, scored_differently
from cse.report.published import Published
from cse.report.seeds import in_words, pooled_sd
from cse.report.spec import Spec
from cse.report.statistics import Intervals
from cse.report.verdicts import NOT_RUN, OTHER_SETTING, PUBLISHED_ONLY, judge_cell, mark_ties, seed_sd_of


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


def build(spec: Spec, published: Published, runs: list[Run], expected: list[Where], intervals: Intervals) -> Table:
    """Fill the published table from runs. expected: every job's axes, as the sweep plans them."""
    table = blank(published, spec)
    for row in spec.rows:
        for name in spec.columns:
            table.absent += fill_cell(table.cells[row][name], spec, runs, expected)
    for name in spec.columns:
        own = [table.cells[row][name] for row in spec.rows]
        seed_sd = seed_sd_of(name, spec, [cell for cell in own if cell.values])
        for cell in own:
            cell.verdict = judge_cell(cell, spec, seed_sd, intervals.confidence)
            if cell.verdict != OTHER_SETTING:  # such a difference would mean nothing
                compare_with_printed(cell, intervals)
        mark_ties(own, intervals.confidence)
    for row, base in spec.baselines.items():
        for name in (name for name, line in spec.columns.items() if not line.config):
            compare_with_baseline(table.cells[row][name], table.cells[base][name], intervals.confidence)
    table.absent += missing_jobs(runs, expected)
    table.notes = [*published.notes, *notes(table, spec, runs, intervals)]
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


def notes(table: Table, spec: Spec, runs: list[Run], intervals: Intervals) -> list[str]:
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
    lines.append(
        f"PASS: within {spec.tolerance:g}{others}. Intervals: {intervals.confidence:.0%}, {intervals.kind} over seeds; "
        "of one run, bootstrap over its test items."
    )
    for column in spec.columns:
        filled = [list(table.cells[row][column].values.values()) for row in spec.rows]
        several = [values for values in filled if len(values) > 1]
        if several and (sd := pooled_sd(several)):
            seeds = min(map(len, several))
            lines.append(f"{column}: {in_words(sd, seeds, level=1 - intervals.confidence)}.")
    if any(line.aggregate in QUARTILES for line in spec.rows.values()):
        lines.append("A quartile of one seed has a bootstrap interval over that seed's runs; a maximum has none.")
    return lines


def of_runs(comparison: Comparison, runs: list[Run], expected: list[Where]) -> Table:
    """The table of a sweep whose report has none: a line for each setting."""
    done = [run for run in runs if run.status == "done"]
    table = Table(Published(comparison.counted, "none", []), {}, lines=comparison.table())
    table.deviations, table.absent, table.notes = deviations({}, done), missing_jobs(runs, expected), comparison.notes
    return table
