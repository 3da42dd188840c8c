"""The scores of a comparison: the shown scores, the score that ranks settings, and the leading score (for tests).

Start at `pick_scores`. Three functions have the rules: `score_that_ranks`, `score_that_leads`, `scores_shown`.
"""

from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from itertools import chain
from typing import NamedTuple

from cse.lab.folder.runs import Run, score_named
from cse.lab.report.formats import score_in_words, suite_of

FEW = 8  # without `metrics=`, tables show all scores if there are at most FEW, else the averages


class ScoreNames(NamedTuple):
    """The names of a comparison's scores.

    all: every score of any finished run, in the order of tables (`by_suite`).
    shown: the scores that text tables (terminal, Markdown, LaTeX) show, in the same order.
    best_by: the dev score that ranks the settings. None without a dev score, because a test score never selects.
    leading: the score for differences and gates; None without scores.
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
    """Return the scores of finished runs. patterns: the scores to show (test/sts/*); if [], `scores_shown` decides."""
    # a name without a split is no score of cse, and may equal the name of a column of runs.csv
    every = list(dict.fromkeys(name for run in done for name in run.metrics if "/" in name))
    asked = list(dict.fromkeys(name for pattern in patterns for name in every if fnmatch(name, pattern)))
    best_by = score_that_ranks(in_order(dev_scores(asked) or dev_scores(every), done, patterns), done)
    leading = score_that_leads(in_order(asked or every, done, patterns), done, best_by)
    shown = by_suite(asked if patterns else scores_shown(every, best_by, leading))
    return ScoreNames(by_suite(dict.fromkeys([*shown, *every])), shown, best_by, leading)


def by_suite(names: Collection[str]) -> list[str]:
    """Return the scores, grouped by split and evaluator. The groups are in the order of their first scores."""
    suites = list(dict.fromkeys(map(suite_of, names)))
    return sorted(names, key=lambda name: suites.index(suite_of(name)))


def score_that_ranks(candidates: Sequence[str], done: Sequence[Run]) -> str | None:
    """Return the first dev score that selected a run's checkpoint, else the first average, else the first dev score."""
    selecting = [name for name in candidates if any(run.get("trainer.select") == name for run in done)]
    return next(chain(selecting, averages(candidates), candidates), None)


def score_that_leads(candidates: Sequence[str], done: Sequence[Run], best_by: str | None) -> str | None:
    """Return the first `reported` score that all runs have, else `best_by`, else the first average, else the first."""
    of_all = [name for name in candidates if all(name in run.metrics for run in done)]
    ranking = [name for name in candidates if name == best_by]
    return next(chain(reported(of_all, best_by), ranking, averages(candidates), candidates), None)


def scores_shown(every: Sequence[str], best_by: str | None, leading: str | None) -> list[str]:
    """Return all scores if they are at most FEW, else the averages and `best_by`. The leading score comes first."""
    shown = every if len(every) <= FEW else [best_by, *averages(every)]
    return [name for name in dict.fromkeys([leading, *shown]) if name is not None]


def dev_scores(metrics: Sequence[str]) -> list[str]:
    """Return the scores on dev data."""
    return [name for name in metrics if name.startswith("dev/")]


def reported(metrics: Sequence[str], best_by: str | None) -> list[str]:
    """Return the test scores. The first is what a paper would report: an average, else `best_by` on test data.

    A paper does not report the dev score that selected the checkpoint: the selection makes this score optimistic.
    """
    tests = [name for name in metrics if name.startswith("test/")]
    selecting = without_split(best_by or "")
    return [*averages(tests), *(name for name in tests if without_split(name) == selecting), *tests]


def selection_in_words(runs: Sequence[Run], scores: Sequence[str], named: str) -> str:
    """Return which of these scores selected checkpoints, for a caption; "" for none. Such a score is optimistic.

    named: the score that the caption names before this text.
    """
    selecting = [score for score in scores if any(run.select == score for run in runs)]
    words = "this score" if selecting == [named] else " and ".join(map(score_in_words, selecting))
    return f"{words} also selected the checkpoint of each run" if selecting else ""


def axis_name(runs: Sequence[Run], name: str) -> str:
    """Return the name of an axis: a score's name in words, with its unit; for the key of a setting, the key.

    If the unit begins with the metric, the metric is left out.
    """
    words, unit = score_in_words(name), score_named(runs, name).unit.replace(" x ", " × ")
    metric, _, place = words.partition(" on ")
    if place and unit.casefold().startswith(metric.casefold()):
        words = place
    return f"{words} ({unit})" if unit else words


def without_split(name: str) -> str:
    """Return the score's name without its split: stsb/spearman for dev/stsb/spearman."""
    return name.partition("/")[2]


def averages(metrics: Sequence[str]) -> list[str]:
    """Return the scores that are averages."""
    return [name for name in metrics if name.rpartition("/")[2] in ("average", "avg", "mean")]


def in_order(names: Sequence[str], runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """Return the scores, sorted: first the score that most runs have.

    If two scores are in equally many runs, the score that selected the checkpoints of more runs comes first. If these
    numbers are also equal, the order of the patterns decides, and then the order in a run's results. The order of the
    runs does not matter.
    """

    def standing(name: str) -> tuple[int, int, int, int, str]:
        places = [list(run.metrics).index(name) for run in runs if name in run.metrics]
        selected = sum(run.get("trainer.select") == name for run in runs)
        asked = next((place for place, pattern in enumerate(patterns) if fnmatch(name, pattern)), len(patterns))
        return -len(places), -selected, asked, min(places), name

    return sorted(names, key=standing)
