"""Gates, for a check in CI: whether one setting is shown to be better than others by so much.

To read: `judge_gate`. `why_not_compared` says why a difference would say nothing of two settings.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.folder.facts import code_in_short
from cse.lab.folder.runs import Run, grouped
from cse.lab.report.any_runs.comparison import Comparison, Setting, setting_named, settings_below, the_one
from cse.lab.report.formats import bounds, digits_of, first_few, probability, signed
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds
from cse.lab.report.numbers.notes import changed_texts
from cse.lab.report.numbers.statistics import holm, is_shown
from cse.lab.settings.values import Config
from cse.score import evaluator_of


class Gate(NamedTuple):
    """Whether a gate is passed, by which score, and what it says of `first` against each other setting."""

    is_passed: bool
    score: str | None
    first: Setting
    lines: dict[Setting, str]

    def line_on(self, setting: Setting, reference: Setting) -> str:
        """What it says of these two settings; "" if it does not compare them."""
        if self.first not in (setting, reference):
            return ""
        return self.lines.get(reference if setting is self.first else setting, "")

    def in_words(self, least: float) -> list[str]:
        """Whether it is passed, and a line for each other setting. least: gate=."""
        verdict = "passed" if self.is_passed else "not passed"
        return [f"gate={least:g}: {verdict}, by {self.score}", *self.lines.values()]


def judge_gate(comparison: Comparison, config: Config, named: Sequence[Path]) -> Gate:
    """Whether the first setting is better than the baseline, or than every other one, by gate= or more.

    named: the places of the first of several folders or globs; their setting is the first. It is [] if one folder was
    named: then the best setting is the first, and needs a baseline, as the best is always better than some. A
    difference counts if it is shown to be more than gate=, with the seeds that a verdict needs. All of these must
    have the score, on whole data.
    """
    least, baseline, confidence = config["gate"], config["baseline"], config["confidence"]
    score = comparison.scores.leading
    first = first_setting(comparison, least, baseline, named)
    candidates = [setting_named(comparison, baseline)] if baseline else comparison.settings
    if candidates == [first] and not named and len(comparison.settings) > 1:
        return Gate(False, score, first, {first: f"the best is the baseline itself: {first.label}"})
    others = [setting for setting in candidates if setting is not first]
    if score is None or not others:
        raise UserError(f"gate={least:g} needs two settings with scores: runs=[A,B], or baseline=KEY=VALUE")
    if not all(score in setting.means for setting in (first, *others)):
        raise UserError(f"gate={least:g}: not every setting has {score}, by which they are compared")

    sign = -1 if comparison.lower_is_better(score) else 1
    ours = comparison.compared_group(first, score)
    groups = [comparison.compared_group(setting, score) for setting in others]
    effects = [compare_groups(ours, group, confidence, sign * least) for group in groups]
    corrected = holm([effect.p for effect in effects])
    digits = digits_of(comparison.formats[score], [effect.size for effect in effects if effect.size is not None])
    lines, is_passed = {}, True
    for setting, effect, p in zip(others, effects, corrected, strict=True):
        assert effect.size is not None
        why = why_not_compared(comparison, score, first, setting)
        if not why and sign * effect.size <= least:
            why = "not even these runs' means are"
        if not why and not is_shown(p, 1 - confidence):
            why = f"p {probability(p) or 'unknown'}"
        is_passed = is_passed and not why
        gain = f"{signed(effect.size, digits)} {bounds(effect.low, effect.high, digits)}".strip()
        result = f"not shown, {why}" if why else f"p {probability(p)}"
        lines[setting] = f"{first.label} against {setting.label}: {gain}, {least:g} better: {result}"
    return Gate(is_passed, score, first, lines)


def first_setting(comparison: Comparison, least: float, baseline: str | None, named: Sequence[Path]) -> Setting:
    """The setting that is to be better. Raises UserError if nothing says which one."""
    if named:
        return the_one(comparison, settings_below(comparison, named), f"runs=[{named[0]},...]")
    if not baseline:
        raise UserError(f"gate={least:g}: which is to be better? runs=[A,B]: A; baseline=KEY=VALUE: the best of all")
    if comparison.best is None:
        raise UserError(f"gate={least:g}: no dev score says which setting is the best: name it, runs=[A,B]")
    return comparison.best


def why_not_compared(comparison: Comparison, score: str, first: Setting, other: Setting) -> str:
    """Why no difference of two settings passes a gate: unlike runs, seeds without the score, or too few seeds."""
    ours, theirs = (comparison.compared_group(setting, score) for setting in (first, other))
    lacking = [without_score(setting, score, comparison.seed) for setting in (first, other)]
    return why_unlike(ours, theirs, score) or "; ".join(filter(None, lacking)) or few_seeds([ours, theirs])


def why_unlike(ours: Group, theirs: Group, score: str) -> str:
    """Why no difference of two groups would say anything of their settings; "" if it would."""
    both = [*ours.runs, *theirs.runs]
    if rest_on_other_data(both, score):
        return "they were scored on different data"
    if ours.modified or theirs.modified:
        return "its data are incomplete or modified"
    if any(len(set(map(code_in_short, side.runs))) > 1 for side in (ours, theirs)):
        return "the runs of a setting are of different code"
    if changed_texts(ours.runs) or changed_texts(theirs.runs) or changed_texts(both, same_file_names_only=True):
        return "they were trained on different data of one name"
    return ""


def rest_on_other_data(runs: list[Run], score: str) -> bool:
    """Whether a score of the runs rests on files of one name with other contents, or on other files altogether."""
    evaluator = evaluator_of(score)
    read = [run.data[evaluator].get("files", {}) if evaluator in run.data else {} for run in runs]
    first, *others = [{name: file.get("sha256") for name, file in files.items()} for files in read]

    def differs(files: dict[str, str | None]) -> bool:
        shared = first.keys() & files.keys()
        if any(first[name] != files[name] for name in shared):
            return True
        if shared and score.startswith("dev/"):  # a run that scored fewer splits has read fewer files
            return False
        ours = {first[name] for name in first.keys() - files.keys()}
        theirs = {files[name] for name in files.keys() - first.keys()}
        return bool(ours and theirs) and ours.isdisjoint(theirs)

    return any(map(differs, others))


def without_score(setting: Setting, score: str, key: str) -> str:
    """A line for the seeds of a setting that have no such score, as they failed, diverged or are not done: what the
    others score is not what the setting does. "" if all have it. key: of seeds."""
    seeds = grouped(setting.runs, key)
    lacking = []
    for seed, runs in seeds.items():
        done = [run for run in runs if run.is_done]
        if not any(score in run.metrics for run in done):
            states = ", ".join(dict.fromkeys(run.state for run in runs))
            lacking.append(f"seed {seed} ({states})")
    if not lacking:
        return ""
    return f"{len(lacking)} of {len(seeds)} seeds of {setting.label} have no {score}: {first_few(lacking)}"
