"""Settings beside each other: runs that differ in their seed alone are a setting; what each scored, and which is best.

To read: `compare_runs` makes a `Comparison`, which has a `Setting` for each group of such runs. `pick_scores` says
which score ranks, and which one leads. `runs_included` says which runs of a search are included. `best_first` ranks.
`setting_named` finds the setting that a user names. The names and the order of folders decide nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from cse.errors import UserError
from cse.lab.folder.runs import Run, score_named
from cse.lab.report.any_runs.score_names import ScoreNames, pick_scores
from cse.lab.report.any_runs.settings_in_words import (
    OWN_COLUMNS,
    format_settings,
    has_value,
    in_shell,
    label_of,
    named_settings,
    short_names,
)
from cse.lab.report.any_runs.trials import Trial, first_trials, runs_included
from cse.lab.report.formats import first_few, format_of
from cse.lab.report.numbers.groups import Group, Measure, group_of, once_each
from cse.lab.report.numbers.keys_that_differ import fewest_keys, keys_that_tell_settings_apart, value_in_words
from cse.lab.report.numbers.statistics import Value, mean_and_sd
from cse.lab.report.show.look import NO_BETTER
from cse.lab.settings.values import in_one_form
from cse.lab.sharing.score_tables import MODIFIED

MANY_KEYS = 6  # columns of keys; of more, tables of text show a few


@dataclass(frozen=True, eq=False)
class Setting:
    """Runs that differ in their seed alone.

    runs: all of them.
    included: the finished ones whose scores the analysis uses (see `runs_included`).
    values: of each key in which settings differ, as text, by dotted key.
    label: few of these, which no other setting has, as `baseline=` reads them (lr=3e-05, model=bert); "all" if
        there are no keys.
    trial: a search's, of this setting.
    groups: of each score, the included runs and their value for each seed.
    """

    runs: list[Run]
    included: list[Run]
    values: dict[str, str]
    label: str
    trial: Trial | None
    groups: dict[str, Group]

    @cached_property
    def done(self) -> list[Run]:
        """The finished runs."""
        return [run for run in self.runs if run.is_done]

    @property
    def expected(self) -> int:
        """How many runs are included once all are finished."""
        return len(self.runs) - len(self.done) + len(self.included)

    @cached_property
    def means(self) -> dict[str, Value]:
        """Each score's mean and deviation over seeds."""
        return {score: mean_and_sd(group.values) for score, group in self.groups.items()}

    @property
    def is_trained_since(self) -> bool:
        """Whether it was a search's trial, and other seeds of it were trained since."""
        return len(self.included) < len(self.done)

    @property
    def modified(self) -> set[str]:
        """The scores that an included run has on modified data."""
        return {name for run in self.included for name in run.modified}

    @property
    def no_better(self) -> bool:
        """Whether an included run is no better than its encoder untrained."""
        return any(run.no_better for run in self.included)


@dataclass(frozen=True)
class Comparison:
    """Settings beside each other.

    folders: those that were searched.
    runs: all, in the order of runs.csv.
    seed: the key of seeds.
    keys: {dotted key in which settings differ: its short name}.
    label_keys: few of them; no two settings have the same values there.
    settings: in the order in which they appear.
    ranked: the best first.
    """

    folders: list[Path]
    runs: list[Run]
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
        formats = {}
        for score in self.scores.all:
            formats[score] = format_of(setting.means[score].mean for setting in self.settings if score in setting.means)
        return formats

    @cached_property
    def of_encoders(self) -> bool:
        """Whether all is of cse-eval, and each setting a single checkpoint: these are compared, not seeds."""
        if any(run.get("checkpoint") is None and run.get(self.seed) is not None for run in self.runs):
            return False
        named = [{run.get("checkpoint") for run in setting.runs} - {None} for setting in self.settings]
        return max(map(len, named)) <= 1

    def compared_group(self, setting: Setting, score: str) -> Group:
        """A setting as a side of a comparison. A single checkpoint is compared as it is, whatever seed it has."""
        group = setting.groups[score]
        return group.without_seeds() if self.of_encoders else group

    def lower_is_better(self, score: str | None) -> bool:
        """Whether a lower score is better."""
        return score_named(self.runs, score).lower_is_better


def compare_runs(runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed: str) -> Comparison:
    """Compare runs. patterns: the scores that tables show (test/sts/*); []: all if they are few, else the averages."""
    begun = [run for run in runs if run.has_results] or list(runs)  # the others have not said anything yet
    scores = pick_scores([run for run in runs if run.is_done], patterns)
    keys = short_names(keys_that_tell_settings_apart(begun, seed), taken=OWN_COLUMNS)
    by_setting = runs_by_setting(runs, list(keys))
    values = values_as_text([alike[0] for alike in by_setting], list(keys))
    label_keys = fewest_keys(values)
    label_names = {key: keys[key] for key in label_keys}
    settings = []
    for alike, texts, trial in zip(by_setting, values.to_dict("records"), first_trials(by_setting), strict=True):
        label = label_of(alike[0], label_names, texts)
        settings.append(setting_of(alike, texts, label, trial, scores=scores.all, seed=seed))
    by = scores.best_by or scores.leading
    lower_is_better = score_named(runs, by).lower_is_better
    ranked = list(settings) if by is None else best_first(settings, by, lower_is_better, list(keys))
    return Comparison(
        folders=list(folders),
        runs=list(runs),
        seed=seed,
        keys=keys,
        label_keys=label_keys,
        scores=scores,
        settings=settings,
        ranked=ranked,
    )


def setting_of(
    runs: list[Run], values: dict[str, str], label: str, trial: Trial | None, *, scores: Sequence[str], seed: str
) -> Setting:
    """The setting of these runs. scores: of any run. seed: the key of seeds."""
    included = runs_included([run for run in runs if run.is_done], trial, seed)
    return Setting(runs, included, values, label, trial, groups_of_scores(included, scores, seed))


def groups_of_scores(runs: Sequence[Run], scores: Sequence[str], seed: str) -> dict[str, Group]:
    """The group of each score that a run has. seed: the key of seeds."""
    once = once_each(runs, seed)
    scored = [score for score in scores if any(score in run.metrics for run in runs)]
    return {score: group_of(runs, once, Measure(score), seed) for score in scored}


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


def setting_named(comparison: Comparison, name: str) -> Setting:
    """The setting that `baseline=KEY=VALUE,...` names. If none has these values, it is that of the runs at or below
    this folder.

    Raises UserError if there is none, or several.
    """
    labelled = [setting for setting in comparison.settings if setting.label == name]
    if labelled:
        return the_one(comparison, labelled, f"baseline={name}")
    having_values: list[Setting] = []
    if "=" in name:
        keys = {short: key for key, short in comparison.keys.items()}
        conditions = [(keys.get(key, key), values) for key, values in named_settings(name).items()]
        having_values = [
            setting
            for setting in comparison.settings
            if all(has_value(setting.runs[0], key, values) for key, values in conditions)
        ]
    return the_one(comparison, having_values or settings_below(comparison, [Path(name)]), f"baseline={name}")


def settings_below(comparison: Comparison, places: Sequence[Path]) -> list[Setting]:
    """The settings of the runs at or below these places."""
    resolved = [place.resolve() for place in places]
    return [
        setting
        for setting in comparison.settings
        if any(run.folder.resolve().is_relative_to(place) for run in setting.runs for place in resolved)
    ]


def the_one(comparison: Comparison, candidates: Sequence[Setting], named: str) -> Setting:
    """The only candidate. Raises UserError if there is none, or several. named: what named it."""
    if len(candidates) == 1:
        return candidates[0]
    labels = first_few([in_shell(setting.label) for setting in candidates or comparison.settings])
    raise UserError(f"{named} names {len(candidates)} settings instead of one; type one of these after =: {labels}")


def marks(setting: Setting, name: str) -> str:
    """The marks of a score on modified data, and of a run that is no better than untrained."""
    modified = f" {MODIFIED}" if name in setting.modified else ""
    return f"{modified} {NO_BETTER}" if setting.no_better else modified
