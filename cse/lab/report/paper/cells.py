"""The cells of a paper's table, with the verdict on each: what the paper prints beside what our runs give.

To read: `cells_of`, which makes every `Cell` (`cell_at`). What only the cells of one score can tell together is a
`OneScore`. Our side of a cell is how far it lies from the published number (`difference_to`) and from our own baseline
(`gain_in`), and a verdict (`judge`). cse.lab.report.paper.paper_table lays the cells out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from cse.lab.folder.runs import Where, score_named
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds, seed_spread
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
    is_marked: it is, and has enough seeds for a verdict, as the best has.
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
    is_marked: bool = False
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
    def marked(self) -> list[str]:
        """The tied rows with enough seeds for a verdict; none if the best has too few. These get a mark."""
        enough = [row for row in self.tied if not few_seeds([self.groups[row]])]
        return enough if enough[:1] == self.tied[:1] else []

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
    places = [(row, column) for row, line in table.cells.items() for column in line]
    return {(row, column): cell_at(row, column, sweep, table, score_of.get((row, column))) for row, column in places}


def cell_at(row: str, column: str, sweep: SweepRuns, table: PublishedTable, score: OneScore | None) -> Cell:
    """A cell of the published table with our side of it.

    score: the cells of its column and score; None if no run may fill it.
    """
    published = table.cells[row][column]
    group = score.groups[row] if score else NO_RUNS
    is_filled = bool(group.values)
    gain, p_student = gain_in(sweep, row, column) if is_filled else (NO_EFFECT, math.nan)
    verdict = judge(row, column, published, sweep, score) if score else verdict_without_runs(sweep.spec, table, row)
    return Cell(
        row,
        column,
        table.split_of(column),
        published=published,
        p_published=table.p_values.get((row, column), ""),
        gain_published=published_gain(sweep.spec, table, row, column),
        metric=group.metric or "",
        aggregate=group.aggregate,
        ours=mean_and_sd(group.values) if is_filled else None,
        values=group.values,
        runs=group.distinct,
        expected_runs=number_of_jobs(row, column, sweep) if score else None,
        difference=difference_to(published, group, verdict, sweep.confidence),
        gain=gain,
        p_student=p_student,
        tied_with_best=row in score.tied if score and is_filled else None,
        is_marked=row in score.marked if score else False,
        verdict=verdict,
        data=data_of_group(group),
        no_better=group.no_better if is_filled else None,
    )


def verdict_without_runs(spec: Spec, table: PublishedTable, row: str) -> str:
    """The verdict on a cell that no run can fill: "" in a column that no run measures (widths)."""
    if row in table.others:
        return PUBLISHED_ONLY
    return "" if row in spec.rows else NOT_RUN


def difference_to(published: Value | None, group: Group, verdict: str, confidence: float) -> Effect:
    """Ours minus the published number; empty without one of them, and in another setting, where it means nothing."""
    if published is None or not group.values or verdict == OTHER_SETTING:
        return NO_EFFECT
    return compare_seeds(group.side, published.mean, confidence)


def data_of_group(group: Group) -> str:
    """Whether a group's runs were scored on whole or on modified data; "" without runs."""
    if not group.values:
        return ""
    return "partial" if group.modified else "whole"


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


def number_of_jobs(row: str, column: str, sweep: SweepRuns) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes cannot tell."""
    where: Where = {**sweep.spec.rows[row].where, **sweep.spec.columns[column].where}
    if not sweep.expected or not set(where) <= set(sweep.expected[0]):
        return None
    jobs = sweep.expected
    return sum(all(key in job and same_as_any(job[key], value) for key, value in where.items()) for job in jobs)


def judge(row: str, column: str, published: Value | None, sweep: SweepRuns, score: OneScore) -> str:
    """The verdict on a cell that runs may fill; "" where the paper prints no number."""
    group = score.groups[row]
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
    return against_published(ours, published, tolerance, noise_of([group], score.seed_sd), sweep.confidence)


def noise_of(groups: Sequence[Group], seed_sd: float | None) -> float | None:
    """How much another seed would move the scores of groups; None if nothing tells.

    It is 0 for encoders that are only scored: another seed would score the same. seed_sd: a seed's deviation, in other
    cells of the score.
    """
    return 0.0 if all(group.only_scored for group in groups) else seed_sd


def against_published(ours: Value, published: Value, tolerance: float, noise: float | None, confidence: float) -> str:
    """PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED where one run and no `noise` cannot say which of the last two.

    noise: see `noise_of`.
    """
    distance = abs(ours.mean - published.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and noise is None:
        return ONE_SEED
    return WITHIN_SEED_NOISE if distance <= reach_of_noise(ours, published.n, noise, confidence) else DIFFERS


def ties(groups: Mapping[str, Group], seed_sd: float | None, confidence: float) -> list[str]:
    """The row with the best of a column's scores, and those that may differ from it by noise alone: none has won.

    p is corrected by Holm over the column. Without a test (one seed), a row is tied unless it lies further off than
    seeds explain: of two encoders that are only scored, they explain nothing. A column with one filled row has no best.
    groups: by row. seed_sd: see `noise_of`.
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
        noise = noise_of([filled[best], filled[row]], seed_sd)
        if noise is None and ours[best].sd is None:
            return True
        reach = reach_of_noise(ours[best], ours[row].n, noise, confidence)
        return abs(ours[best].mean - ours[row].mean) <= reach + 1e-9

    return [best, *(row for row, p in zip(others, p_values, strict=True) if is_tied(row, p))]
