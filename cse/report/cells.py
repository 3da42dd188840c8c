"""A cell: one number of the paper and ours. Which runs fill it, how they make one number, how two of ours compare."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from cse.record.runs import Run, Where, grouped, same
from cse.report.resampling import compare_items
from cse.report.spec import Metric, Spec, scores_in
from cse.report.statistics import (
    STATISTICS,
    Effect,
    Interval,
    Value,
    bootstrap_interval,
    compare_seeds,
    summary,
    t_interval,
)

QUARTILES = ("q75", "q50")
SEEDS = 3  # on each trained side of a comparison that is judged
MANY = 4  # names in a list; further ones are counted


@dataclass
class Cell:
    """One number of the paper, and ours. seeds: the runs of each seed; values: one for each seed.

    expected: planned jobs; metric: what fills the cell; unscored: finished runs that did not measure it; difference: to
    the printed number; gain: over the baseline's row, in this column; tied: the best of its column, or not told apart
    from it.
    """

    row: str = ""
    column: str = ""
    published: Value | None = None
    verdict: str = ""
    seeds: dict[str, list[Run]] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    expected: int | None = None
    aggregate: str = "mean"
    metric: Metric | None = None
    unscored: int = 0
    tied: bool = False
    difference: float | None = None
    interval: Interval | None = None
    gain: float | None = None
    gain_interval: Interval | None = None
    gain_published: float | None = None
    p_student: float | None = None
    p_welch: float | None = None
    p_published: str = ""

    @property
    def runs(self) -> list[Run]:
        """All its runs, in the order of their folders."""
        return sorted((run for of in self.seeds.values() for run in of), key=lambda run: run.folder)

    @property
    def altered(self) -> bool:
        """Whether one of its runs was scored on incomplete or altered data."""
        return any(not run.altered.isdisjoint(scores_in(self.metric)) for run in self.runs)

    @property
    def ours(self) -> Value | None:
        """Mean, deviation and number of `values`; None if there are none."""
        return summary(self.values.values()) if self.values else None

    @property
    def only_scored(self) -> bool:
        """Whether its encoder was not trained, and so has no seeds."""
        return list(self.values) == ["None"]

    def fill(self, seeds: dict[str, list[Run]], value_of: Callable[[list[Run]], float]) -> None:
        """Give the cell its runs. value_of: makes one value of one seed's runs."""
        self.seeds, self.values = seeds, {seed: value_of(runs) for seed, runs in seeds.items()}


def with_seeds(runs: Iterable[Run], metric: str, seed: str) -> Cell:
    """The runs as one number of a score: each seed's mean. seed: the key of seeds."""
    cell = Cell(metric=metric)
    cell.fill(grouped(runs, seed), lambda group: float(np.mean(scores(group, metric))))
    return cell


def fill_cell(cell: Cell, spec: Spec, runs: list[Run], expected: list[Where]) -> list[str]:
    """Give a cell of the table its runs. Returns a line if some finished runs lack its metric, else none."""
    row, column = spec.rows[cell.row], spec.columns[cell.column]
    where = {**row.where, **column.where}
    finished = finished_runs(where, spec, runs)
    cell.expected = number_of_jobs(where, expected)
    if column.config:
        key = column.config
        cell.aggregate = "best"
        cell.fill(grouped(finished, spec.seed), lambda group: float(best_run(group, spec).get(key)))
        return []
    cell.metric, cell.aggregate = spec.metric_of(cell.row, cell.column), spec.aggregate_of(cell.row, cell.column)
    scored = [run for run in finished if score(run, cell.metric) is not None]

    def value_of(group: list[Run]) -> float:
        if cell.aggregate == "best":
            return scores([best_run(group, spec)], cell.metric)[0]
        return float(STATISTICS[cell.aggregate](scores(group, cell.metric)))

    cell.fill(grouped(scored, spec.seed), value_of)
    cell.unscored = len(finished) - len(scored)
    if not cell.unscored:
        return []
    return [f"{cell.row}, {cell.column}: {cell.unscored} finished run(s) did not measure {cell.metric}"]


def finished_runs(where: Where, spec: Spec, runs: list[Run]) -> list[Run]:
    """The finished runs that match. If some have the sweep's own settings, trials with others are left out."""
    finished = [run for run in runs if run.status == "done" and run.matches(where)]
    return [run for run in finished if not run.departures and run.matches(spec.setting)] or finished


def best_run(runs: list[Run], spec: Spec) -> Run:
    """The run with the highest selection score."""
    return max(runs, key=lambda run: run.metrics.get(spec.select or "", -math.inf))


def number_of_jobs(where: Where, expected: list[Where]) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes cannot tell."""
    if not expected or not set(where) <= set(expected[0]):
        return None
    return sum(all(key in job and same(job[key], value) for key, value in where.items()) for job in expected)


def score(run: Run, metric: Metric | None) -> float | None:
    """A run's metric, or the mean of a list of them; None if one is missing."""
    if isinstance(metric, list):
        parts = [score(run, one) for one in metric]
        return None if None in parts else float(np.mean(parts))  # type: ignore[arg-type]
    return run.metrics.get(metric or "")


def scores(runs: Sequence[Run], metric: Metric | None) -> list[float]:
    """`score` of every run that has it."""
    return [value for run in runs if (value := score(run, metric)) is not None]


def interval_of(cell: Cell, confidence: float) -> Interval | None:
    """The interval of our value: over seeds, or for a quartile of one seed over that seed's runs; a maximum has no
    honest interval."""
    if len(cell.values) > 1:
        return t_interval(list(cell.values.values()), confidence)
    if cell.aggregate in QUARTILES and len(cell.runs) > 1:
        return bootstrap_interval(scores(cell.runs, cell.metric), confidence, STATISTICS[cell.aggregate])
    return None


def compare_with_printed(cell: Cell, confidence: float) -> None:
    """Set how far our mean is from the printed number, where there are both."""
    if cell.ours is None or cell.published is None:
        return
    printed = cell.published.mean
    cell.difference = cell.ours.mean - printed
    if interval := interval_of(cell, confidence):
        cell.interval = interval[0] - printed, interval[1] - printed


def compare_with_baseline(cell: Cell, base: Cell, confidence: float) -> None:
    """Set the gain of our row over our baseline's row, and the printed one.

    Student's test is that of NonLing-CSE's Table 3; Welch's does not assume equal variances. Neither is made where
    nothing varies.
    """
    if cell.published and base.published:
        cell.gain_published = cell.published.mean - base.published.mean
    if not cell.values or not base.values:
        return
    ours, theirs = list(cell.values.values()), list(base.values.values())
    cell.gain = float(np.mean(ours) - np.mean(theirs))
    if min(len(ours), len(theirs)) > 1:
        found = compare_seeds(cell.values, base.values, confidence)
        if found.interval is not None:
            cell.gain_interval, cell.p_welch = found.interval, found.p
            cell.p_student = float(stats.ttest_ind(ours, theirs).pvalue)


def compare(left: Cell, right: Cell, confidence: float, shift: float = 0.0) -> Effect:
    """Left minus right, tested over seeds, or for two encoders that are only scored, which have none, over test items
    if their runs kept them."""
    found = compare_seeds(left.values, right.values, confidence, shift)
    if not (left.only_scored and right.only_scored and left.metric and right.metric):
        return found
    if not left.aggregate == right.aggregate == "mean":
        return found
    over_items = compare_items((left.runs, left.metric), (right.runs, right.metric), confidence, shift)
    return replace(over_items, size=found.size) if over_items else found


def other_setting(runs: Iterable[Run], spec: Spec) -> list[str]:
    """Where the runs' settings differ from their sweep's or from what the paper held fixed."""
    found: dict[str, None] = {}
    for run in runs:
        found |= dict.fromkeys(run.departures)
        found |= {f"{key}={run.get(key)}": None for key, value in spec.setting.items() if not same(run.get(key), value)}
    return list(found)


def few_seeds(sides: Sequence[Cell]) -> str:
    """A line if some trained side has too few seeds for a verdict; "" if all have enough."""
    seeds = [len(cell.values) for cell in sides if not cell.only_scored]
    if not seeds or min(seeds) >= SEEDS:
        return ""
    return f"too few seeds ({' and '.join(map(str, seeds))}): each trained side needs {SEEDS}"


def listed(words: Sequence[str]) -> str:
    """The first few words, and how many more there are."""
    return ", ".join(words[:MANY]) + (f", {len(words) - MANY} more" if len(words) > MANY else "")
