"""Settings beside each other: runs that differ in their seed alone are a setting; what each scored, and which is best.

To read: `compare_runs` makes a `Comparison`, which has a `Setting` for each group of such runs. `pick_scores` says
which score ranks, and which one leads. `runs_included` says which runs of a search are included. `best_first` ranks.
The names and the order of folders decide nothing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path

import pandas as pd

from cse.lab.folder.runs import Run, score_named
from cse.lab.report.any_runs.frame import OWN, format_settings, in_label, runs_frame, short_names
from cse.lab.report.any_runs.score_names import ScoreNames, pick_scores
from cse.lab.report.any_runs.trials import Trial, first_trials, runs_included
from cse.lab.report.formats import first_few, format_of
from cse.lab.report.numbers.groups import Group, Measure, group_of, once_each
from cse.lab.report.numbers.keys_that_differ import fewest_keys, keys_that_tell_settings_apart, value_in_words
from cse.lab.report.numbers.statistics import Value, mean_and_sd
from cse.lab.report.show.look import NO_BETTER
from cse.lab.settings.values import in_one_form
from cse.lab.sharing.score_tables import ALTERED

MANY_KEYS = 6  # columns of keys; of more, tables of text show a few


@dataclass(frozen=True, eq=False)
class Setting:
    """Runs that differ in their seed alone.

    runs: all of them.
    done: the finished ones.
    included: those whose scores the analysis uses (see `runs_included`).
    values: of each key in which settings differ, as text, by dotted key.
    label: few of these, which no other setting has, as `baseline=` reads them (lr=3e-05, model=bert); "all" if
        there are no keys.
    trial: a search's, of this setting.
    groups: of each score, the included runs and their value for each seed.
    """

    runs: list[Run]
    done: list[Run]
    included: list[Run]
    values: dict[str, str]
    label: str
    trial: Trial | None
    groups: dict[str, Group]

    @cached_property
    def means(self) -> dict[str, Value]:
        """Each score's mean and deviation over seeds."""
        return {score: mean_and_sd(group.values) for score, group in self.groups.items()}

    @property
    def is_trained_since(self) -> bool:
        """Whether it was a search's trial, and other seeds of it were trained since."""
        return len(self.included) < len(self.done)

    @property
    def altered(self) -> set[str]:
        """The scores that a run has on modified data."""
        return {name for run in self.runs for name in run.altered}

    @property
    def no_better(self) -> bool:
        """Whether an included run is no better than its encoder untrained."""
        return any(run.no_better for run in self.included)


@dataclass(frozen=True)
class Comparison:
    """Settings beside each other.

    folders: those that were searched.
    runs: all, in the order of `frame`, which is runs.csv.
    seed: the key of seeds.
    keys: {dotted key in which settings differ: its short name}.
    label_keys: few of them; no two settings have the same values there.
    settings: in the order in which they appear.
    ranked: the best first.
    """

    folders: list[Path]
    runs: list[Run]
    frame: pd.DataFrame
    seed: str
    keys: dict[str, str]
    label_keys: list[str]
    scores: ScoreNames
    settings: list[Setting]
    ranked: list[Setting]

    @property
    def best(self) -> Setting | None:
        """The best setting; None if no run has a dev score."""
        by = self.scores.best_by
        return self.ranked[0] if by and any(by in setting.means for setting in self.settings) else None

    @property
    def shown_keys(self) -> dict[str, str]:
        """The keys that tables of text show, with their short names. Of many keys these are the label_keys, and then
        the first of those that every setting has."""
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
            name: [setting.means[name] for setting in self.settings if name in setting.means]
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
        return score_named(self.runs, score).lower_is_better


def compare_runs(runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed: str) -> Comparison:
    """Compare runs. patterns: the scores that tables show (test/sts/*); []: all if they are few, else the averages."""
    begun = [run for run in runs if run.has_begun] or list(runs)  # the others have not said anything yet
    scores = pick_scores([run for run in runs if run.is_done], patterns)
    keys = short_names(keys_that_tell_settings_apart(begun, seed), taken=OWN)
    columns = list(dict.fromkeys([*scores.shown, *scores.all]))
    frame = runs_frame(runs, list(dict.fromkeys([*keys, seed])), columns)
    by_setting = runs_by_setting(runs, list(keys))
    values = values_as_text([own[0] for own in by_setting], list(keys))
    label_keys = fewest_keys(values)
    labels = [
        label_of(own[0], {key: keys[key] for key in label_keys}, texts)
        for own, texts in zip(by_setting, values.to_dict("records"), strict=True)
    ]
    settings = as_settings(by_setting, values, labels, scores.all, seed)
    by = scores.best_by or scores.leading
    lower_is_better = score_named(runs, by).lower_is_better
    ranked = list(settings) if by is None else best_first(settings, by, lower_is_better, list(keys))
    return Comparison(
        folders=list(folders),
        runs=list(runs),
        frame=frame,
        seed=seed,
        keys=keys,
        label_keys=label_keys,
        scores=scores,
        settings=settings,
        ranked=ranked,
    )


def as_settings(
    by_setting: Sequence[list[Run]], values: pd.DataFrame, labels: Sequence[str], scores: Sequence[str], seed: str
) -> list[Setting]:
    """The settings. by_setting: the runs of each. values, labels: of each. seed: the key of seeds."""
    done = [[run for run in own if run.is_done] for own in by_setting]
    trials = first_trials(done)
    settings = []
    for own, finished, trial, texts, label in zip(
        by_setting, done, trials, values.to_dict("records"), labels, strict=True
    ):
        included = runs_included(finished, trial, seed)
        settings.append(
            Setting(
                runs=own,
                done=finished,
                included=included,
                values=texts,
                label=label,
                trial=trial,
                groups=groups_of_scores(included, scores, seed),
            )
        )
    return settings


def groups_of_scores(runs: Sequence[Run], scores: Sequence[str], seed: str) -> dict[str, Group]:
    """The group of each score that a run has. seed: the key of seeds."""
    once = once_each(runs, seed)
    known = [score for score in scores if any(score in run.metrics for run in runs)]
    return {score: group_of(runs, once, Measure(score), seed) for score in known}


def runs_by_setting(runs: Sequence[Run], keys: Sequence[str]) -> list[list[Run]]:
    """The runs of each setting. keys: in which settings differ."""
    alike: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        alike.setdefault(tuple(value_in_words(run, key) for key in keys), []).append(run)
    return list(alike.values())


def values_as_text(runs: Sequence[Run], keys: Sequence[str]) -> pd.DataFrame:
    """The value of each key as text, a row for each of these runs."""
    return pd.DataFrame({key: format_settings(runs, key) for key in keys}, index=range(len(runs)), dtype=object)


def best_first(settings: Sequence[Setting], by: str, lower_is_better: bool, keys: Sequence[str]) -> list[Setting]:
    """The settings, the best by a score first; of equal ones by what they are.

    A setting of a search that has only its trial comes after the best of the search's settings that have seeds trained
    since: a trial may have been picked for being lucky.
    """
    sign = 1 if lower_is_better else -1
    costs = {setting: math.inf for setting in settings}  # the less, the better; infinite without the score
    for setting in settings:
        if by in setting.means:
            costs[setting] = float(f"{sign * setting.means[by].mean:.12g}")  # without what floats round differently
    best_costs: dict[str, float] = {}  # of each search, by its settings that have seeds trained since
    for setting, cost in costs.items():
        if setting.trial and setting.is_trained_since:
            best_costs[setting.trial.search] = min(cost, best_costs.get(setting.trial.search, math.inf))

    def limited_by_search(setting: Setting) -> float:
        if setting.trial is None or setting.is_trained_since:
            return costs[setting]
        return max(costs[setting], best_costs.get(setting.trial.search, costs[setting]))

    def place(setting: Setting) -> tuple[float, bool, float, str]:
        named = repr([in_one_form(setting.runs[0].get(key)) for key in keys])
        return limited_by_search(setting), not setting.is_trained_since, costs[setting], named

    return sorted(settings, key=place)


def label_of(run: Run, keys: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """A setting by its values: lr=3e-05, model=bert. run: one of its own; keys: {dotted key: its short name}; texts: by
    dotted key, "" where it has none."""
    words = [f"{name}={in_label(run.get(key), texts[key])}" for key, name in keys.items() if texts[key] != ""]
    return ", ".join(words) or "all"


def marks(setting: Setting, name: str) -> str:
    """The marks of a score on modified data, and of a run that is no better than untrained."""
    altered = f" {ALTERED}" if name in setting.altered else ""
    return f"{altered} {NO_BETTER}" if setting.no_better else altered


def innermost_folder(run: Run, folders: Iterable[Path]) -> Path:
    """The innermost of these folders that holds the run."""
    return max((one for one in folders if run.folder.is_relative_to(one)), key=lambda folder: len(folder.parts))


def folder_below(run: Run, folders: Iterable[Path]) -> str:
    """A run's folder, below the one of these that was searched."""
    above = innermost_folder(run, folders)
    return str(run.folder.relative_to(above) if run.folder != above else above)


def folders_below(runs: Sequence[Run], folders: Sequence[Path]) -> str:
    """The folder of a setting's run. Of several runs, it is what the folders' names begin with, else the first few."""
    names = [folder_below(run, folders) for run in runs]
    if len(names) == 1:
        return names[0]
    begun = common_beginning(names)
    return f"{begun}*" if begun else first_few(names)


def common_beginning(names: Sequence[str]) -> str:
    """The letters with which all names begin."""
    first, last = min(names), max(names)  # the two that differ soonest
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
