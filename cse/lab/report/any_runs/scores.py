"""The scores of a comparison: the scores that tables show, the score that ranks settings, and the score that leads.

To read: `pick_scores`.
"""

from collections.abc import Sequence
from fnmatch import fnmatch
from itertools import chain
from typing import NamedTuple

from cse.lab.folder.runs import Run

FEW = 8  # scores; without `metrics=`, up to so many are all shown, and of more the averages


class ScoreNames(NamedTuple):
    """The scores of the runs of a comparison, by name.

    all: every score of any finished run, in the order of the runs' results.
    shown: the scores that tables of text show.
    best_by: the dev score that ranks the settings; None without a dev score, as a test score selects nothing.
    leading: the score of the differences and gates. Tables show it. It is a test score of all runs, else best_by, else
        any score, averages first; None without scores.
    """

    all: list[str]
    shown: list[str]
    best_by: str | None
    leading: str | None

    @property
    def hidden(self) -> list[str]:
        """The scores that only the page and the CSV files show."""
        return [name for name in self.all if name not in self.shown]


def pick_scores(done: Sequence[Run], patterns: Sequence[str]) -> ScoreNames:
    """The scores of finished runs. patterns: of the shown scores (test/sts/*); []: all if they are few, else averages.

    The score that leads, and the score that ranks, are shown too if there are no patterns.
    """
    # a score without a split is not ours, and may have the name of a column of runs.csv
    metrics = list(dict.fromkeys(name for run in done for name in run.metrics if "/" in name))
    asked = list(dict.fromkeys(name for pattern in patterns for name in metrics if fnmatch(name, pattern)))
    ranking = in_order(dev_scores(asked) or dev_scores(metrics), done, patterns)
    selecting = [name for name in ranking if any(run.get("trainer.select") == name for run in done)]
    best_by = next(chain(selecting, averages(ranking), ranking), None)
    candidates = in_order(asked or metrics, done, patterns)
    ranks = [name for name in candidates if name == best_by]
    of_all = [name for name in candidates if all(name in run.metrics for run in done)]
    leading = next(chain(reported(of_all, best_by), ranks, averages(candidates), candidates), None)
    if patterns:
        return ScoreNames(metrics, asked, best_by, leading)
    few = metrics if len(metrics) <= FEW else [*ranks, *averages(metrics)]
    first = [leading] if leading else []
    return ScoreNames(metrics, list(dict.fromkeys([*first, *few])), best_by, leading)


def dev_scores(metrics: Sequence[str]) -> list[str]:
    """The scores on dev data."""
    return [name for name in metrics if name.startswith("dev/")]


def reported(metrics: Sequence[str], best_by: str | None) -> list[str]:
    """The test scores, first the score that a paper would report: an average, else `best_by` on test data.

    A paper reports no score that selected, as it was picked for being high, at its step and among the settings.
    """
    tests = [name for name in metrics if name.startswith("test/")]
    selecting = without_split(best_by or "")
    return [*averages(tests), *(name for name in tests if without_split(name) == selecting), *tests]


def without_split(name: str) -> str:
    """The score's name without its split: stsb/spearman of dev/stsb/spearman."""
    return name.partition("/")[2]


def averages(metrics: Sequence[str]) -> list[str]:
    """The averages among scores."""
    return [name for name in metrics if name.rpartition("/")[2] in ("average", "avg", "mean")]


def in_order(names: Sequence[str], runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """The scores in order: first the score that most runs have.

    Between two scores of equally many runs, it counts how many runs selected by them, then which pattern names them
    first, then their places in a run's results. The order of the runs does not matter.
    """

    def standing(name: str) -> tuple[int, int, int, int, str]:
        places = [list(run.metrics).index(name) for run in runs if name in run.metrics]
        selected = sum(run.get("trainer.select") == name for run in runs)
        asked = next((place for place, pattern in enumerate(patterns) if fnmatch(name, pattern)), len(patterns))
        return -len(places), -selected, asked, min(places), name

    return sorted(names, key=standing)
