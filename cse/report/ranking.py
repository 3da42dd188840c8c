"""Which score ranks the settings, which one leads, and which ones tables show."""

from collections.abc import Sequence
from fnmatch import fnmatch
from typing import NamedTuple

from cse.record.runs import Run

FEW = 8  # scores; without `metrics=`, up to so many are all shown, and of more the averages


class Scores(NamedTuple):
    """all: every score of any finished run; the others are those of cse.report.comparison.Comparison."""

    all: list[str]
    chosen: list[str]
    best_by: str | None
    compared_by: str | None


def scores_of(done: Sequence[Run], patterns: Sequence[str]) -> Scores:
    """The scores of finished runs. patterns: those that tables show (test/sts/*); []: all if they are few, else the
    averages, with the score that selects."""
    # a score without a split is not ours, and may have the name of a column of runs.csv
    metrics = list(dict.fromkeys(name for run in done for name in run.metrics if "/" in name))
    chosen = list(dict.fromkeys(name for pattern in patterns for name in metrics if fnmatch(name, pattern)))
    dev, chosen_dev = ([name for name in of if name.startswith("dev/")] for of in (metrics, chosen))
    ranking, shown = chosen_dev or dev, chosen or metrics
    selects = dict.fromkeys(str(run.get("trainer.select")) for run in done)
    best_by = next((name for name in [*selects, *averages(ranking), *ranking] if name in ranking), None)
    selecting = [name for name in shown if name == best_by]
    of_all = [name for name in shown if all(name in run.metrics for run in done)]
    compared_by = next(iter([*reported(of_all, best_by), *selecting, *averages(shown), *shown]), None)
    few = metrics if len(metrics) <= FEW else [*selecting, *averages(metrics)]
    leading = list(dict.fromkeys([*filter(None, [compared_by]), *few]))
    return Scores(metrics, chosen if patterns else leading, best_by, compared_by)


def reported(metrics: Sequence[str], best_by: str | None) -> list[str]:
    """The test scores, first the one that a paper would report: an average, else the one that `best_by` is on dev data.
    A score that selected was picked for being high, at its step and among the settings."""
    tests = [name for name in metrics if name.startswith("test/")]
    return [*averages(tests), *(name for name in tests if name[4:] == str(best_by)[3:]), *tests]


def averages(metrics: Sequence[str]) -> list[str]:
    """The averages among scores."""
    return [name for name in metrics if name.rpartition("/")[2] in ("average", "avg", "mean")]
