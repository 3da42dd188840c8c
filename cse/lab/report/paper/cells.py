"""The cells of a paper's table: the published number, our number, and a verdict.

Start at `cells_of`, which makes a `Cell` for each row and column of the published table (`published_cell`). Runs may
fill a cell if the `report:` block has the row and the column. Then `filled_cell` adds our number: the mean over the
seeds of the runs that fill the cell. Our number is compared with three things:

- the published number (`difference_to`, with a verdict: `verdict_on_cell`);
- our own runs of the cell's baseline (`gain_in`);
- the other rows of the column (`RankedColumn`): which row is the best, and which rows are tied with the best (`ties`).

cse.lab.report.paper.paper_table makes a table of the cells.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scipy import stats

from cse.lab.folder.runs import Where, score_named
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds, seed_spread
from cse.lab.report.numbers.statistics import (
    Effect,
    SeedSpread,
    Value,
    compare_seeds,
    holm,
    is_significant,
    mean_and_sd,
    prediction_half_width,
)
from cse.lab.report.paper.departures import departures_in
from cse.lab.report.paper.report_block import CellPlace
from cse.lab.report.paper.sweep_runs import SweepRuns
from cse.lab.report.verdicts import (
    DIFFERS,
    NOT_RUN,
    ONE_SEED,
    OTHER_SETTING,
    PASS,
    PUBLISHED_ONLY,
    WITHIN_SEED_NOISE,
)
from cse.lab.settings.values import same, same_as_any

NO_EFFECT = Effect()
NO_RUNS = Group([], 0, {}, aggregate="")


@dataclass(frozen=True)
class Cell:
    """A published number and our runs. If no run may fill the cell, the fields about our runs have their defaults.

    published: the published number; None if the paper publishes no number.
    p_published: the p of the row's test against its baseline, as the paper publishes it.
    gain_published: the published number minus the published number of the baseline (ReportBlock.baseline_of).
    group: our runs.
    expected_runs: the number of planned jobs; None if unknown.
    difference: our number minus the published number.
    gain: our number minus our number for the baseline, by Welch's test, which does not assume equal variances.
    p_student: the p of the gain by Student's test, as in NonLing-CSE's Table 3.
    tied_with_best: whether the cell is the best in its RankedColumn or tied with the best; None without runs.
    is_marked: whether `tied_with_best` is true, and the cell and the best cell have enough seeds for a verdict.
    """

    row: str
    column: str
    split: str
    published: Value | None = None
    p_published: str = ""
    gain_published: float | None = None
    group: Group = NO_RUNS
    expected_runs: int | None = None
    difference: Effect = NO_EFFECT
    gain: Effect = NO_EFFECT
    p_student: float = math.nan
    tied_with_best: bool | None = None
    is_marked: bool = False
    verdict: str = ""

    @property
    def ours(self) -> Value | None:
        """The mean over seeds; None without a run."""
        return mean_and_sd(self.group.values) if self.group.values else None


@dataclass(frozen=True)
class RankedColumn:
    """Rows of one column with the same score and statistic, so that the rows can be ranked.

    groups: the runs of each row.
    spread: the variation over seeds in the rows with several seeds; None without such rows.
    tied: the best row, and the rows that are tied with the best row (`ties`).
    """

    column: str
    groups: dict[str, Group]
    spread: SeedSpread | None
    tied: list[str]

    @property
    def marked(self) -> list[str]:
        """The rows that get a mark: the tied rows with enough seeds for a verdict; [] if the best row has too few."""
        enough = [row for row in self.tied if not few_seeds([self.groups[row]])]
        return enough if enough[:1] == self.tied[:1] else []

    @property
    def seed_sd(self) -> float | None:
        """The standard deviation over seeds; None if no row has several seeds."""
        return self.spread.sd if self.spread else None


def ranked_columns(groups: Mapping[CellPlace, Group], confidence: float) -> list[RankedColumn]:
    """Return a RankedColumn for each column, score and statistic. groups: the group of each cell that runs may fill."""
    alike: dict[tuple[str, str | None, str], dict[str, Group]] = {}
    for (row, column), group in groups.items():
        alike.setdefault((column, group.metric, group.aggregate), {})[row] = group
    ranked = []
    for (column, *_), by_row in alike.items():
        spread = seed_spread(by_row.values())
        tied = ties(by_row, spread.sd if spread else None, confidence)
        ranked.append(RankedColumn(column, by_row, spread, tied))
    return ranked


def cells_of(sweep: SweepRuns, ranked: Sequence[RankedColumn]) -> list[Cell]:
    """Return the cells in the order of the published table. ranked: the result of `ranked_columns`."""
    ranked_at = {(row, column.column): column for column in ranked for row in column.groups}
    cells = []
    for row, numbers in sweep.published.cells.items():
        for column in numbers:
            cell = published_cell(row, column, sweep)
            its_ranks = ranked_at.get((row, column))
            cells.append(filled_cell(cell, sweep, its_ranks) if its_ranks else cell)
    return cells


def published_cell(row: str, column: str, sweep: SweepRuns) -> Cell:
    """Return a cell of the published table, without our runs.

    The verdict is "" in a row of the `report:` block, PUBLISHED ONLY in the table's `others`, and NOT RUN elsewhere.
    """
    table, baseline = sweep.published, sweep.block.baseline_of(row, column)
    number, base = table.cells[row][column], table.cells[baseline][column] if baseline else None
    not_filled = "" if row in sweep.block.rows else NOT_RUN
    return Cell(
        row,
        column,
        table.split_of(column),
        published=number,
        p_published=table.p_values.get((row, column), ""),
        gain_published=number.mean - base.mean if number and base else None,
        verdict=PUBLISHED_ONLY if row in table.others else not_filled,
    )


def filled_cell(cell: Cell, sweep: SweepRuns, ranked: RankedColumn) -> Cell:
    """Return the cell with the runs that fill it. ranked: the rows that are ranked with the cell's row."""
    group = ranked.groups[cell.row]
    verdict = verdict_on_cell(cell, group, sweep, ranked.seed_sd)
    gain, p_student = gain_in(cell, group, sweep)
    return replace(
        cell,
        group=group,
        expected_runs=number_of_jobs(cell, sweep),
        difference=difference_to(cell.published, group, verdict, sweep.confidence),
        gain=gain,
        p_student=p_student,
        tied_with_best=cell.row in ranked.tied if group.values else None,
        is_marked=cell.row in ranked.marked,
        verdict=verdict,
    )


def number_of_jobs(cell: Cell, sweep: SweepRuns) -> int | None:
    """Return how many planned jobs belong to a cell; None if the sweep's axes do not decide this."""
    where: Where = {**sweep.block.rows[cell.row].where, **sweep.block.columns[cell.column].where}
    if not sweep.expected or not set(where) <= set(sweep.expected[0]):
        return None
    jobs = sweep.expected
    return sum(all(key in job and same_as_any(job[key], value) for key, value in where.items()) for job in jobs)


def gain_in(cell: Cell, group: Group, sweep: SweepRuns) -> tuple[Effect, float]:
    """Return the gain of a cell's group over the cell's baseline by Welch's test, and the gain's p by Student's test.

    If a side has no runs, the gain is empty. If a side has too few seeds for a test, the gain has no interval and no p.
    """
    baseline = sweep.block.baseline_of(cell.row, cell.column)
    base = sweep.groups[baseline, cell.column] if baseline else NO_RUNS
    if not group.values or not base.values:
        return NO_EFFECT, math.nan
    gain = compare_seeds(group.side, base.side, sweep.confidence)
    if gain.test != "Welch":
        return Effect(gain.size), math.nan
    return gain, float(stats.ttest_ind(group.values, base.values).pvalue)


def difference_to(published: Value | None, group: Group, verdict: str, confidence: float) -> Effect:
    """Return our number minus the published number.

    Return an empty effect if one of the numbers is missing, or if the verdict is OTHER SETTING, because the difference
    then has no meaning.
    """
    if published is None or not group.values or verdict == OTHER_SETTING:
        return NO_EFFECT
    return compare_seeds(group.side, published.mean, confidence)


def verdict_on_cell(cell: Cell, group: Group, sweep: SweepRuns, seed_sd: float | None) -> str:
    """Return the verdict on a cell that runs may fill; "" if the paper publishes no number. seed_sd: see `noise_of`."""
    if not group.values:
        return NOT_RUN
    if cell.published is None:
        return ""
    if departures_in(group.runs, sweep.block.paper_setting):
        return OTHER_SETTING
    ours, of_column = mean_and_sd(group.values), sweep.block.columns[cell.column]
    if of_column.config:
        return PASS if same(ours.mean, cell.published.mean) else DIFFERS
    tolerance = sweep.block.tolerance if of_column.tolerance is None else of_column.tolerance
    return against_published(ours, cell.published, tolerance, noise_of([group], seed_sd), sweep.confidence)


def against_published(ours: Value, published: Value, tolerance: float, noise: float | None, confidence: float) -> str:
    """Return PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED for one seed and noise=None. noise: see `noise_of`."""
    distance = abs(ours.mean - published.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and noise is None:
        return ONE_SEED
    return WITHIN_SEED_NOISE if distance <= prediction_half_width(ours, published.n, noise, confidence) else DIFFERS


def noise_of(groups: Sequence[Group], seed_sd: float | None) -> float | None:
    """Return the standard deviation over seeds of the groups' scores; None if unknown.

    The result is 0 for encoders that are only scored, because they have no seeds. seed_sd: the standard deviation over
    seeds, pooled over the column's cells with the same score and statistic.
    """
    return 0.0 if all(group.only_scored for group in groups) else seed_sd


def ties(groups: Mapping[str, Group], seed_sd: float | None, confidence: float) -> list[str]:
    """Return the best row of a column, and the rows that may differ from the best row by noise alone.

    Return [] if fewer than two rows have runs. The p of each row's test against the best row is Holm-corrected over the
    column. Without a test (one seed), a row is tied if seeds alone can explain its distance from the best row. Between
    two encoders that are only scored, seeds explain no distance. groups: {row: its group}. seed_sd: see `noise_of`.
    """
    filled = {row: group for row, group in groups.items() if group.values and group.metric}
    if len(filled) < 2:
        return []
    ours = {row: mean_and_sd(group.values) for row, group in filled.items()}
    first = next(iter(filled.values()))
    pick = min if score_named(first.runs, first.metric).lower_is_better else max
    best = pick(ours, key=lambda row: ours[row].mean)
    others = [row for row in filled if row != best]
    p_values = holm([compare_groups(filled[best], filled[row], confidence).p for row in others])

    def is_tied(row: str, p: float) -> bool:
        if not math.isnan(p):
            return not is_significant(p, 1 - confidence)
        noise = noise_of([filled[best], filled[row]], seed_sd)
        if noise is None and ours[best].sd is None:
            return True
        reach = prediction_half_width(ours[best], ours[row].n, noise, confidence)
        return abs(ours[best].mean - ours[row].mean) <= reach + 1e-9

    return [best, *(row for row, p in zip(others, p_values, strict=True) if is_tied(row, p))]
