"""What two sides are, each a number of ours by seed, and how they are compared: over seeds, and over test items.

scipy's tests; p is two-sided. With two to five seeds all of it is rough.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from cse.eval.score import nature
from cse.record.runs import Run, grouped, plain
from cse.report import resampling
from cse.report.cells import Cell
from cse.report.resampling import Resampled
from cse.report.spec import Metric
from cse.report.statistics import Interval, t_interval
from cse.report.table import Table


@dataclass(frozen=True)
class Side:
    """One number: ours by seed (empty: not known), and as printed (None: it is not).

    source: the row or the settings of its runs; unscored: what these did not measure, "" where there are no such runs.

    runs, metric: of each seed, what its number is the mean of; {} where it is another statistic of them.
    """

    label: str
    ours: dict[str, float]
    printed: float | None = None
    runs: dict[str, list[Run]] = field(default_factory=dict)
    metric: Metric | None = None
    source: str = ""
    unscored: str = ""


@dataclass(frozen=True)
class Comparison:
    """A difference or a rank correlation: its size, its interval (None: one run a side), what of, how tested, p.

    over_items: the interval over test items, where the runs kept them.
    """

    effect: float
    interval: Interval | None
    n: str
    test: str
    p: float = math.nan
    over_items: Interval | None = None


def of_cell(cell: Cell, label: str, seed: str) -> Side:
    """A table's cell. seed: the config key that tells its repetitions apart."""
    groups = grouped(cell.runs, seed)
    if len(groups) != len(cell.values):  # a survey's, where a seed may have several runs: each is a value
        groups = {str(run.folder): [run] for run in cell.runs}
    return Side(
        label,
        dict(zip(groups, cell.values, strict=True)),
        cell.published.mean if cell.published else None,
        groups if cell.aggregate == "mean" else {},
        cell.metric,
    )


def like_with_like(left: list[Run], right: list[Run], axes: Sequence[str]) -> tuple[list[Run], list[Run]]:
    """The runs of the settings that both sides have, so that what was tried on one side alone does not speak for it.

    axes: the config keys in which runs may differ without being told apart by the claim.
    """

    def setting(run: Run) -> tuple[str, ...]:
        return tuple(str(plain(run.get(axis))) for axis in axes)

    both = {*map(setting, left)} & {*map(setting, right)}
    return [run for run in left if setting(run) in both], [run for run in right if setting(run) in both]


def compare_sides(left: Side, right: Side, confidence: float, shift: float = 0.0) -> Comparison:
    """Left minus right over seeds and, where the runs kept them, over test items; p is the larger of the two."""
    over_seeds = compare_seeds(left.ours, right.ours, confidence, shift)
    over_items = _item_difference(left, right)
    if over_items is None:
        return over_seeds
    test, p = f"bootstrap over {over_items.items:,} items", over_items.p(shift)
    if not math.isnan(over_seeds.p):
        test, p = f"{over_seeds.test}; {test}", max(p, over_seeds.p)
    return replace(over_seeds, over_items=over_items.interval(confidence), test=test, p=p)


def _item_difference(left: Side, right: Side) -> Resampled | None:
    """Of the seeds that both sides have, if these are two or more, else of all; None where items were not kept."""
    shared = left.ours.keys() & right.ours.keys()
    chosen = shared if len(shared) > 1 else left.ours.keys() | right.ours.keys()
    a, b = (
        resampling.of_seeds([group for seed, group in side.runs.items() if seed in chosen], side.metric)
        for side in (left, right)
    )
    return a - b if a is not None and b is not None else None


def compare_seeds(
    ours: Mapping[str, float], theirs: Mapping[str, float], confidence: float, shift: float = 0.0
) -> Comparison:
    """Mean of `ours` minus that of `theirs`, each by seed, tested two-sided against a difference of `shift`.

    Paired over the seeds that both have, if these are two or more; else Welch's test; against one value without a seed
    ("None": an encoder that is only scored) a one-sample test. One run a side, or values that do not vary: no test.
    """
    shared = [seed for seed in ours if seed in theirs]
    a, b = np.array(list(ours.values())), np.array(list(theirs.values()))
    if len(shared) > 1:
        differences = np.array([ours[seed] - theirs[seed] for seed in shared])
        n, test = f"{len(shared)} seeds", "paired t"
    elif ["None"] in (list(ours), list(theirs)) and max(len(a), len(b)) > 1:
        differences = a - b
        n, test = f"{len(differences)} seeds against one score", "one-sample t"
    else:
        effect, n = float(a.mean() - b.mean()), f"{len(a)} and {len(b)}"
        if min(len(a), len(b)) < 2 or not (np.ptp(a) or np.ptp(b)):
            return Comparison(effect, None, n, "none: too few seeds")
        interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(confidence)
        p = float(stats.ttest_ind(a - shift, b, equal_var=False).pvalue)
        return Comparison(effect, (float(interval.low), float(interval.high)), f"{n} seeds", "Welch", p)
    effect = float(differences.mean())
    if not np.ptp(differences):
        return Comparison(effect, None, n, test)
    p = float(stats.ttest_1samp(differences, shift).pvalue)
    return Comparison(effect, t_interval(differences.tolist(), confidence), n, test, p)


def rank_correlation(points: Sequence[tuple[float, float]], confidence: float) -> Comparison:
    """Spearman's, tested by permutations: all of up to seven points, else 9,999 (the t approximation gives three points
    in order a p of 0, though one order in six is theirs). From five points on with the interval of Pearson's of the
    ranks (Fisher's z)."""
    x, y = (stats.rankdata(axis) for axis in zip(*points, strict=True))
    n = f"{len(points)} points"
    if len(points) < 3 or not np.ptp(x) or not np.ptp(y):
        return Comparison(0.0, None, n, "none: too few points")
    correlation = stats.pearsonr(x, y, method=stats.PermutationMethod(rng=np.random.default_rng(0)))
    interval = correlation.confidence_interval(confidence) if len(points) > 4 else None
    bounds = (float(interval.low), float(interval.high)) if interval else None
    return Comparison(float(correlation.statistic), bounds, n, "Spearman", float(correlation.pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given; NaN stays NaN and counts as no test."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    corrected, least = [math.nan] * len(p_values), 0.0
    for rank, (p, place) in enumerate(tested):
        least = max(least, min(1.0, p * (len(tested) - rank)))
        corrected[place] = least
    return corrected


def mark_ties(table: Table, seed: str, confidence: float) -> None:
    """Mark the best cell of ours in every column of scores, and those that differ from it by noise alone: none has won.

    p corrected by Holm over the column. seed: the config key that tells repetitions apart. A column with one filled row
    has no best.
    """
    for column in table.columns:
        cells = [row[column] for row in table.cells.values() if row[column].values and row[column].metric]
        if len(cells) > 1:
            for cell, p in zip(cells, _p_against_best(cells, seed, confidence), strict=True):
                cell.tied = math.isnan(p) or p >= 1 - confidence


def _p_against_best(cells: list[Cell], seed: str, confidence: float) -> list[float]:
    """Each cell's p against the best of them; NaN of the best itself, and where nothing tells."""
    means = [float(np.mean(cell.values)) for cell in cells]
    metric = cells[0].metric  # a mean of several scores is best where it is most
    lower = isinstance(metric, str) and nature(metric).lower_is_better
    best, *others = sorted(range(len(cells)), key=lambda place: means[place] if lower else -means[place])
    sides = [of_cell(cell, cell.row, seed) for cell in cells]
    p_values = [math.nan] * len(cells)
    for place in others:
        p_values[place] = compare_sides(sides[best], sides[place], confidence).p
    return holm(p_values)
