"""A table for runs that belong to no paper's table: a row for each setting that differs, a column for each score."""

from fnmatch import fnmatch

from cse.record.runs import Run, Where
from cse.report import ties
from cse.report.cells import Cell
from cse.report.notes import deviations, missing_jobs, retrieved
from cse.report.settings import differing, short_names, shown
from cse.report.table import Table


def survey(runs: list[Run], patterns: list[str], seed: str, expected: list[Where], confidence: float) -> list[Table]:
    """One table for each split, mean over seeds. patterns: which metrics (`test/sts/*`); all if it is empty."""
    done = [run for run in runs if run.status == "done"]
    rows = _by_setting(done, short_names(differing(runs, seed)))
    tables = []
    for split, metrics in _by_split(done, patterns).items():
        tables.append(
            Table(
                title=f"Scores on {split}",
                split=split,
                columns=[name.partition("/")[2] for name in metrics],
                cells={
                    row: {name.partition("/")[2]: _cell(row, name, group) for name in metrics}
                    for row, group in rows.items()
                },
                decimals=2,
                deviations=deviations({}, done),
                absent=missing_jobs(runs, expected),
                notes=retrieved({row: group[-1] for row, group in rows.items()}) if split == "test" else [],
            )
        )
    for table in tables:
        ties.mark(table, seed, confidence)
    return tables


def _by_split(runs: list[Run], patterns: list[str]) -> dict[str, list[str]]:
    """{split: the names of its metrics that fit a pattern}, in the order of the runs' results."""
    splits: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for run in runs for name in run.metrics):
        if not patterns or any(fnmatch(name, pattern) for pattern in patterns):
            splits.setdefault(name.partition("/")[0], []).append(name)
    return splits


def _cell(row: str, metric: str, runs: list[Run]) -> Cell:
    """The metric of a row's runs, one value a run."""
    measured = [run for run in runs if metric in run.metrics]
    values = [run.metrics[metric] for run in measured]
    return Cell(row, metric.partition("/")[2], published=None, verdict="", values=values, runs=measured, metric=metric)


def _by_setting(runs: list[Run], names: dict[str, str]) -> dict[str, list[Run]]:
    """The runs by their settings in short. names: {dotted key that differs: its short name}."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        label = ", ".join(f"{name}={shown(run.get(key))}" for key, name in names.items())
        groups.setdefault(label or "all", []).append(run)
    return groups
