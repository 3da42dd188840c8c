"""How far each setting is from the best one, or from a named one, how surely, and how many seeds would tell; and gates.

Tests and ties are those of a sweep's table (cse.lab.report.groups.compare), corrected by Holm over the settings that
are compared. Where a setting has the reference's seeds, it is compared with it seed by seed too.

differences.csv has a row for each setting that is compared. p: of one comparison, empty if there are no seeds to test;
p_holm: corrected over all rows; tied: p_holm does not tell them apart, "" with too few seeds for a verdict;
seeds_to_tell: a side, "" if these do; paired_: the test seed by seed; alike: whether the difference is less than
`within`, by alike_p_holm; gate: what it says.

To read: `differences` makes the section; `gate` says for a check in CI whether one setting is shown to be better than
others by so much; both name settings by `setting_named` and `settings_in`.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cse.errors import UserError
from cse.lab.folder.facts import code_of
from cse.lab.folder.runs import grouped
from cse.lab.report.compare import Comparison, Setting
from cse.lab.report.groups import OVER_ITEMS, Group, compare, few_seeds, first_few, seed_spread
from cse.lab.report.notes import changed_texts, rest_on_other_data
from cse.lab.report.signs import TIED, bounds, probability, signed
from cse.lab.report.statistics import SeedSpread, compare_pairs, holm, likeness, seeds_for, smallest_difference
from cse.lab.report.which_runs import has, named_settings
from cse.lab.sections import Section

MOST = 30  # settings, the best first, that are compared: with more, Holm's correction would leave nothing to see
MOST_SEEDS = 1000
PLAIN = re.compile(r"[^']*('[\w./:@%+-]*'[^']*)*")
"""A text that a shell reads as one word between quotes, though it has pairs of them inside."""
PAIRED = (
    "paired: t tests of the differences seed by seed, which see more where a seed moves both sides alike, as with "
    "another precision, and seldom for two methods."
)
ALIKE = (
    "alike: whether the difference is less than {:g}; no: its whole interval is further off. In brackets p, by two "
    "one-sided tests, each column corrected by Holm."
)
OF_CHECKPOINTS = f"{OVER_ITEMS}: of these encoders; it does not tell how another seed of their training would score."

Pairs = Mapping[frozenset[Setting], str]
"""What a gate says of two settings."""


def differences_section(
    comparison: Comparison,
    baseline: str | None,
    confidence: float,
    within: float | None = None,
    label: str = "",
    gated: Pairs | None = None,
) -> tuple[Section | None, str]:
    """Compare each setting with the first, which is the best, or the baseline; None if fewer than two have the score.

    Returns the section, and why the best has not won. label: LaTeX's. Raises UserError for a baseline that names no
    setting, or several.
    """
    score = comparison.scores.leading
    if score is None:
        return None, ""
    reference = comparison.ranked[0] if baseline is None else setting_named(comparison, baseline)
    ranked = [setting for setting in comparison.ranked if score in setting.scores]
    others = [setting for setting in ranked[:MOST] if setting is not reference]
    if reference not in ranked or not others:
        return None, ""
    base, *compared = groups = [comparison.group_of(setting, score) for setting in [reference, *others]]
    frame = pd.DataFrame([setting.values for setting in others], columns=list(comparison.keys))
    frame = frame.assign(score=score, reference=reference.label)
    frame = frame.join(test_all(base, compared, confidence, within))
    spread, level = seed_spread(groups) or SeedSpread(0.0, 0), (1 - confidence) / len(others)
    sides = [(not base.only_scored) + (not group.only_scored) for group in compared]  # with seeds
    frame["seeds_to_tell"] = [
        "" if p < 1 - confidence else seeds_to_tell(size, spread.sd, level, of)
        for size, p, of in zip(frame["difference"], frame["p_holm"], sides, strict=True)
    ]
    frame["gate"] = [(gated or {}).get(frozenset((setting, reference)), "") for setting in others]
    without, few = without_verdict(base, compared)
    frame.loc[without, ["tied", "alike", "paired_alike"]] = ""
    notes = [spread.in_words(level, max(1, *sides)), f"No verdict: {few}." if few else ""]
    notes += [not_paired(comparison.seed, base, compared)]
    if left := len(ranked) - len(groups):
        notes.append(f"{left} further settings, which rank lower, are not compared.")
    of_best = reference is comparison.best and baseline is None
    best = "the best, " if score == comparison.scores.best_by else f"the best by {comparison.scores.best_by}, "
    title = f"{score}: difference to {best if of_best else ''}{reference.label}"
    tied = (frame["tied"] == "True").sum()
    doubt = f"no verdict: {few}" if few else f"not told apart from {tied} of the others" if tied else ""
    section = Section(
        title,
        differences_table(
            frame, comparison.shown_keys, confidence, digits_of(comparison.formats[score], frame["difference"])
        ),
        [note for note in notes if note],
        about_tests(frame, within),
        words=len(comparison.shown_keys),
        label=label,
        frame=frame,
    )
    return section, doubt if of_best else ""


def digits_of(form: str, sizes: pd.Series) -> int | None:
    """The decimals of differences of a score that is shown in this format; None: as few as each needs."""
    if form == "z.2e":
        return None
    return 4 if form == "z.4f" or sizes.abs().max() < 0.1 else 2


def not_paired(seed: str, base: Group, others: Sequence[Group]) -> str:
    """A line where sides have other seeds; "" if all have the same. seed: the key of seeds."""
    shared = [base.seeds.keys() & group.seeds.keys() for group in others if group.seeds.keys() != base.seeds.keys()]
    most = max(shared, key=len, default=set())
    if len(most) < 2:
        return ""
    same = f"where={seed}={','.join(sorted(most))}"
    return f"Not paired where the sides have other seeds: {same} compares those that two of them share."


def test_all(base: Group, others: Sequence[Group], confidence: float, within: float | None) -> pd.DataFrame:
    """A line for each of the others, against the base: by Welch's test and seed by seed, for a difference and for
    likeness. Beside each p stands that after Holm's correction over the lines."""
    rows = []
    for group in others:
        tests = {"": partial(compare, group, base), "paired_": partial(compare_pairs, group.scores, base.scores)}
        found = {kind: test(confidence) for kind, test in tests.items()}
        row = {"difference": found[""].effect, "of": found[""].n, "test": found[""].test}
        for kind, one in found.items():
            alike = likeness(partial(tests[kind], confidence), within)
            row |= {f"{kind}low": one.low, f"{kind}high": one.high, f"{kind}p": one.p, f"{kind}p_holm": math.nan}
            row |= {f"{kind}alike_p": alike, f"{kind}alike_p_holm": math.nan}
        rows.append(row)
    frame = pd.DataFrame(rows, dtype=object)
    for kind in ("", "paired_"):
        for p in (f"{kind}p", f"{kind}alike_p"):
            frame[f"{p}_holm"] = holm(frame[p])
        ends = zip(frame[f"{kind}alike_p_holm"], frame[f"{kind}low"], frame[f"{kind}high"], strict=True)
        frame[f"{kind}alike"] = [
            likeness_in_words(p, low, high, within or 0.0, 1 - confidence) for p, low, high in ends
        ]
    frame["tied"] = ["" if math.isnan(p) else str(p >= 1 - confidence) for p in frame["p_holm"]]
    return frame


def about_tests(frame: pd.DataFrame, within: float | None) -> list[str]:
    """What the signs and the p values of a table mean."""
    notes = [f"{TIED}: not told apart from it."] if (frame["tied"] == "True").any() else []
    tests = ", ".join(frame["test"][frame["p_holm"].notna()].unique())
    if (many := frame["p_holm"].count()) > 1:
        notes.append(
            f"p (Holm): by {tests}, corrected by Holm over {many}; p in differences.csv and intervals are not."
        )
    elif many:
        notes.append(f"p: by {tests}.")
    notes += [OF_CHECKPOINTS] if (frame["test"] == OVER_ITEMS).any() else []
    notes += [PAIRED] if frame["paired_p"].notna().any() else []
    return notes + ([ALIKE.format(within)] if frame["alike_p"].notna().any() else [])


def likeness_in_words(p: float, low: float, high: float, within: float, level: float) -> str:
    """Whether two are alike: no if their whole interval is further off, not shown if neither is; "" without a test."""
    if math.isnan(p):
        return ""
    return "yes" if p < level else "no" if low > within or high < -within else "not shown"


def differences_table(
    frame: pd.DataFrame, keys: Mapping[str, str], confidence: float, digits: int | None
) -> pd.DataFrame:
    """A line for each compared setting, as text, without empty columns. keys: {dotted key: its short name}."""
    table = frame[list(keys)].rename(columns=keys)
    table["difference"] = frame["difference"].map(lambda size: signed(size, digits))
    table["difference"] += frame["tied"].map({"True": f" {TIED}"}).fillna("")
    for kind, name, p in (("", "", "p_holm"), ("paired_", "paired ", "paired_p_holm")):
        ends = zip(frame[f"{kind}low"], frame[f"{kind}high"], strict=True)
        table[f"{name}{confidence:.0%} interval"] = [bounds(low, high, digits) for low, high in ends]
        table[f"{name}p (Holm)" if frame[p].count() > 1 else f"{name}p"] = frame[p].map(probability)
        alike = zip(frame[f"{kind}alike"], frame[f"{kind}alike_p_holm"].map(probability), strict=True)
        table[f"{name}alike"] = [f"{word} ({p})".strip() if p else "" for word, p in alike]
    table["of"], table["seeds to tell"] = frame["of"], frame["seeds_to_tell"]
    keep = [*keys.values(), "difference"]
    return table.loc[:, [name for name in table if name in keep or (table[name] != "").any()]]


def without_verdict(base: Group, others: Sequence[Group]) -> tuple[list[bool], str]:
    """Which of the others have, or are compared with, too few seeds for a verdict, and a line that says so."""
    without = [bool(few_seeds([base, group])) for group in others]
    if not any(without):
        return without, ""
    groups = [base, *compress(others, without)]
    trained = sorted((group for group in groups if not group.only_scored), key=lambda group: len(group.values))
    few = few_seeds([*trained[:1], *(group for group in groups if group.only_scored)])
    return without, few if all(without) else f"{few}, in {sum(without)} of {len(without)} comparisons"


def seeds_to_tell(difference: float, sd: float, level: float, sides: int) -> str:
    """The seeds a side that show such a difference with 80% power; "" if nothing tells how much seeds vary.

    sides: those that have seeds."""
    if not sd or not difference or not sides:
        return ""
    if smallest_difference(sd, MOST_SEEDS, level, sides) > abs(difference):
        return f"more than {MOST_SEEDS:,}"
    return str(seeds_for(abs(difference), sd, level, sides))


class Gate(NamedTuple):
    """Whether a gate is passed, by which score, and what it says of each pair of settings."""

    is_passed: bool
    score: str | None
    lines: Pairs


def gate(comparison: Comparison, least: float, baseline: str | None, confidence: float, named: Sequence[Path]) -> Gate:
    """Whether the first setting is better than the baseline, or than every other one, by `least` or more.

    named: the places of the first of several folders or globs, whose setting is the first; [] if one was named, and the
    best setting is the first, which needs a baseline: the best is always better than some. A difference counts if it is
    told apart from one of `least`, with the seeds that a verdict needs, all of which have the score, on whole data.
    """
    if not (named or baseline):
        raise UserError(f"gate={least:g}: which is to be better? runs=[A,B]: A; baseline=KEY=VALUE: the best of all")
    first = comparison.best
    if named:
        first = the_one(comparison, settings_below(comparison, named), f"runs=[{named[0]},...]")
    score = comparison.scores.leading
    if first is None:
        raise UserError(f"gate={least:g}: no dev score says which setting is the best: name it, runs=[A,B]")
    known = [setting_named(comparison, baseline)] if baseline else comparison.settings
    others = [setting for setting in known if setting is not first]
    if known == [first] and not named and len(comparison.settings) > 1:
        return Gate(False, score, {frozenset(known): f"the best is the baseline itself: {first.label}"})
    if score is None or not others:
        raise UserError(f"gate={least:g} needs two settings with scores: runs=[A,B], or baseline=KEY=VALUE")
    if not all(score in setting.scores for setting in (first, *others)):
        raise UserError(f"gate={least:g}: not every setting has {score}, by which they are compared")
    ours, *against = [comparison.group_of(setting, score) for setting in (first, *others)]
    sign = -1 if comparison.lower_is_better(score) else 1
    found = [compare(ours, group, confidence, sign * least) for group in against]
    lines, is_passed = {}, True
    for setting, group, of, p in zip(others, against, found, holm([of.p for of in found]), strict=True):
        assert of.effect is not None
        lost = [without_score(one, score, comparison.seed) for one in (first, setting)]
        why = unlike(ours, group, score) or "; ".join(filter(None, lost)) or few_seeds([ours, group])
        if not why and sign * of.effect <= least:
            why = "not even these runs' means are"
        if not why and not p < 1 - confidence:
            why = f"p {probability(p) or 'unknown'}"
        is_passed = is_passed and not why
        gain = f"{signed(of.effect, 2)} {bounds(of.low, of.high, 2)}".strip()
        result = f"not shown, {why}" if why else f"p {probability(p)}"
        lines[frozenset((first, setting))] = (
            f"{first.label} against {setting.label}: {gain}, {least:g} better: {result}"
        )
    return Gate(is_passed, score, lines)


def unlike(ours: Group, theirs: Group, score: str) -> str:
    """Why no difference of two groups would say anything of their settings; "" if it would."""
    both = [*ours.runs, *theirs.runs]
    if rest_on_other_data(both, score):
        return "they were scored on different data"
    if ours.altered or theirs.altered:
        return "its data are incomplete or altered"
    if any(len(set(map(code_of, side.runs))) > 1 for side in (ours, theirs)):
        return "the runs of a setting are of different code"
    if changed_texts(ours.runs) or changed_texts(theirs.runs) or changed_texts(both, settings=True):
        return "they were trained on different data of one name"
    return ""


def without_score(setting: Setting, score: str, key: str) -> str:
    """A line for the seeds of a setting that have no such score, as they failed, diverged or are not done: what the
    others score is not what the setting does. "" if all have it. key: of seeds."""
    seeds = grouped(setting.runs, key)
    lost = {
        seed: ", ".join(dict.fromkeys(run.state for run in of))
        for seed, of in seeds.items()
        if not any(score in run.metrics for run in of if run.is_done)
    }
    named = first_few([f"seed {seed} ({state})" for seed, state in lost.items()])
    return f"{len(lost)} of {len(seeds)} seeds of {setting.label} have no {score}: {named}" if lost else ""


def setting_named(comparison: Comparison, name: str) -> Setting:
    """The setting that `KEY=VALUE,...` names or else that of the runs at or below this folder.

    Raises UserError if there is none, or several.
    """
    if alike := [setting for setting in comparison.settings if setting.label == name]:
        return the_one(comparison, alike, f"baseline={name}")
    found: list[Setting] = []
    if "=" in name:
        keys = {short: key for key, short in comparison.keys.items()}
        asked = [(keys.get(key, key), values) for key, values in named_settings(name).items()]
        found = [one for one in comparison.settings if all(has(one.runs[0], key, values) for key, values in asked)]
    return the_one(comparison, found or settings_below(comparison, [Path(name)]), f"baseline={name}")


def in_shell(label: str) -> str:
    """A setting's label as one word of a shell, which `setting_named` reads: in plain quotes where quotes inside it
    may go, as in 'targets=['query']'."""
    return f"'{label}'" if PLAIN.fullmatch(label) else shlex.quote(label)


def settings_below(comparison: Comparison, places: Sequence[Path]) -> list[Setting]:
    """The settings of the runs at or below these places."""
    there = [place.resolve() for place in places]
    return [
        setting
        for setting in comparison.settings
        if any(run.folder.resolve().is_relative_to(place) for run in setting.runs for place in there)
    ]


def the_one(comparison: Comparison, found: Sequence[Setting], named: str) -> Setting:
    """The only setting that was found. Raises UserError if there is none, or several. named: what named it."""
    if len(found) == 1:
        return found[0]
    known = first_few([in_shell(setting.label) for setting in found or comparison.settings])
    raise UserError(f"{named} names {len(found)} settings instead of one; type one of these after =: {known}")
