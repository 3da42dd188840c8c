"""The paper's table beside ours: what is printed, what our runs gave, how far apart, and what may be said of it."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cse.report import statistics
from cse.report.published import Published, Value
from cse.report.runs import Run, Where, same
from cse.report.spec import Metric, Spec, metric_of

SINGLY = 12  # missing jobs that are named one by one
NOT_RUN, PUBLISHED_ONLY, OTHER_SETTING = "NOT RUN", "PUBLISHED ONLY", "OTHER SETTING"

WITHIN_A_SEED: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda scores: float(np.mean(scores)),
    "max": max,
    "q75": lambda scores: float(np.quantile(scores, 0.75)),
    "q50": lambda scores: float(np.quantile(scores, 0.5)),
}

Interval = tuple[float, float]


@dataclass
class Cell:
    """One number of the paper and ours. values: one for each seed. gain: over the baseline's row, in this column."""

    row: str
    column: str
    published: Value | None
    verdict: str = NOT_RUN
    values: list[float] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    expected: int | None = None
    aggregate: str = "mean"
    difference: float | None = None
    interval: Interval | None = None
    gain: float | None = None
    gain_interval: Interval | None = None
    gain_published: float | None = None
    p_student: float | None = None
    p_welch: float | None = None

    @property
    def ours(self) -> statistics.Summary | None:
        return statistics.summary(self.values) if self.values else None


@dataclass
class Table:
    """cells[row][column]; deviations: how runs differ from the paper's setting; absent: what is missing and why."""

    title: str
    split: str
    columns: list[str]
    cells: dict[str, dict[str, Cell]]
    decimals: int | None
    baselines: dict[str, str] = field(default_factory=dict)
    deviations: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def build(
    spec: Spec, published: Published, runs: list[Run], expected: list[Where], confidence: float, kind: str
) -> Table:
    """Fill the published table from runs. expected: every job's axes, as the sweep plans them. kind: t or bootstrap."""
    table = Table(published.title, published.split, published.columns, {}, published.decimals, spec.baselines,
                  notes=list(published.notes))  # fmt: skip
    for row, printed in published.cells.items():
        table.cells[row] = {column: Cell(row, column, printed[column]) for column in published.columns}
        for column, cell in table.cells[row].items():
            if row in spec.rows and column in spec.columns:
                fill(cell, spec, runs, expected, table)
                judge(cell, spec, confidence, kind)
            elif column not in spec.columns and row in spec.rows:
                cell.verdict = ""  # no run measures it, e.g. a number of parameters
            elif row in published.others:
                cell.verdict = PUBLISHED_ONLY
    for row, base in spec.baselines.items():
        for column in published.columns:
            compare(table.cells[row][column], table.cells[base][column], confidence)
    table.absent += missing_jobs(runs, expected)
    done = [run for run in runs if run.status == "done"]
    table.notes += retrieved({row: run for row, line in spec.rows.items() for run in done if run.matches(line.where)})
    if any(
        cell.difference is not None and len(cell.values) == 1 for row in table.cells.values() for cell in row.values()
    ):
        table.notes.append(f"Where one seed is all there is, seeds are taken to vary by sd {spec.seed_sd:g}.")
    table.notes.append(f"PASS: within {spec.tolerance:g}. Intervals: {confidence:.0%}, {kind} over seeds.")
    if any(line.aggregate in ("q75", "q50") for line in spec.rows.values()):
        table.notes.append("A quartile of one seed has a bootstrap interval over that seed's runs; a maximum has none.")
    table.deviations = deviations(
        spec.setting, [r for row in table.cells.values() for c in row.values() for r in c.runs]
    )
    return table


def fill(cell: Cell, spec: Spec, runs: list[Run], expected: list[Where], table: Table) -> None:
    """The cell's runs, and one value for each of their seeds."""
    row, column = spec.rows[cell.row], spec.columns[cell.column]
    where = {**row.where, **column.where}
    cell.aggregate = "best" if column.config else column.aggregate or row.aggregate or spec.aggregate
    planned = [job for job in expected if all(same(job[key], value) for key, value in where.items() if key in job)]
    cell.expected = len(planned) if expected and set(where) <= set(expected[0]) else None
    metric = metric_of(spec, cell.row, cell.column)
    found = as_planned([run for run in runs if run.status == "done" and run.matches(where)], spec)
    cell.runs = [run for run in found if column.config or score(run, metric) is not None]
    if len(cell.runs) < len(found):
        lacking = f"{cell.row}, {cell.column}: {len(found) - len(cell.runs)} finished run(s) did not measure {metric}"
        table.absent.append(lacking)
    by_seed: dict[Any, list[Run]] = {}
    for run in cell.runs:
        by_seed.setdefault(run.get(spec.seed), []).append(run)
    for group in by_seed.values():
        if cell.aggregate == "best":
            best = max(group, key=lambda run: run.metrics.get(spec.select or "", -math.inf))
            value = best.get(column.config) if column.config else score(best, metric)
            cell.values.append(float(value))  # type: ignore[arg-type]
        else:
            cell.values.append(WITHIN_A_SEED[cell.aggregate]([score(run, metric) for run in group]))  # type: ignore[misc]


def score(run: Run, metric: Metric | None) -> float | None:
    """A metric, or the mean of a list of them, in which an inner list counts once; None where one is missing."""
    if isinstance(metric, list):
        parts = [score(run, one) for one in metric]
        return None if None in parts else float(np.mean(parts))  # type: ignore[arg-type]
    return run.metrics.get(metric or "")


def judge(cell: Cell, spec: Spec, confidence: float, kind: str) -> None:
    """The difference from the printed number, its interval, and the verdict."""
    ours, column = cell.ours, spec.columns[cell.column]
    if ours is None or cell.published is None:
        cell.verdict = NOT_RUN if ours is None else ""
        return
    cell.difference = ours.mean - cell.published.mean
    if (interval := interval_of(cell, spec, confidence, kind)) is not None:
        cell.interval = interval[0] - cell.published.mean, interval[1] - cell.published.mean
    if any(run.departures or not run.matches(spec.setting) for run in cell.runs):
        cell.verdict = OTHER_SETTING
    elif column.config:
        cell.verdict = "PASS" if same(ours.mean, cell.published.mean) else "DIFFERS"
    else:
        tolerance = spec.tolerance if column.tolerance is None else column.tolerance
        seed_sd = spec.seed_sd if column.seed_sd is None else column.seed_sd
        cell.verdict = statistics.verdict(ours, cell.published.mean, cell.published.n, tolerance, seed_sd, confidence)


def interval_of(cell: Cell, spec: Spec, confidence: float, kind: str) -> Interval | None:
    """Of our value: over seeds; with one seed, a quartile's over that seed's runs (a maximum's has no honest one)."""
    if len(cell.values) > 1:
        return (statistics.t_interval if kind == "t" else statistics.bootstrap_interval)(cell.values, confidence)
    if cell.aggregate in ("q75", "q50") and len(cell.runs) > 1:
        scores = [score(run, metric_of(spec, cell.row, cell.column)) for run in cell.runs]
        level = {"q75": 0.75, "q50": 0.5}[cell.aggregate]
        return statistics.bootstrap_interval(
            scores,  # type: ignore[arg-type]
            confidence,
            lambda x, axis: np.quantile(x, level, axis=axis),
        )
    return None


def compare(cell: Cell, base: Cell, confidence: float) -> None:
    """Our row against our baseline's row, and the same difference as printed."""
    if cell.published and base.published:
        cell.gain_published = cell.published.mean - base.published.mean
    if not cell.values or not base.values:
        return
    ours, theirs = statistics.summary(cell.values), statistics.summary(base.values)
    cell.gain = ours.mean - theirs.mean
    if ours.n > 1 and theirs.n > 1:
        cell.gain_interval = statistics.welch_interval(cell.values, base.values, confidence)
        cell.p_student, cell.p_welch = statistics.student(ours, theirs), statistics.welch(ours, theirs)


def as_planned(runs: list[Run], spec: Spec) -> list[Run]:
    """The runs of the sweep as it stands, where there are any: trials with other settings never mix with them."""
    return [run for run in runs if not run.departures and run.matches(spec.setting)] or runs


def retrieved(runs: dict[str, Run]) -> list[str]:
    """Model beside model, the nearest captions of each query (NonLing-CSE's Table C.1), where runs kept them."""
    tops = {row: run.results.get("data", {}).get("retrieval", {}).get("top", {}) for row, run in runs.items()}
    queries = dict.fromkeys(query for top in tops.values() for query in top)
    return [
        f"{query}, nearest #{place + 1}: "
        + " | ".join(f"{row}: {top[query][place][1]}" for row, top in tops.items() if len(top.get(query, [])) > place)
        for query in queries
        for place in range(max(len(top.get(query, [])) for top in tops.values()))
    ]


def missing_jobs(runs: list[Run], expected: list[Where]) -> list[str]:
    """A line for each planned job without a finished run (for each value of the first axis, where there are many)."""
    lines, groups = [], Counter[str]()
    runs = [run for run in runs if not run.departures] or runs
    for job in expected:
        states = {run.status for run in runs if run.matches(job)}
        if "done" not in states:
            state = {"failed": "failed", "running": "not finished", "broken": "its results.json is damaged"}
            why = next((state[s] for s in ("running", "failed", "broken") if s in states), "not started")
            said = [f"{key}={shown(value)}" for key, value in job.items()]
            lines.append(f"{', '.join(said)}: {why}")
            groups[f"{said[0]}: {{}} jobs {why}"] += 1
    if len(lines) > SINGLY:
        lines = [group.format(count) for group, count in groups.items()]
    if not expected:
        lines += [f"{run.folder.name}: {run.status}" for run in runs if run.status != "done"]
    return lines


def shown(value: Any) -> str:
    """A value as the command line writes it."""
    return (
        {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def deviations(setting: Where, runs: list[Run]) -> list[str]:
    """How the runs that fill the table differ from what the paper held fixed, and from their sweep."""
    unique = {run.folder: run for run in runs}.values()
    found = {
        f"{key}={shown(run.get(key))} (paper: {shown(wanted)})"
        for run in unique
        for key, wanted in setting.items()
        if not same(run.get(key), wanted)
    }
    told = {line.partition(" ")[0] for line in found}
    more = {override for run in unique for override in run.departures} - told
    return sorted(found) + [f"{override} (not in the sweep)" for override in sorted(more)]
