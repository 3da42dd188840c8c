"""The cells of a paper's table, with the verdict on each: what the paper prints beside what our runs give.

To read: `cells_of` makes every `Cell`. What only the cells of one score can tell together is a `OneScore`. Our side of
a cell is `OurNumber`: how far it lies from the printed number and from our own baseline (`gain_in`), and a verdict
(`judge`). cse.lab.report.paper.paper_table lays the cells out.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from scipy import stats

from cse.lab.folder.runs import Where, score_named
from cse.lab.report.numbers.groups import Group, compare, seed_spread
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
from cse.lab.report.paper.published import Published
from cse.lab.report.paper.spec import Spec
from cse.lab.report.paper.sweep_runs import Groups
from cse.lab.report.show.look import (
    DIFFERS,
    NOT_RUN,
    ONE_SEED,
    OTHER_SETTING,
    PASS,
    PUBLISHED_ONLY,
    WITHIN_NOISE,
)
from cse.lab.settings.values import same


@dataclass(frozen=True)
class Cell:
    """A number of the paper and ours: a line of report.csv, in this order. None and "": it is not known.

    runs: how many distinct ones (Group.distinct). expected_runs: planned jobs. difference: ours minus the printed
    number. gain: ours over the baseline's row, in this column. tied_with_best: it is the best of ours in its column,
    of rows with one score and statistic, or is tied with it. data: whole, or partial if altered. values: ours of each
    seed.
    """

    row: str
    column: str
    split: str
    metric: str = ""
    aggregate: str = ""
    published: float | None = None
    published_sd: float | None = None
    published_n: int | None = None
    ours: float | None = None
    ours_sd: float | None = None
    seeds: int = 0
    runs: int = 0
    expected_runs: int | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    gain_published: float | None = None
    p_published: str = ""
    p_student: float | None = None
    p_welch: float | None = None
    tied_with_best: bool | None = None
    verdict: str = ""
    data: str = ""
    no_better: bool | None = None
    published_note: str = ""
    values: str = ""


Cells = dict[tuple[str, str], Cell]
"""Of the printed table, by row and column, in its order."""


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
    """The cells that runs may fill, those of one column, score and statistic together."""
    together: dict[tuple[str, str | None, str], dict[str, Group]] = {}
    for (row, column), group in groups.items():
        together.setdefault((column, group.metric, group.aggregate), {})[row] = group
    found = []
    for (column, *_), by_row in together.items():
        spread = seed_spread(by_row.values())
        tied = ties(by_row, spread.sd if spread else None, confidence)
        found.append(OneScore(column, by_row, spread, tied))
    return found


class Gain(NamedTuple):
    """Our row over our baseline's: by Welch's test, which does not assume equal variances, and by Student's, as in
    NonLing-CSE's Table 3. Without both p values, one side has too few seeds for a test."""

    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p_student: float | None = None
    p_welch: float | None = None


class OurNumber(NamedTuple):
    """Our side of a cell. The defaults are those of a cell that no run fills; the names are those of Cell.

    mean: over seeds, with their deviation; None without a run.
    """

    verdict: str
    metric: str = ""
    aggregate: str = ""
    runs: int = 0
    expected_runs: int | None = None
    mean: Value | None = None
    difference: Effect = Effect()
    gain: Gain = Gain()
    tied_with_best: bool | None = None
    data: str = ""
    no_better: bool | None = None
    values: str = ""


def cells_of(
    spec: Spec,
    published: Published,
    groups: Groups,
    by_score: list[OneScore],
    expected: list[Where],
    confidence: float,
) -> Cells:
    """Every cell of the printed table.

    by_score: the groups by column and score (`scores_of_columns`). expected: every job's axes, as the sweep plans them.
    """
    score_of = {(row, one.column): one for one in by_score for row in one.groups}
    cells = {}
    for row, line in published.cells.items():
        for column, printed in line.items():
            ours = OurNumber(verdict_without_runs(spec, published, row))
            if (row, column) in score_of:
                one = score_of[row, column]
                ours = our_number_in(
                    one.groups[row],
                    printed,
                    verdict=judge(one.groups[row], printed, column, spec, one.seed_sd, confidence),
                    gain=gain_in(spec, groups, row, column, confidence),
                    is_tied=row in one.tied,
                    jobs=number_of_jobs({**spec.rows[row].where, **spec.columns[column].where}, expected),
                    confidence=confidence,
                )
            cells[row, column] = cell_of(spec, published, row, column, ours)
    return cells


def verdict_without_runs(spec: Spec, published: Published, row: str) -> str:
    """The verdict on a cell that no run can fill: "" in a column that no run measures (widths)."""
    if row in published.others:
        return PUBLISHED_ONLY
    return "" if row in spec.rows else NOT_RUN


def cell_of(spec: Spec, published: Published, row: str, column: str, ours: OurNumber) -> Cell:
    """The printed number beside ours."""
    printed = published.cells[row][column]
    return Cell(
        row=row,
        column=column,
        split=published.split_of(column),
        metric=ours.metric,
        aggregate=ours.aggregate,
        published=printed.mean if printed else None,
        published_sd=printed.sd if printed else None,
        published_n=printed.n if printed else None,
        ours=ours.mean.mean if ours.mean else None,
        ours_sd=ours.mean.sd if ours.mean else None,
        seeds=ours.mean.n if ours.mean else 0,
        runs=ours.runs,
        expected_runs=ours.expected_runs,
        difference=ours.difference.effect,
        difference_low=ours.difference.low,
        difference_high=ours.difference.high,
        gain=ours.gain.effect,
        gain_low=ours.gain.low,
        gain_high=ours.gain.high,
        gain_published=printed_gain(spec, published, row, column),
        p_published=published.p_values.get((row, column), ""),
        p_student=ours.gain.p_student,
        p_welch=ours.gain.p_welch,
        tied_with_best=ours.tied_with_best,
        verdict=ours.verdict,
        data=ours.data,
        no_better=ours.no_better,
        published_note=printed.note if printed else "",
        values=ours.values,
    )


def our_number_in(
    group: Group,
    printed: Value | None,
    *,
    verdict: str,
    gain: Gain,
    is_tied: bool,
    jobs: int | None,
    confidence: float,
) -> OurNumber:
    """Our side of a cell that runs may fill. jobs: how many are planned."""
    metric = group.metric or ""
    if not group.values:
        return OurNumber(verdict, metric, group.aggregate, group.distinct, jobs)
    difference = Effect()
    if printed is not None and verdict != OTHER_SETTING:  # such a difference would mean nothing
        difference = compare_seeds(group.side, printed.mean, confidence)
    return OurNumber(
        verdict=verdict,
        metric=metric,
        aggregate=group.aggregate,
        runs=group.distinct,
        expected_runs=jobs,
        mean=mean_and_sd(group.values),
        difference=difference,
        gain=gain,
        tied_with_best=is_tied,
        data="partial" if group.altered else "whole",
        no_better=group.no_better,
        values=" ".join(map(repr, group.values)),
    )


def printed_gain(spec: Spec, published: Published, row: str, column: str) -> float | None:
    """The printed number minus that of the row's baseline; None if there is none, and for the value of a key."""
    if row not in spec.baselines or column not in spec.columns or spec.columns[column].config:
        return None
    ours, theirs = published.cells[row][column], published.cells[spec.baselines[row]][column]
    return ours.mean - theirs.mean if ours and theirs else None


def gain_in(spec: Spec, groups: Groups, row: str, column: str, confidence: float) -> Gain:
    """The gain of a cell over its row's baseline. It is empty without a baseline or its runs, and for a key's value."""
    if row not in spec.baselines or spec.columns[column].config:
        return Gain()
    group, base = groups[row, column], groups[spec.baselines[row], column]
    if not group.values or not base.values:
        return Gain()
    found = compare_seeds(group.side, base.side, confidence)
    if found.test != "Welch":
        return Gain(found.effect)
    student = stats.ttest_ind(group.values, base.values)
    return Gain(found.effect, found.low, found.high, float(student.pvalue), found.p)


def number_of_jobs(where: Where, expected: list[Where]) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes cannot tell."""
    if not expected or not set(where) <= set(expected[0]):
        return None
    return sum(all(key in job and same(job[key], value) for key, value in where.items()) for job in expected)


def judge(
    group: Group, printed: Value | None, column: str, spec: Spec, seed_sd: float | None, confidence: float
) -> str:
    """The verdict on a cell that runs may fill; "" where the paper prints no number.

    seed_sd: how much seeds vary in the column's cells with several; None without such cells.
    """
    if not group.values:
        return NOT_RUN
    if printed is None:
        return ""
    if departures_in(group.runs, spec.setting):
        return OTHER_SETTING
    ours, line = mean_and_sd(group.values), spec.columns[column]
    if line.config:
        return PASS if same(ours.mean, printed.mean) else DIFFERS
    tolerance = spec.tolerance if line.tolerance is None else line.tolerance
    noise = 0.0 if group.only_scored else seed_sd  # another seed would score the same
    return against_printed(ours, printed, tolerance, noise, confidence)


def against_printed(ours: Value, printed: Value, tolerance: float, seed_sd: float | None, confidence: float) -> str:
    """PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED where one run and no `seed_sd` cannot say which of the last two."""
    distance = abs(ours.mean - printed.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and seed_sd is None:
        return ONE_SEED
    return WITHIN_NOISE if distance <= reach_of_noise(ours, printed.n, seed_sd, confidence) else DIFFERS


def ties(groups: Mapping[str, Group], seed_sd: float | None, confidence: float) -> list[str]:
    """The row with the best of a column's scores, and those that may differ from it by noise alone: none has won.

    p is corrected by Holm over the column. Without a test (one seed), a row is tied unless it lies further off than
    seeds explain. A column with one filled row has no best. groups: by row. seed_sd: see `judge`.
    """
    filled = {row: group for row, group in groups.items() if group.values and group.metric}
    if len(filled) < 2:
        return []
    of = {row: mean_and_sd(group.values) for row, group in filled.items()}
    first = next(iter(filled.values()))
    sign = 1 if score_named(first.runs, first.metric).lower_is_better else -1
    best = min(of, key=lambda row: sign * of[row].mean)
    others = [row for row in filled if row != best]
    p_values = holm([compare(filled[best], filled[row], confidence).p for row in others])
    knows_noise = seed_sd is not None or of[best].sd is not None

    def is_tied(row: str, p: float) -> bool:
        if not math.isnan(p) or not knows_noise:
            return not is_shown(p, 1 - confidence)
        return abs(of[best].mean - of[row].mean) <= reach_of_noise(of[best], of[row].n, seed_sd, confidence)

    return [best, *(row for row, p in zip(others, p_values, strict=True) if is_tied(row, p))]
