"""The gate (`gate=`), a check for CI: whether a setting is better than others by more than a given margin.

Start at `judge_gate`, which chooses the settings to compare. `compare_with_others` collects all reasons to fail.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.folder.runs import grouped
from cse.lab.report.any_runs.comparison import Comparison, Setting
from cse.lab.report.any_runs.typed_names import setting_named, settings_below, single_setting
from cse.lab.report.formats import bounds, digits_of, first_few, probability, signed
from cse.lab.report.numbers.groups import compare_groups, few_seeds
from cse.lab.report.numbers.statistics import holm, is_significant
from cse.lab.report.numbers.unlike import why_not_comparable


class Gate(NamedTuple):
    """The result of a gate.

    title: whether the gate is passed, in words. first: the setting that should be better. lines: {other setting: the
    line that compares the first setting with the other}.
    """

    is_passed: bool
    title: str
    first: Setting
    lines: dict[Setting, str]

    def line_on(self, setting: Setting, reference: Setting) -> str:
        """Return the line about these two settings; "" if the gate does not compare them."""
        if self.first not in (setting, reference):
            return ""
        return self.lines.get(reference if setting is self.first else setting, "")


def judge_gate(
    comparison: Comparison, least: float, baseline: str | None, named: Sequence[Path], confidence: float
) -> Gate:
    """Test whether the first setting is better than the baseline, or than every other setting, by more than `least`.

    named: if `runs=` has several names, the folders of the first name. The runs in these folders are the first setting.
    If `runs=` has one name, `named` is [], and the first setting is `comparison.best`. A baseline is then required,
    because the best of several settings is always better than another setting.
    """
    score = comparison.scores.leading
    first = first_setting(comparison, least, baseline, named)
    candidates = [setting_named(comparison, baseline)] if baseline else comparison.settings
    if candidates == [first] and not named and len(comparison.settings) > 1:
        title = f"gate={least:g} on {score}: not passed"
        return Gate(False, title, first, {first: f"the best setting is the baseline: {first.label}"})
    others = [setting for setting in candidates if setting is not first]
    if score is None or not others:
        raise UserError(f"gate={least:g} needs two settings with scores: runs=[A,B], or baseline=KEY=VALUE")
    if not all(score in setting.means for setting in (first, *others)):
        raise UserError(f"gate={least:g} compares settings by {score}, but not every setting has this score")
    return compare_with_others(comparison, score, first, others, least=least, confidence=confidence)


def compare_with_others(
    comparison: Comparison, score: str, first: Setting, others: Sequence[Setting], *, least: float, confidence: float
) -> Gate:
    """Return the gate that compares the first setting with each other setting. All settings must have the score."""
    sign = -1 if comparison.lower_is_better(score) else 1
    ours = first.compared[score]
    groups = [setting.compared[score] for setting in others]
    effects = [compare_groups(ours, group, confidence, sign * least) for group in groups]
    sizes = [effect.size or 0.0 for effect in effects]
    digits = digits_of(comparison.formats[score], sizes)
    p_holm = holm([effect.p for effect in effects])
    lines, is_passed = {}, True
    for setting, theirs, effect, size, p in zip(others, groups, effects, sizes, p_holm, strict=True):
        lacking = [seeds_without(score, side, comparison.seed_key) for side in (first, setting)]
        reasons = [
            why_not_comparable(ours, theirs, score),
            "; ".join(filter(None, lacking)),
            few_seeds([ours, theirs]),
            "the difference of the means is not larger than the gate" if sign * size <= least else "",
            "" if is_significant(p, 1 - confidence) else f"p {probability(p) or 'unknown'}",
        ]
        why = next(filter(None, reasons), "")
        is_passed = is_passed and not why
        gain = f"{signed(size, digits)} {bounds(effect.low, effect.high, digits)}".strip()
        result = f"not shown, {why}" if why else f"p {probability(p)}"
        lines[setting] = f"{first.label} against {setting.label}: {gain}, better by {least:g}: {result}"
    return Gate(is_passed, f"gate={least:g} on {score}: {'passed' if is_passed else 'not passed'}", first, lines)


def first_setting(comparison: Comparison, least: float, baseline: str | None, named: Sequence[Path]) -> Setting:
    """Return the setting that should be better. Raises UserError if the arguments do not determine this setting."""
    if named:
        return single_setting(comparison, settings_below(comparison, named), f"runs=[{named[0]},...]")
    if not baseline:
        raise UserError(
            f"gate={least:g}: say which setting should be better: runs=[A,B] tests A, and baseline=KEY=VALUE tests the "
            "best setting"
        )
    if comparison.best is None:
        raise UserError(
            f"gate={least:g}: apart from smoke runs, no run has a dev score to select the best setting: give runs=[A,B]"
        )
    return comparison.best


def seeds_without(score: str, setting: Setting, seed_key: str) -> str:
    """Return a line on a setting's seeds that lack the score (failed, diverged, not done); "" if all have the score.

    A mean over only the other seeds is not the score of the setting.
    """
    seeds = grouped(setting.runs, seed_key)
    lacking = []
    for seed, runs in seeds.items():
        if not any(run.is_done and score in run.metrics for run in runs):
            states = ", ".join(dict.fromkeys(run.state for run in runs))
            lacking.append(f"seed {seed} ({states})")
    if not lacking:
        return ""
    return f"{len(lacking)} of {len(seeds)} seeds of {setting.label} have no {score}: {first_few(lacking)}"
