"""The cells of a paper's table, with the verdict on each: what the paper prints beside what our runs give.

To read: `cells_of` makes every `Cell`. What only the cells of one score can tell together is a `OneScore`. Our side of
a cell (`with_runs`) is how far it lies from the published number and from our own baseline (`gain_in`), and a verdict
(`judge`). cse.lab.report.paper.paper_table lays the cells out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scipy import stats

from cse.lab.folder.runs import Where, score_named
from cse.lab.report.numbers.groups import Group, compare_groups, seed_spread
from cse.lab.report.numbers.statistics import (
    Effect,
    SeedSpread,
    Value,
    compare_seeds,
    holm,
    is_shown,
    mean_and_sd,
    reach_of_noise,
)
from cse.lab.report.paper.departures import departures_in
from cse.lab.report.paper.published import PublishedTable
from cse.lab.report.paper.spec import Spec
from cse.lab.report.paper.sweep_runs import Groups, SweepRuns
from cse.lab.report.show.look import (
    DIFFERS,
    NOT_RUN,
    ONE_SEED,
    OTHER_SETTING,
    PASS,
    PUBLISHED_ONLY,
    WITHIN_NOISE,
)
from cse.lab.settings.values import same, same_as_any

NO_EFFECT = Effect()


@dataclass(frozen=True)
class Cell:
    """A number of the paper and ours. A cell that no run fills has the defaults.

    published: None if the paper prints no number.
    p_published: of the row's test against its baseline, as the paper prints it.
    gain_published: over the baseline's row.
    ours: the mean of `values`; None without a run.
    values: ours of each seed.
    runs: how many distinct ones (Group.distinct).
    expected_runs: planned jobs; None if the sweep cannot tell.
    difference: ours minus the published number.
    gain: ours over the baseline's row, by Welch's test, which does not assume equal variances.
    p_student: of the gain by Student's test, as in NonLing-CSE's Table 3.
    tied_with_best: it is the best of ours in its column, of rows with one score and statistic, or is tied with it.
    data: whole, or partial if modified.
    """

    row: str
    column: str
    split: str
    published: Value | None = None
    p_published: str = ""
    gain_published: float | None = None
    metric: str = ""
    aggregate: str = ""
    ours: Value | None = None
    values: Sequence[float] = ()
    runs: int = 0
    expected_runs: int | None = None
    difference: Effect = NO_EFFECT
    gain: Effect = NO_EFFECT
    p_student: float = math.nan
    tied_with_best: bool | None = None
    verdict: str = ""
    data: str = ""
    no_better: bool | None = None


Cells = dict[tuple[str, str], Cell]
"""Of the published table, by row and column, in its order."""


@dataclass(frozen=True)
class OneScore:
    """The cells of a column with one score and one statistic: only such cells have a best, and one deviation over
    seeds.

    groups: by row. spread: how much seeds vary in the cells with several; None without such cells. tied: the rows that
    no other has won over (see `ties`).
    """

    column: str
    groups: dict[str, Group]
    spread: SeedSpread | None
    tied: list[str]

    @property
    def seed_sd(self) -> float | None:
        """A seed's deviation; None if no cell has several."""
        return self.spread.sd if self.spread else None


def scores_of_columns(groups: Groups, confidence: float) -> list[OneScore]:
    """The cells that runs may fill, grouped by column, score and statistic."""
    together: dict[tuple[str, str | None, str], dict[str, Group]] = {}
    for (row, column), group in groups.items():
        together.setdefault((column, group.metric, group.aggregate), {})[row] = group
    by_score = []
    for (column, *_), by_row in together.items():
        spread = seed_spread(by_row.values())
        tied = ties(by_row, spread.sd if spread else None, confidence)
        by_score.append(OneScore(column, by_row, spread, tied))
    return by_score


def cells_of(sweep: SweepRuns, table: PublishedTable, by_score: list[OneScore]) -> Cells:
    """Every cell of the sweep's published table. by_score: its groups by column and score (`scores_of_columns`)."""
    score_of = {(row, score.column): score for score in by_score for row in score.groups}
    p_values = table.p_values
    cells = {}
    for row, line in table.cells.items():
        for column, published in line.items():
            cell = Cell(
                row,
                column,
                table.split_of(column),
                published=published,
                p_published=p_values.get((row, column), ""),
                gain_published=published_gain(sweep.spec, table, row, column),
                verdict=verdict_without_runs(sweep.spec, table, row),
            )
            if (row, column) in score_of:
                cell = with_runs(cell, score_of[row, column], sweep)
            cells[row, column] = cell
    return cells


def verdict_without_runs(spec: Spec, table: PublishedTable, row: str) -> str:
    """The verdict on a cell that no run can fill: "" in a column that no run measures (widths)."""
    if row in table.others:
        return PUBLISHED_ONLY
    return "" if row in spec.rows else NOT_RUN


def with_runs(cell: Cell, score: OneScore, sweep: SweepRuns) -> Cell:
    """A cell with our side of it. score: the cells of its column and score."""
    spec, group = sweep.spec, score.groups[cell.row]
    cell = replace(
        cell,
        metric=group.metric or "",
        aggregate=group.aggregate,
        runs=group.distinct,
        expected_runs=number_of_jobs({**spec.rows[cell.row].where, **spec.columns[cell.column].where}, sweep.expected),
        verdict=judge(group, cell.published, cell.column, sweep, score.seed_sd),
    )
    if not group.values:
        return cell
    difference = NO_EFFECT
    if cell.published is not None and cell.verdict != OTHER_SETTING:  # such a difference would mean nothing
        difference = compare_seeds(group.side, cell.published.mean, sweep.confidence)
    gain, p_student = gain_in(sweep, cell.row, cell.column)
    return replace(
        cell,
        ours=mean_and_sd(group.values),
        values=group.values,
        difference=difference,
        gain=gain,
        p_student=p_student,
        tied_with_best=cell.row in score.tied,
        data="partial" if group.modified else "whole",
        no_better=group.no_better,
    )


def published_gain(spec: Spec, table: PublishedTable, row: str, column: str) -> float | None:
    """The published number minus that of the row's baseline; None if there is none, and for the value of a key."""
    if row not in spec.baselines or column not in spec.columns or spec.columns[column].config:
        return None
    ours, theirs = table.cells[row][column], table.cells[spec.baselines[row]][column]
    return ours.mean - theirs.mean if ours and theirs else None


def gain_in(sweep: SweepRuns, row: str, column: str) -> tuple[Effect, float]:
    """The gain of a cell over its row's baseline by Welch's test, and Student's p.

    It is empty without a baseline or its runs, and for a key's value. It has no interval and no p if one side has too
    few seeds for a test.
    """
    baselines = sweep.spec.baselines
    if row not in baselines or sweep.spec.columns[column].config:
        return NO_EFFECT, math.nan
    group, base = sweep.groups[row, column], sweep.groups[baselines[row], column]
    if not group.values or not base.values:
        return NO_EFFECT, math.nan
    gain = compare_seeds(group.side, base.side, sweep.confidence)
    if gain.test != "Welch":
        return Effect(gain.size), math.nan
    return gain, float(stats.ttest_ind(group.values, base.values).pvalue)


def number_of_jobs(where: Where, expected: list[Where]) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes cannot tell."""
    if not expected or not set(where) <= set(expected[0]):
        return None
    return sum(all(key in job and same_as_any(job[key], value) for key, value in where.items()) for job in expected)


def judge(group: Group, published: Value | None, column: str, sweep: SweepRuns, seed_sd: float | None) -> str:
    """The verdict on a cell that runs may fill; "" where the paper prints no number.

    seed_sd: how much seeds vary in the column's cells with several; None without such cells.
    """
    if not group.values:
        return NOT_RUN
    if published is None:
        return ""
    if departures_in(group.runs, sweep.spec.held_fixed):
        return OTHER_SETTING
    ours, line = mean_and_sd(group.values), sweep.spec.columns[column]
    if line.config:
        return PASS if same(ours.mean, published.mean) else DIFFERS
    tolerance = sweep.spec.tolerance if line.tolerance is None else line.tolerance
    noise = 0.0 if group.only_scored else seed_sd  # another seed would score the same
    return against_published(ours, published, tolerance, noise, sweep.confidence)


def against_published(ours: Value, published: Value, tolerance: float, seed_sd: float | None, confidence: float) -> str:
    """PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED where one run and no `seed_sd` cannot say which of the last two."""
    distance = abs(ours.mean - published.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and seed_sd is None:
        return ONE_SEED
    return WITHIN_NOISE if distance <= reach_of_noise(ours, published.n, seed_sd, confidence) else DIFFERS


def ties(groups: Mapping[str, Group], seed_sd: float | None, confidence: float) -> list[str]:
    """The row with the best of a column's scores, and those that may differ from it by noise alone: none has won.

    p is corrected by Holm over the column. Without a test (one seed), a row is tied unless it lies further off than
    seeds explain: of two encoders that are only scored, they explain nothing. A column with one filled row has no best.
    groups: by row. seed_sd: see `judge`.
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
            return not is_shown(p, 1 - confidence)
        both_only_scored = filled[best].only_scored and filled[row].only_scored
        noise = 0.0 if both_only_scored else seed_sd  # another seed would score the same
        if noise is None and ours[best].sd is None:  # nothing tells how much seeds vary
            return True
        reach = reach_of_noise(ours[best], ours[row].n, noise, confidence)
        return abs(ours[best].mean - ours[row].mean) <= reach + 1e-9

    return [best, *(row for row, p in zip(others, p_values, strict=True) if is_tied(row, p))]
