"""A table for runs that belong to no paper's table: a row for each setting that differs, a column for each score."""

from fnmatch import fnmatch
from typing import Any

from cse.report.runs import Run, Where, varying
from cse.report.table import Cell, Table, deviations, missing_jobs, retrieved


def survey(runs: list[Run], patterns: list[str], seed: str, expected: list[Where]) -> list[Table]:
    """One table for each split, mean over seeds. patterns: which metrics (`test/sts/*`); all where there is none."""
    keys = varying(runs, seed)
    done = [run for run in runs if run.status == "done"]
    names = [n for n in dict.fromkeys(k for run in done for k in run.metrics)
             if not patterns or any(fnmatch(n, p) for p in patterns)]  # fmt: skip
    splits: dict[str, list[str]] = {}
    for name in names:
        splits.setdefault(name.partition("/")[0], []).append(name)
    tables = []
    for split, metrics in splits.items():
        columns = [name.partition("/")[2] for name in metrics]
        table = Table(f"Scores on {split}", split, columns, {}, 2, absent=missing_jobs(runs, expected))
        table.deviations = deviations({}, done)
        groups = _by_setting(done, keys)
        if split == "test":
            table.notes += retrieved({label: group[-1] for label, group in groups.items()})
        for label, group in groups.items():
            table.cells[label] = {}
            for column, metric in zip(columns, metrics, strict=True):
                having = [run for run in group if metric in run.metrics]
                values = [run.metrics[metric] for run in having]
                table.cells[label][column] = Cell(label, column, None, "", values, having)
        tables.append(table)
    return tables


def _by_setting(runs: list[Run], keys: list[str]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(", ".join(f"{key}={_short(run.get(key))}" for key in keys) or "all", []).append(run)
    return groups


def _short(value: Any) -> str:
    return str(value).rpartition("/")[2] if isinstance(value, str) else str(value)
