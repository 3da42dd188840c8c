"""A table for runs that belong to no paper's table: a row for each setting that differs, a column for each score."""

from fnmatch import fnmatch

from cse.record.runs import Run, Where
from cse.report.cells import Cell
from cse.report.frame import differing, label, short_names
from cse.report.notes import deviations, missing_jobs, retrieved
from cse.report.sides import mark_ties
from cse.report.table import Table


def survey(runs: list[Run], patterns: list[str], seed: str, expected: list[Where], confidence: float) -> list[Table]:
    """One table for each split, mean over seeds. patterns: which metrics (`test/sts/*`); all if it is empty."""
    done = [run for run in runs if run.status == "done"]
    keys = short_names(differing(runs, seed))
    rows: dict[str, list[Run]] = {}
    for run in done:
        rows.setdefault(label(run, keys), []).append(run)
    names = dict.fromkeys(name for run in done for name in run.metrics)
    metrics = [name for name in names if not patterns or any(fnmatch(name, pattern) for pattern in patterns)]
    tables = []
    for split in dict.fromkeys(name.partition("/")[0] for name in metrics):
        columns = {name.partition("/")[2]: name for name in metrics if name.startswith(f"{split}/")}
        table = Table(
            title=f"Scores on {split}",
            split=split,
            columns=list(columns),
            cells={
                row: {column: measured(row, column, name, group) for column, name in columns.items()}
                for row, group in rows.items()
            },
            decimals=2,
            deviations=deviations({}, done),
            absent=missing_jobs(runs, expected),
            notes=retrieved({row: group[-1] for row, group in rows.items()}) if split == "test" else [],
        )
        mark_ties(table, seed, confidence)
        tables.append(table)
    return tables


def measured(row: str, column: str, metric: str, runs: list[Run]) -> Cell:
    """The metric of a row's runs, one value a run."""
    runs = [run for run in runs if metric in run.metrics]
    values = [run.metrics[metric] for run in runs]
    return Cell(row, column, published=None, verdict="", values=values, runs=runs, metric=metric)
