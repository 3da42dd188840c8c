"""One number of the paper and ours: which runs fill it, what they make, how far apart, and what may be said of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from cse.eval.score import nature
from cse.record.runs import Run, Where, grouped, same
from cse.report import resampling, statistics
from cse.report.published import Value
from cse.report.spec import Metric, Spec, metric_of
from cse.report.statistics import Interval, Intervals

NOT_RUN, PUBLISHED_ONLY, OTHER_SETTING = "NOT RUN", "PUBLISHED ONLY", "OTHER SETTING"

QUARTILES: dict[str, Callable[..., Any]] = {"q75": partial(np.quantile, q=0.75), "q50": partial(np.quantile, q=0.5)}
WITHIN_A_SEED: dict[str, Callable[..., Any]] = {"mean": np.mean, "max": max, **QUARTILES}
"""How the scores of one seed's runs become one value, by the table's `aggregate`."""


@dataclass
class Cell:
    """One number of the paper and ours. values: one for each seed. gain: over the baseline's row, in this column.

    metric: what fills it; unscored: finished runs that did not measure it; tied: not
    told apart from the best of its column, or that.
    """

    row: str
    column: str
    published: Value | None
    verdict: str = NOT_RUN
    values: list[float] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
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
    def ours(self) -> statistics.Summary | None:
        """Mean, deviation and number of `values`; None without any."""
        return statistics.summary(self.values) if self.values else None


def fill(cell: Cell, spec: Spec, runs: list[Run], expected: list[Where]) -> list[str]:
    """Give the cell its runs and one value for each of their seeds. Returns a line if finished runs lack its metric."""
    row, column = spec.rows[cell.row], spec.columns[cell.column]
    where = {**row.where, **column.where}
    metric = metric_of(spec, cell.row, cell.column)
    finished = finished_runs(where, spec, runs)
    cell.expected = number_of_jobs(where, expected)
    cell.runs = [run for run in finished if column.config or score(run, metric) is not None]
    seeds = grouped(cell.runs, spec.seed).values()
    if column.config:
        cell.aggregate = "best"
        cell.values = [float(best_run(group, spec).get(column.config)) for group in seeds]
    else:
        cell.metric, cell.aggregate = metric, column.aggregate or row.aggregate or spec.aggregate
        cell.values = [value_of(group, metric, cell.aggregate, spec) for group in seeds]
    cell.unscored = len(finished) - len(cell.runs)
    line = f"{cell.row}, {cell.column}: {cell.unscored} finished run(s) did not measure {metric}"
    return [line] if cell.unscored else []


def finished_runs(where: Where, spec: Spec, runs: list[Run]) -> list[Run]:
    """The finished runs of a cell. Runs of the sweep as it stands never mix with trials of other settings."""
    finished = [run for run in runs if run.status == "done" and run.matches(where)]
    return [run for run in finished if not run.departures and run.matches(spec.setting)] or finished


def value_of(runs: list[Run], metric: Metric | None, aggregate: str, spec: Spec) -> float:
    """One value of the runs of one seed, all of which have the metric."""
    if aggregate == "best":
        return scores([best_run(runs, spec)], metric)[0]
    return float(WITHIN_A_SEED[aggregate](scores(runs, metric)))


def best_run(runs: list[Run], spec: Spec) -> Run:
    """The run with the highest selection score."""
    return max(runs, key=lambda run: run.metrics.get(spec.select or "", -math.inf))


def number_of_jobs(where: Where, expected: list[Where]) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes do not say."""
    if not expected or not set(where) <= set(expected[0]):
        return None
    return sum(all(key in job and same(job[key], value) for key, value in where.items()) for job in expected)


def score(run: Run, metric: Metric | None) -> float | None:
    """A metric, or the mean of a list of them, in which an inner list counts once; None where one is missing."""
    if isinstance(metric, list):
        parts = [score(run, one) for one in metric]
        return None if None in parts else float(np.mean(parts))  # type: ignore[arg-type]
    return run.metrics.get(metric or "")


def scores(runs: list[Run], metric: Metric | None) -> list[float]:
    """`score` of every run that has it."""
    return [value for run in runs if (value := score(run, metric)) is not None]


def seed_sd_of(column: str, spec: Spec, filled: list[Cell]) -> float | None:
    """How much seeds vary in a column, for cells with one: said by the sweep, else pooled over the column's cells with
    several, else, of STS scores alone, `spec.seed_sd`; None where nothing tells."""
    if spec.columns[column].seed_sd is not None:
        return spec.columns[column].seed_sd
    several = [cell.values for cell in filled if len(cell.values) > 1]
    if several:
        return statistics.pooled_sd(several)
    metrics = {str(metric_of(spec, cell.row, column)) for cell in filled}
    return spec.seed_sd if all(nature(metric).kind == "sts" for metric in metrics) else None


def judge(cell: Cell, spec: Spec, seed_sd: float | None, intervals: Intervals) -> None:
    """The difference from the printed number, its interval, and the verdict. seed_sd: see `seed_sd_of`."""
    ours, column = cell.ours, spec.columns[cell.column]
    if ours is None or cell.published is None:
        cell.verdict = NOT_RUN if ours is None else ""
        return
    if spec.stands_in:  # another quantity: nothing to subtract
        cell.verdict = OTHER_SETTING
        return
    cell.difference = ours.mean - cell.published.mean
    if (interval := interval_of(cell, spec, intervals)) is not None:
        cell.interval = interval[0] - cell.published.mean, interval[1] - cell.published.mean
    if any(run.departures or not run.matches(spec.setting) for run in cell.runs):
        cell.verdict = OTHER_SETTING
    elif column.config:
        cell.verdict = "PASS" if same(ours.mean, cell.published.mean) else "DIFFERS"
    else:
        cell.verdict = statistics.verdict(
            ours,
            published=cell.published.mean,
            published_n=cell.published.n,
            tolerance=spec.tolerance if column.tolerance is None else column.tolerance,
            seed_sd=seed_sd,
            confidence=intervals.confidence,
        )


def interval_of(cell: Cell, spec: Spec, intervals: Intervals) -> Interval | None:
    """Of our value: over seeds. With one seed, that of one run over its test items, where it kept them, and a
    quartile's over that seed's runs; a maximum's has no honest one."""
    if len(cell.values) > 1:
        return intervals.of_mean(cell.values)
    if len(cell.runs) == 1 and cell.metric:
        over_items = resampling.of_run(cell.runs[0], cell.metric)
        return over_items.interval(intervals.confidence) if over_items else None
    if cell.aggregate in QUARTILES and len(cell.runs) > 1:
        values = scores(cell.runs, metric_of(spec, cell.row, cell.column))
        return statistics.bootstrap_interval(values, intervals.confidence, QUARTILES[cell.aggregate])
    return None


def compare_with_baseline(cell: Cell, base: Cell, confidence: float) -> None:
    """Our row against our baseline's row, and the same difference as printed.

    Student's test is that of NonLing-CSE's Table 3; Welch's assumes no equal variances. Neither where nothing varies.
    """
    if cell.published and base.published:
        cell.gain_published = cell.published.mean - base.published.mean
    if not cell.values or not base.values:
        return
    cell.gain = float(np.mean(cell.values) - np.mean(base.values))
    several = len(cell.values) > 1 and len(base.values) > 1
    if several and (np.ptp(cell.values) or np.ptp(base.values)):
        student, welch = (stats.ttest_ind(cell.values, base.values, equal_var=equal) for equal in (True, False))
        interval = welch.confidence_interval(confidence)
        cell.gain_interval = float(interval.low), float(interval.high)
        cell.p_student, cell.p_welch = float(student.pvalue), float(welch.pvalue)
