"""gate=N: whether one setting is shown to be better than others by N or more, for a check in CI."""

from collections.abc import Sequence
from pathlib import Path

from cse.errors import UserError
from cse.lab.folder.facts import code_of
from cse.lab.folder.runs import Run, described
from cse.lab.folder.status import DONE, status_of
from cse.lab.report.comparison import Comparison
from cse.lab.report.differences import scored, setting_named, settings_in, the_one
from cse.lab.report.group import compare, few_seeds, listed
from cse.lab.report.markup import bounds, probability, signed
from cse.lab.report.notes import changed_texts, rest_on_other_data
from cse.lab.report.statistics import holm


def gate(
    comparison: Comparison, least: float, baseline: str | None, confidence: float, named: Sequence[Path]
) -> tuple[bool, dict[frozenset[int], str]]:
    """Whether the first setting is better than the baseline, or than every other one, by `least` or more, and a line
    for each pair. named: the places of the first of several folders or globs, whose setting is the first; [] if one was
    named, and the best setting is the first, which needs a baseline: the best is always better than some.

    A difference counts if it is told apart from one of `least`, with the seeds that a verdict needs, all of which have
    the score, on whole data.
    """
    if not (named or baseline):
        raise UserError(f"gate={least:g}: which is to be better? runs=[A,B]: A; baseline=KEY=VALUE: the best of all")
    first = comparison.best
    if named:
        first = the_one(comparison, settings_in(comparison, named), f"runs=[{named[0]},...]")
    score = comparison.compared_by
    if first is None:
        raise UserError(f"gate={least:g}: no dev score says which setting is the best: name it, runs=[A,B]")
    known = [setting_named(comparison, baseline)] if baseline else list(comparison.settings.index)
    others = [one for one in known if one != first]
    if known == [first] and not named and len(comparison.settings) > 1:
        return False, {frozenset(known): f"the best is the baseline itself: {comparison.label(first)}"}
    if score is None or not others:
        raise UserError(f"gate={least:g} needs two settings with scores: runs=[A,B], or baseline=KEY=VALUE")
    sign = -1 if described(comparison.frame["run"], score).lower_is_better else 1
    ours, *against = [scored(comparison, one, score) for one in [first, *others]]
    if not all(group.values for group in (ours, *against)):
        raise UserError(f"gate={least:g}: not every setting has {score}, by which they are compared")
    found = [compare(ours, group, confidence, sign * least) for group in against]
    passed, lines = True, {}
    for one, group, of, p in zip(others, against, found, holm([of.p for of in found]), strict=True):
        assert of.effect is not None
        unlike = "they were scored on different data" if rest_on_other_data([*ours.runs, *group.runs], score) else ""
        altered = "its data are incomplete or altered" if ours.altered or group.altered else ""
        joined = any(len(set(map(code_of, side.runs))) > 1 for side in (ours, group))
        edited = "the runs of a setting are of different code" if joined else ""
        mixed = changed_texts(ours.runs) + changed_texts(group.runs)
        mixed += changed_texts([*ours.runs, *group.runs], settings=True)
        retrained = "they were trained on different data of one name" if mixed else ""
        lost = [label for side in (first, one) if (label := without_score(comparison, side, score))]
        smaller = "" if sign * of.effect > least else "not even these runs' means are"
        unsure = "" if p < 1 - confidence else f"p {probability(p) or 'unknown'}"
        why = (
            unlike or altered or edited or retrained or "; ".join(lost) or few_seeds([ours, group]) or smaller or unsure
        )
        passed &= not why
        gain = f"{signed(of.effect, 2)} {bounds(of.low, of.high, 2)}".strip()
        result = f"not shown, {why}" if why else f"p {probability(p)}"
        names = f"{comparison.label(first)} against {comparison.label(one)}"
        lines[frozenset((first, one))] = f"{names}: {gain}, {least:g} better: {result}"
    return passed, lines


def without_score(comparison: Comparison, setting: int, score: str) -> str:
    """A line for the seeds of a setting that have no such score, as they failed, diverged or are not done: what the
    others score is not what the setting does. "" if all have it."""
    seeds: dict[str, list[Run]] = {}
    for run in comparison.settings.at[setting, "runs"]:
        seeds.setdefault(str(run.get(comparison.seed)), []).append(run)
    lost = {
        seed: ", ".join(dict.fromkeys(status_of(run).state for run in of))
        for seed, of in seeds.items()
        if not any(score in run.metrics for run in of if run.status == DONE)
    }
    named = listed([f"seed {seed} ({state})" for seed, state in lost.items()])
    return f"{len(lost)} of {len(seeds)} seeds of {comparison.label(setting)} have no {score}: {named}" if lost else ""
