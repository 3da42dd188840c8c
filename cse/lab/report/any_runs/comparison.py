"""The comparison of runs: runs that differ only in their seed form a `Setting`, and a score ranks the settings.

Start at `compare_runs`, which makes a `Comparison`. `runs_by_setting` groups the runs, `keys_of` picks the keys that
name settings, and `best_first` ranks the settings. The ranking does not depend on the names or order of folders.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cse.lab.folder.runs import Run, score_named
from cse.lab.report.any_runs.names import (
    OWN_COLUMNS,
    format_settings,
    format_short,
    label_of,
    name_of_untrained,
    short_names,
)
from cse.lab.report.any_runs.scores import ScoreNames, pick_scores
from cse.lab.report.any_runs.trials import Trial, first_trials, runs_included
from cse.lab.report.formats import FEW, first_few, format_of
from cse.lab.report.numbers.groups import Group, groups_of_scores
from cse.lab.report.numbers.keys_that_differ import (
    fewest_keys,
    has_several_values,
    keys_of_settings,
    value_in_words,
)
from cse.lab.report.numbers.statistics import Value, mean_and_sd
from cse.lab.report.numbers.unlike import differences_in_number
from cse.lab.settings.arguments import values_of
from cse.lab.settings.groups import is_group
from cse.lab.settings.values import in_one_form
from cse.score import in_short

MANY_KEYS = 6  # text tables have at most this many columns of keys, unless labels need more


class Key(NamedTuple):
    """A key in which settings differ.

    Runs of trainer.lr=1e-5 and trainer.lr=3e-5 have Key(dotted="trainer.lr", short="lr", in_label=True, is_shown=True).

    dotted: the name in commands and CSV files. short: the name in tables for people.
    in_label: whether labels contain the value of this key. Labels have few keys. No two settings have the same label.
    is_shown: whether text tables (terminal, Markdown, LaTeX) show this key. The page and the CSV files have all keys.
    """

    dotted: str
    short: str
    in_label: bool
    is_shown: bool


@dataclass(frozen=True, eq=False)
class Setting:
    """Runs that differ only in their seed.

    runs: all runs of the setting, finished or not.
    included: the finished runs that the analysis includes (see `runs_included`).
    values: {dotted name of a key in which settings differ: the value as in tables}; "" without a value.
    label: the values at few keys: lr=3e-05, model=bert; "all" if there are no keys. No other setting has this label.
        `baseline=` accepts a label.
    trial: a search's trial of this setting; None if no search tried the setting.
    groups: {score of an included run: its group, with a value for each seed}.
    compared: the groups that tests compare: `groups`, or groups without seeds if the comparison is of checkpoints.
    unlike: the differences between the included runs, except the seed (`differences_in_number`).
    planned: the planned jobs that have no run, but have the arguments of a run of the setting, except the seed.
    """

    runs: list[Run]
    included: list[Run]
    values: dict[str, str]
    label: str
    trial: Trial | None
    groups: dict[str, Group]
    compared: dict[str, Group]
    unlike: list[str]
    planned: list[Run]

    @cached_property
    def done(self) -> list[Run]:
        """The finished runs."""
        return [run for run in self.runs if run.is_done]

    @property
    def expected(self) -> int:
        """The number of runs that the analysis will include when all runs and planned jobs are finished."""
        return len(self.runs) - len(self.done) + len(self.included) + len(self.planned)

    @cached_property
    def means(self) -> dict[str, Value]:
        """The mean and the standard deviation of each score over seeds."""
        return {score: mean_and_sd(group.values) for score, group in self.groups.items()}

    @property
    def is_trained_since(self) -> bool:
        """Whether the setting was a search's trial and got further seeds later."""
        return len(self.included) < len(self.done)

    @cached_property
    def modified(self) -> set[str]:
        """The scores that an included run has on modified data."""
        return {name for run in self.included for name in run.modified}

    @cached_property
    def no_better(self) -> bool:
        """Whether an included run is no better than its untrained encoder."""
        return any(run.no_better for run in self.included)

    def untrained(self, score: str) -> float | None:
        """Return the mean score of the untrained encoders of the included runs; None if it is unknown."""
        known = [value for run in self.included if (value := run.before_training.get(score)) is not None]
        return mean_and_sd(known).mean if known else None


@dataclass(frozen=True)
class Comparison:
    """Settings compared with each other.

    folders: the folders that were searched for runs.
    runs: all runs, in the order of runs.csv.
    keys: the keys in which settings differ, in the order of the command line.
    settings: the settings, in the order of their first runs.
    """

    folders: list[Path]
    runs: list[Run]
    seed_key: str
    keys: list[Key]
    scores: ScoreNames
    settings: list[Setting]

    @property
    def is_smoke(self) -> bool:
        """Whether all runs are smoke runs. Their scores mean nothing."""
        return all(run.is_smoke for run in self.runs)

    @cached_property
    def ranked(self) -> list[Setting]:
        """The settings, the best first. The settings of smoke runs stay in the order of their first runs."""
        by = None if self.is_smoke else self.scores.best_by or self.scores.leading
        return best_first(self, by) if by else self.settings

    @property
    def best(self) -> Setting | None:
        """The best setting; None for smoke runs, and if no run has a dev score."""
        by = None if self.is_smoke else self.scores.best_by
        return self.ranked[0] if by and any(by in setting.means for setting in self.settings) else None

    @property
    def shown_keys(self) -> list[Key]:
        """The keys that text tables show."""
        return [key for key in self.keys if key.is_shown]

    @cached_property
    def formats(self) -> dict[str, str]:
        """The number format of each score and of its standard deviation. All tables use this format."""
        formats = {}
        for score in self.scores.all:
            means = [setting.means[score] for setting in self.settings if score in setting.means]
            formats[score] = format_of([mean.mean for mean in means], [mean.sd or 0.0 for mean in means])
        return formats

    def untrained(self, score: str) -> list[tuple[str, float]]:
        """Return (name, score) of each untrained encoder; [] if there are more than FEW, too many lines for a chart."""
        known = [(setting, level) for setting in self.settings if (level := setting.untrained(score)) is not None]
        levels = {in_short(level): (format_short(setting.runs[0].get("model.name")), level) for setting, level in known}
        several = len(levels) > 1
        if len(levels) > FEW:
            return []
        return [(f"untrained {name if several else 'encoder'}", level) for name, level in levels.values()]

    def below_untrained(self) -> str:
        """Return a sentence if no trained setting scores better than its untrained encoder, by `best_by`; else "".

        The sentence has the score before training, and the score of the best trained setting.
        """
        by = self.scores.best_by or ""
        trained = [(setting.means[by].mean, setting.untrained(by)) for setting in self.ranked if by in setting.means]
        known = [(mean, level) for mean, level in trained if level is not None]
        if not known or any(mean < level if self.lower_is_better(by) else mean > level for mean, level in known):
            return ""
        form = self.formats[by]
        levels = first_few(list(dict.fromkeys(f"{level:{form}}" for _, level in known)))
        scores = f"{by}: {levels} untrained, {known[0][0]:{form}} after training"
        return f"No trained setting scores better than the untrained encoder ({scores})."

    def lower_is_better(self, score: str | None) -> bool:
        """Return whether a lower score is better."""
        return score_named(self.runs, score).lower_is_better


def compare_runs(
    runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed_key: str, jobs: Sequence[Run] = ()
) -> Comparison:
    """Return the comparison of runs. patterns: the scores that tables show (test/sts/*); []: `scores_shown` decides.

    jobs: planned jobs without a run. They add no setting, but a label also distinguishes a setting from these jobs.
    """
    begun = [run for run in runs if run.has_results] or list(runs)  # all runs if none has results
    scores = pick_scores([run for run in runs if run.is_done], patterns)
    dotted = without_keys_of_programs(keys_of_settings(begun, seed_key, jobs), begun)
    by_setting = runs_by_setting(runs, dotted)
    named = [job for job in jobs if all(map(job.has, dotted))]
    values = values_as_text([*(alike[0] for alike in by_setting), *named], dotted)
    keys, values = keys_of(values.drop_duplicates()), values.head(len(by_setting))
    in_labels = {key.dotted: key.short for key in keys if key.in_label}
    trials, of_checkpoints = first_trials(by_setting, seed_key), are_of_checkpoints(by_setting, seed_key)
    planned: dict[frozenset[tuple[str, str]], list[Run]] = {}
    for job in jobs:
        if job.arguments:
            planned.setdefault(arguments_but_seed(job, seed_key), []).append(job)
    settings = []
    for alike, texts, trial in zip(by_setting, values.to_dict("records"), trials, strict=True):
        included = runs_included([run for run in alike if run.is_done], trial, seed_key)
        groups = groups_of_scores(included, scores.all, seed_key)
        compared = {score: group.without_seeds() for score, group in groups.items()} if of_checkpoints else groups
        label = label_of(alike[0], in_labels, texts)
        unlike = differences_in_number(included, seed_key, also_settings=True)
        given = {arguments_but_seed(run, seed_key) for run in alike}
        of_jobs = [job for arguments in given for job in planned.get(arguments, ())]
        settings.append(Setting(alike, included, texts, label, trial, groups, compared, unlike, of_jobs))
    return Comparison(list(folders), list(runs), seed_key, keys, scores, settings)


def compare_without_smoke(
    runs: Sequence[Run], folders: Sequence[Path], patterns: Sequence[str], seed_key: str, jobs: Sequence[Run]
) -> list[Comparison]:
    """Return [comparison of real runs, of smoke runs], without empty ones. patterns, jobs: see `compare_runs`."""
    parts = [[[run for run in some if run.is_smoke == smoke] for some in (runs, jobs)] for smoke in (False, True)]
    return [compare_runs(part, folders, patterns, seed_key, planned) for part, planned in parts if part]


def runs_by_setting(runs: Sequence[Run], keys: Sequence[str]) -> list[list[Run]]:
    """Return the runs of each setting. keys: the keys in which settings differ."""
    alike: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        alike.setdefault(tuple(value_in_words(run, key) for key in keys), []).append(run)
    return list(alike.values())


def without_keys_of_programs(keys: Sequence[str], runs: Sequence[Run]) -> list[str]:
    """Return the keys, without the keys that only separate trained runs from encoders without training.

    Such a key (eval, max_steps) has one value in all runs of cse-train and one in all runs of cse-eval. `origin` is
    also left out. A key stays if settings differ in no other key: `origin` and names go first, groups go last.
    """
    by_program = [[run for run in runs if run.program == program] for program in ("cse-train", "cse-eval")]
    are_untrained = all(by_program) and all(map(name_of_untrained, by_program[1]))
    kept = list(keys)

    def rank(key: str) -> tuple[bool, bool, bool]:
        return key not in ("origin", "label"), key.partition(".")[0] != "eval", is_group(key)

    for key in sorted(reversed(keys), key=rank):
        fewer = [other for other in kept if other != key]
        is_redundant = key == "origin" or (are_untrained and not any(has_several_values(of, key) for of in by_program))
        if fewer and is_redundant and len(runs_by_setting(runs, fewer)) == len(runs_by_setting(runs, kept)):
            kept = fewer
    return kept


def arguments_but_seed(run: Run, seed_key: str) -> frozenset[tuple[str, str]]:
    """Return the arguments of a run's command, without the seed and Hydra's arguments, and the run's `origin`."""
    given = {"origin": str(run.get("origin")), **values_of(run.arguments)}
    return frozenset((key, value) for key, value in given.items() if key != seed_key and not key.startswith("hydra"))


def are_of_checkpoints(by_setting: Sequence[Sequence[Run]], seed_key: str) -> bool:
    """Return whether checkpoints are compared, not seeds: each setting is one checkpoint that cse-eval scored."""
    runs = [run for alike in by_setting for run in alike]
    if any(run.get("checkpoint") is None and run.get(seed_key) is not None for run in runs):
        return False
    named = [{run.get("checkpoint") for run in alike} - {None} for alike in by_setting]
    return max(map(len, named), default=0) <= 1


def values_as_text(runs: Sequence[Run], keys: Sequence[str]) -> pd.DataFrame:
    """Return a row for each run: the run's value at each key, as tables show it.

    Beside trained runs, an encoder without training has its name in the column of a key that it lacks.
    """
    values = pd.DataFrame({key: format_settings(runs, key) for key in keys}, index=range(len(runs)), dtype=object)
    if any(run.program == "cse-train" for run in runs):
        for place, run in enumerate(runs):
            name = name_of_untrained(run)
            empty = [key for key in values if not run.has(key) and key != "checkpoint"]
            if name and empty:
                values.loc[place, next(filter(is_group, empty), empty[0])] = name
    return values


def keys_of(values: pd.DataFrame) -> list[Key]:
    """Return the keys in which settings differ. values: a row for each setting and a column for each key.

    If there are more than MANY_KEYS keys, text tables show the keys of labels. If there is space left, these tables
    also show the first keys for which every setting has a value.
    """
    short, in_label = short_names(list(values), taken=OWN_COLUMNS), fewest_keys(values)
    shown = list(values)
    if len(shown) > MANY_KEYS:
        others = values.drop(columns=in_label)
        of_all = [key for key in others if (others[key] != "").all()]
        shown = [*in_label, *of_all[: max(0, MANY_KEYS - len(in_label))]]
    return [Key(key, short[key], key in in_label, key in shown) for key in values]


def best_first(comparison: Comparison, by: str) -> list[Setting]:
    """Return the settings, sorted by a score, the best first. If scores are equal, the values at the keys decide.

    The best trial of a search may be lucky. So if some settings of a search have further seeds, the best of these
    settings comes before all settings of the search that have only their trial.
    """
    lower_is_better = comparison.lower_is_better(by)
    costs = {setting: cost_of(setting, by, lower_is_better) for setting in comparison.settings}
    best_costs: dict[str, float] = {}  # for each search, the least cost of a setting with further seeds
    for setting, cost in costs.items():
        if setting.trial and setting.is_trained_since:
            best_costs[setting.trial.search] = min(cost, best_costs.get(setting.trial.search, math.inf))

    def place(setting: Setting) -> tuple[float, bool, float, str]:
        cost = no_less = costs[setting]
        if setting.trial and not setting.is_trained_since:
            no_less = max(cost, best_costs.get(setting.trial.search, cost))
        named = repr([in_one_form(setting.runs[0].get(key.dotted)) for key in comparison.keys])
        return no_less, not setting.is_trained_since, cost, named

    return sorted(comparison.settings, key=place)


def cost_of(setting: Setting, by: str, lower_is_better: bool) -> float:
    """Return a setting's mean score for sorting: negated if a higher score is better; infinity without the score.

    The mean is rounded to 12 significant digits. So rounding errors of floats do not rank equal settings.
    """
    if by not in setting.means:
        return math.inf
    mean = setting.means[by].mean
    return float(f"{mean if lower_is_better else -mean:.12g}")
