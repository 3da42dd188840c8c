"""Settings beside each other: runs that differ in their seed alone are a setting; what each scored, and which is best.

To read: `compare_runs` makes a `Comparison`, which has a `Setting` for each. Which scores there are, and which one
ranks and leads, is `pick_scores`; a search's best trial was picked for being high, so `count_runs` prefers seeds that
were trained since; `best_first` ranks. The names and the order of folders decide nothing.
"""

import math
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache, cached_property
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cse.lab.folder.runs import Run, described, plain, same
from cse.lab.folder.score_tables import ALTERED
from cse.lab.report.frame import (
    OWN,
    differing,
    format_settings,
    in_label,
    own_choices,
    program_of,
    runs_frame,
    short_names,
    telling_apart,
    typed_words,
    value_in_words,
    words_of_case,
)
from cse.lab.report.groups import Group, first_few, mean_groups
from cse.lab.report.signs import NO_BETTER, format_of
from cse.lab.report.statistics import Value, summary
from cse.lab.report.which_runs import innermost_folder
from cse.lab.run.resume import functions_in
from cse.lab.settings.groups import choices
from cse.lab.settings.words import recorded_words, shell_line, spell_word, value_in, values_of
from cse.lab.sweep.jobs import load_sweep
from cse.lab.sweep.search import Search, searches_in

FEW = 8  # scores; without `metrics=`, up to so many are all shown, and of more the averages
MANY_KEYS = 6  # columns of keys; of more, tables of text have those that tell the settings apart


class Scores(NamedTuple):
    """all: every score of any finished run, in the order of the runs' results; shown: those that tables show.

    best_by: the dev score that ranks the settings; None without one, as a test score selects nothing. leading: the
    score that differences and gates are of: of those that tables show a test score of all runs, else best_by, else any,
    averages first; None without scores.
    """

    all: list[str]
    shown: list[str]
    best_by: str | None
    leading: str | None


class Trial(NamedTuple):
    """A search's first finished run of a setting. number: its place among the search's trials, as they began."""

    run: Run
    search: str
    number: int


@dataclass(eq=False)
class Setting:
    """What runs have in common that differ in their seed alone.

    runs: all of them. counted: the finished ones whose scores count; of a search's setting only the seeds trained
    since, if there are any, as its trial may have been picked for its score. values: of each key that differs, as text,
    by dotted key. label: few of these that tell it apart, as `baseline=` reads them: lr=3e-05, model=bert; all if there
    are no keys. groups: of each score, its counted runs and their value for each seed.
    """

    runs: list[Run]
    trial: Trial | None = None
    counted: list[Run] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    label: str = "all"
    groups: dict[str, Group] = field(default_factory=dict)

    @cached_property
    def scores(self) -> dict[str, Value]:
        """Each score's mean and deviation over seeds."""
        return {score: summary(group.values) for score, group in self.groups.items()}

    @property
    def done(self) -> list[Run]:
        """Its finished runs."""
        return [run for run in self.runs if run.status == "done"]

    @property
    def is_trained_since(self) -> bool:
        """Whether it was a search's trial, and other seeds of it were trained since."""
        return len(self.counted) < len(self.done)

    @property
    def altered(self) -> set[str]:
        """The scores that a run has on altered data."""
        return {name for run in self.runs for name in run.altered}

    @property
    def no_better(self) -> bool:
        """Whether a counted run is no better than its encoder untrained."""
        return any(run.no_better for run in self.counted)


@dataclass(frozen=True)
class Comparison:
    """folders: those that were searched. runs: all, in the order of `frame`, which is runs.csv. seed: the key of seeds.

    keys: {dotted key that differs: its short name}. settings: in the order in which they appear; ranked: the best
    first.
    """

    folders: list[Path]
    runs: list[Run]
    frame: pd.DataFrame
    seed: str
    keys: dict[str, str]
    scores: Scores
    settings: list[Setting]
    ranked: list[Setting]

    @property
    def best(self) -> Setting | None:
        """The best setting; None if no run has a dev score."""
        by = self.scores.best_by
        return self.ranked[0] if by and any(by in setting.scores for setting in self.settings) else None

    @cached_property
    def label_keys(self) -> list[str]:
        """Few keys that tell the settings apart."""
        return telling_apart(pd.DataFrame([setting.values for setting in self.settings], columns=list(self.keys)))

    @property
    def shown_keys(self) -> dict[str, str]:
        """The keys that tables of text show, with their short names: all; of many, those that tell the settings apart,
        and of those that every setting has the first."""
        if len(self.keys) <= MANY_KEYS:
            return self.keys
        others = [key for key in self.keys if key not in self.label_keys]
        of_all = [key for key in others if all(setting.values[key] != "" for setting in self.settings)]
        shown = {*self.label_keys, *of_all[: max(0, MANY_KEYS - len(self.label_keys))]}
        return {key: name for key, name in self.keys.items() if key in shown}

    @cached_property
    def formats(self) -> dict[str, str]:
        """The format of each score and its deviation in every table, as a column has one."""
        known = {
            name: [setting.scores[name] for setting in self.settings if name in setting.scores]
            for name in self.scores.all
        }
        return {name: format_of(score.mean for score in of) for name, of in known.items()}

    @cached_property
    def of_encoders(self) -> bool:
        """Whether all is of cse-eval, and each setting a single checkpoint: these are compared, not seeds."""
        if any(run.get("checkpoint") is None and run.get(self.seed) is not None for run in self.runs):
            return False
        named = [{run.get("checkpoint") for run in setting.runs} - {None} for setting in self.settings]
        return max(map(len, named)) <= 1

    def group_of(self, setting: Setting, score: str) -> Group:
        """A setting as a side of a comparison. A single checkpoint is compared as it is, whatever seed it has."""
        group = setting.groups[score]
        return group.without_seeds() if self.of_encoders else group

    def lower_is_better(self, score: str | None) -> bool:
        """Whether a lower score is better."""
        return described(self.runs, score).lower_is_better


def compare_runs(runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed: str) -> Comparison:
    """Compare runs. patterns: the scores that tables show (test/sts/*); []: all if they are few, else the averages."""
    begun = [run for run in runs if "config" in run.results] or list(runs)  # the others have not said anything yet
    scores = pick_scores([run for run in runs if run.status == "done"], patterns)
    keys = short_names(differing(begun, seed), taken=OWN)
    columns = list(dict.fromkeys([*scores.shown, *scores.all]))
    frame = runs_frame(runs, list(dict.fromkeys([*keys, seed])), columns)
    alike: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        alike.setdefault(tuple(value_in_words(run, key) for key in keys), []).append(run)
    settings = [Setting(of) for of in alike.values()]
    count_runs(settings, seed)
    for setting in settings:
        setting.groups = mean_groups(setting.counted, scores.all, seed)
    ranked = best_first(settings, runs, scores.best_by or scores.leading, list(keys))
    comparison = Comparison(list(folders), list(runs), frame, seed, keys, scores, settings, ranked)
    name_settings(comparison)
    return comparison


def pick_scores(done: Sequence[Run], patterns: Sequence[str]) -> Scores:
    """The scores of finished runs. patterns: those that tables show (test/sts/*); []: all if they are few, else the
    averages, with the score that selects."""
    # a score without a split is not ours, and may have the name of a column of runs.csv
    metrics = list(dict.fromkeys(name for run in done for name in run.metrics if "/" in name))
    asked = list(dict.fromkeys(name for pattern in patterns for name in metrics if fnmatch(name, pattern)))
    ranking = dev_scores(asked) or dev_scores(metrics)
    ranking, shown = in_order(ranking, done, patterns), in_order(asked or metrics, done, patterns)
    selects = [name for name in ranking if any(run.get("trainer.select") == name for run in done)]
    best_by = next(iter(selects or averages(ranking) or ranking), None)
    selecting = [name for name in shown if name == best_by]
    of_all = [name for name in shown if all(name in run.metrics for run in done)]
    leading = next(iter([*reported(of_all, best_by), *selecting, *averages(shown), *shown]), None)
    if patterns:
        return Scores(metrics, asked, best_by, leading)
    few = metrics if len(metrics) <= FEW else [*selecting, *averages(metrics)]
    first = [leading] if leading else []
    return Scores(metrics, list(dict.fromkeys([*first, *few])), best_by, leading)


def dev_scores(metrics: Sequence[str]) -> list[str]:
    """The scores on dev data."""
    return [name for name in metrics if name.startswith("dev/")]


def reported(metrics: Sequence[str], best_by: str | None) -> list[str]:
    """The test scores, first the one that a paper would report: an average, else the one that `best_by` is on dev data.
    A score that selected was picked for being high, at its step and among the settings."""
    tests = [name for name in metrics if name.startswith("test/")]
    return [*averages(tests), *(name for name in tests if name[4:] == str(best_by)[3:]), *tests]


def averages(metrics: Sequence[str]) -> list[str]:
    """The averages among scores."""
    return [name for name in metrics if name.rpartition("/")[2] in ("average", "avg", "mean")]


def in_order(names: Sequence[str], runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """The scores that most runs have first; of these the ones by which more were selected, then those that an earlier
    pattern names, then as they are in a run's results. The order of the runs does not matter."""

    def standing(name: str) -> tuple[int, int, int, int, str]:
        places = [list(run.metrics).index(name) for run in runs if name in run.metrics]
        selected = sum(run.get("trainer.select") == name for run in runs)
        asked = next((place for place, pattern in enumerate(patterns) if fnmatch(name, pattern)), len(patterns))
        return -len(places), -selected, asked, min(places), name

    return sorted(names, key=standing)


def count_runs(settings: Sequence[Setting], seed: str) -> None:
    """Say of each setting which of its finished runs count, and which one is a search's trial.

    The first trial of a setting may have been picked for its score. If other seeds were trained since, it does not
    count, nor do copies of it.
    """
    first: list[tuple[float, Setting, Run]] = []
    for setting in settings:
        if trials := [run for run in setting.done if is_trial(run)]:
            one = min(trials, key=lambda run: run.begun)
            first.append((one.begun, setting, one))
    numbers: dict[str, int] = {}
    for _, setting, run in sorted(first, key=lambda one: one[0]):
        search = search_of(run)
        numbers[search] = numbers.get(search, 0) + 1
        setting.trial = Trial(run, search, numbers[search])
    for setting in settings:
        trial = setting.trial
        since = [run for run in setting.done if trial is None or str(run.get(seed)) != str(trial.run.get(seed))]
        setting.counted = since or setting.done


def is_trial(run: Run) -> bool:
    """Whether the run is of a point that a search beside it asked for, with the search's own settings. Beside a search
    that keeps no points, every run is."""
    if not (run.folder.parent / ".smac").is_dir():
        return False
    searches = searches_in(run.folder.parent)
    return not searches or any(is_of_search(run, search) for search in searches)


def is_of_search(run: Run, search: Search) -> bool:
    """Whether a search asked for the run's point, with the run's other settings."""
    typed_here = values_of(run.words)
    fixed = values_of(recorded_words([f"{key}={value}" for key, value in search.fixed.items()]))
    own = all(typed_here.get(key, value) == value for key, value in fixed.items())
    asked = any(all(is_near(run.get(key), value) for key, value in point.items()) for point in search.points)
    return own and asked and not (fixed and "seed" in typed_here.keys() - fixed.keys())


def is_near(value: object, asked: object) -> bool:
    """Whether a run's value is a point's: a choice as Hydra writes it (True, [a,b]), or a number, of which a word has
    six digits."""
    if isinstance(asked, str):
        return same(value, value_in(asked))
    ours = plain(value)
    return isinstance(ours, float) and math.isclose(ours, float(str(asked)), rel_tol=1e-5)


def search_of(trial: Run) -> str:
    """The search of a trial, as text: those of one folder differ in what their sweep searches each value of."""
    name = values_of(trial.words).get("sweep")
    each = searched_each(name) if name in choices("sweep") else ()
    return repr([str(trial.folder.parent), *map(trial.get, each)])


@cache
def searched_each(sweep: str) -> tuple[str, ...]:
    """The keys of each of whose values a sweep has a search."""
    return tuple(load_sweep(sweep).search_each)


def best_first(settings: Sequence[Setting], runs: Sequence[Run], by: str | None, keys: Sequence[str]) -> list[Setting]:
    """The settings, the best first; of equal ones by what they are. A search's setting that has only its trial comes
    after the best of those of the search whose seeds were trained since. by: the score; None: as they are."""
    if by is None:
        return list(settings)
    sign = 1 if described(runs, by).lower_is_better else -1

    def own(setting: Setting) -> float:
        return (
            float(f"{sign * setting.scores[by].mean:.12g}") if by in setting.scores else math.inf
        )  # rounding is no best

    reached: dict[str, float] = {}  # by the seeds of a search that were trained since
    for setting in settings:
        if setting.trial and setting.is_trained_since:
            search = setting.trial.search
            reached[search] = min(own(setting), reached.get(search, math.inf))

    def place(setting: Setting) -> tuple[float, bool, float, str]:
        is_trial_alone = setting.trial is not None and not setting.is_trained_since
        limit = reached.get(setting.trial.search, -math.inf) if setting.trial and is_trial_alone else -math.inf
        named = repr([plain(setting.runs[0].get(key)) for key in keys])
        return max(own(setting), limit), not setting.is_trained_since, own(setting), named

    return sorted(settings, key=place)


def name_settings(comparison: Comparison) -> None:
    """Put into each setting its values as text, and its label."""
    first = [setting.runs[0] for setting in comparison.settings]
    for key in comparison.keys:
        for setting, text in zip(comparison.settings, format_settings(first, key), strict=True):
            setting.values[key] = text
    for setting in comparison.settings:
        texts = {key: setting.values[key] for key in comparison.label_keys if setting.values[key] != ""}
        words = [f"{comparison.keys[key]}={in_label(setting.runs[0].get(key), text)}" for key, text in texts.items()]
        setting.label = ", ".join(words) or "all"


def marks(setting: Setting, name: str) -> str:
    """The marks of a score on altered data, and of a run that is no better than untrained."""
    altered = f" {ALTERED}" if name in setting.altered else ""
    return f"{altered} {NO_BETTER}" if setting.no_better else altered


def folder_below(run: Run, folders: Iterable[Path]) -> str:
    """A run's folder, below the one of these that was searched."""
    above = innermost_folder(run, folders)
    return str(run.folder.relative_to(above) if run.folder != above else above)


def folders_below(runs: Sequence[Run], folders: Sequence[Path]) -> str:
    """The folder of a setting's run; of several, what their names begin with, else the first few."""
    names = [folder_below(run, folders) for run in runs]
    begun = os.path.commonprefix(names)  # noqa: RUF071 (of characters)
    if len(names) == 1:
        return names[0]
    return f"{begun}*" if begun else first_few(names)


def more_seeds(
    runs: Sequence[Run], key: str, seeds: Sequence[int], folders: Sequence[Path], keys: Collection[str]
) -> str:
    """The command that trains a setting's runs with three more seeds, those of other settings first; "" if it was not
    trained, or was scored by a function. They go beside its own, or into it if it is one of several named folders; of a
    search's trial, into `seeds` beside it.

    key: of seeds; seeds: of all settings; folders: those that were named; keys: in which the settings differ.
    """
    run = runs[-1]
    if program_of(run) != "cse-train" or functions_in(run.config):
        return ""
    begun = {one.get(key) for one in runs}
    lacking = islice((seed for seed in count(min(seeds, default=1)) if seed not in begun), 3)
    given = values_of(run.words)
    # with the words of its case its folder would not have the name that the sweep gives it
    of_case = words_of_case(given.get("sweep", ""), given.get("case", ""))
    repeated = [word for word in typed_words(run, keys) if not word.startswith(f"{key}=") and word not in of_case]
    place = run.folder if len(folders) > 1 and run.folder in folders else run.folder.parent
    place = place / "seeds" if is_trial(run) else place
    words = [*repeated, f"{key}={','.join(map(str, lacking))}", spell_word("hydra.sweep.dir", str(place))]
    return shell_line("cse-train", *own_choices(run), "-m", *words)
