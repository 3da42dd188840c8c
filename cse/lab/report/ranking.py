"""Which score ranks the settings, in which order, which one leads, and which ones tables show.

The names and the order of folders decide nothing.
"""

from collections.abc import Sequence
from fnmatch import fnmatch
from typing import NamedTuple

import numpy as np
import pandas as pd

from cse.lab.folder.runs import Run

FEW = 8  # scores; without `metrics=`, up to so many are all shown, and of more the averages


class Scores(NamedTuple):
    """all: every score of any finished run; the others are those of cse.lab.report.comparison.Comparison."""

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
    ranking, shown = in_order(ranking, done, patterns), in_order(shown, done, patterns)
    selects = [name for name in ranking if any(run.get("trainer.select") == name for run in done)]
    best_by = next(iter(selects or averages(ranking) or ranking), None)
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


def in_order(names: Sequence[str], runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """The scores that most runs have first; of these the ones by which more were selected, then those that an earlier
    pattern names, then as they are in a run's results. The order of the runs does not matter."""

    def standing(name: str) -> tuple[int, int, int, int, str]:
        places = [list(run.metrics).index(name) for run in runs if name in run.metrics]
        selected = sum(run.get("trainer.select") == name for run in runs)
        asked = next((place for place, pattern in enumerate(patterns) if fnmatch(name, pattern)), len(patterns))
        return -len(places), -selected, asked, min(places), name

    return sorted(names, key=standing)


def ranked(means: pd.Series, frame: pd.DataFrame, named: Sequence[str]) -> pd.Index:
    """The numbers of settings, the best first; of equal ones by what the settings are. A search's setting that has only
    its trial comes after the best of those of the search whose seeds were trained since.

    means: of each setting, the least is the best. frame: of the runs, see counted.py. named: the settings as text.
    """
    own = means.map(lambda mean: float(f"{mean:.12g}"))  # rounding makes no best
    since = frame["left_out"].groupby(frame["setting"]).any()
    search = frame["search"].groupby(frame["setting"]).first()
    reached = search.map(own[since].groupby(search).min()).astype(float).fillna(-np.inf)
    rank = own.where(since | search.isna(), np.maximum(own, reached))
    order = pd.DataFrame({"rank": rank, "trial": ~since, "own": own, "named": named})
    return order.sort_values(list(order)).index


def averages(metrics: Sequence[str]) -> list[str]:
    """The averages among scores."""
    return [name for name in metrics if name.rpartition("/")[2] in ("average", "avg", "mean")]
