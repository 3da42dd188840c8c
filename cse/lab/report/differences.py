"""How far each setting is from the best one, or from a named one, how surely, and how many seeds would tell.

Tests and ties are those of a sweep's table (cse.lab.report.group.compare), corrected by Holm over the settings that are
compared. Where a setting has the reference's seeds, it is compared with it seed by seed too.

differences.csv has a row for each setting that is compared. p: of one comparison, empty if there are no seeds to test;
p_holm: corrected over all rows; tied: p_holm does not tell them apart, "" with too few seeds for a verdict;
seeds_to_tell: a side, "" if these do; paired_: the test seed by seed; alike: whether the difference is less than
`within`, by alike_p_holm; gate: what it says.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np
import pandas as pd

from cse.errors import UserError
from cse.lab.report.chosen import has, named_settings
from cse.lab.report.comparison import Comparison
from cse.lab.report.group import Group, compare, few_seeds, group_of, listed, seed_spread
from cse.lab.report.markup import TIED, bounds, probability, signed
from cse.lab.report.resampling import OVER_ITEMS
from cse.lab.report.statistics import SeedSpread, compare_pairs, holm, likeness, seeds_for, smallest_difference
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


def differences(
    comparison: Comparison,
    baseline: str | None,
    confidence: float,
    within: float | None = None,
    label: str = "",
    gated: Mapping[frozenset[int], str] | None = None,
) -> tuple[Section | None, str]:
    """Compare each setting with the first, which is the best, or the baseline; None if fewer than two have the score.

    Returns the section, and why the best has not won. label: LaTeX's. gated: what a gate says of two settings. Raises
    UserError for a baseline that names no setting, or several.
    """
    score = comparison.compared_by
    if score is None:
        return None, ""
    reference = int(comparison.scores.index[0]) if baseline is None else setting_named(comparison, baseline)
    ranked = list(comparison.scores[score, "mean"].dropna().index)
    others = [one for one in ranked[:MOST] if one != reference]
    if reference not in ranked or not others:
        return None, ""
    base, *compared = groups = [scored(comparison, one, score) for one in [reference, *others]]
    spread, level = seed_spread(groups) or SeedSpread(0.0, 0), (1 - confidence) / len(others)
    sides = [(not base.only_scored) + (not group.only_scored) for group in compared]  # with seeds
    frame = comparison.values.loc[others].assign(score=score, reference=comparison.label(reference))
    frame = frame.join(tested(base, compared, confidence, within).set_index(frame.index))
    frame["seeds_to_tell"] = [
        "" if p < 1 - confidence else seeds_to_tell(size, spread.sd, level, of)
        for size, p, of in zip(frame["difference"], frame["p_holm"], sides, strict=True)
    ]
    frame["gate"] = [(gated or {}).get(frozenset((one, reference)), "") for one in others]
    notes = list(filter(None, [spread.in_words(level, max(1, *sides))]))
    without, few = without_verdict(base, compared)
    frame.loc[without, ["tied", "alike", "paired_alike"]] = ""
    notes += [f"No verdict: {few}."] * bool(few)
    seeds = base.values.keys()
    unlike = [seeds & group.values.keys() for group in compared if group.values.keys() != seeds]
    if len(most := max(unlike, key=len, default=set())) > 1:
        same = f"where={comparison.seed}={','.join(sorted(most))}"
        notes.append(f"Not paired where the sides have other seeds: {same} compares those that two of them share.")
    if left := len(ranked) - len(groups):
        notes.append(f"{left} further settings, which rank lower, are not compared.")
    by = "" if score == comparison.best_by else f" by {comparison.best_by}"
    best = f"the best{by}, " if reference == comparison.best and baseline is None else ""
    title = f"{score}: difference to {best}{comparison.label(reference)}"
    small = comparison.formats[score] == "z.4f" or frame["difference"].abs().max() < 0.1
    digits = None if comparison.formats[score] == "z.2e" else 4 if small else 2
    text, legend = text_of(frame, comparison.shown_keys, confidence, digits), about_tests(frame, within)
    tied = (frame["tied"] == "True").sum()
    doubt = f"no verdict: {few}" if few else f"not told apart from {tied} of the others" if tied else ""
    section = Section(title, text, notes, legend, words=len(comparison.shown_keys), label=label, frame=frame)
    return section, doubt if best else ""


def tested(base: Group, others: Sequence[Group], confidence: float, within: float | None) -> pd.DataFrame:
    """A line for each of the others, against the base: by Welch's test and seed by seed, for a difference and for
    likeness. Beside each p stands that after Holm's correction over the lines."""
    rows = []
    for group in others:
        tests = {"": partial(compare, group, base), "paired_": partial(compare_pairs, group.values, base.values)}
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


def text_of(frame: pd.DataFrame, keys: Mapping[str, str], confidence: float, digits: int | None) -> pd.DataFrame:
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


def scored(comparison: Comparison, setting: int, score: str) -> Group:
    """The finished runs of a setting that have the score. An encoder that is only scored has no seeds, though the run
    that it is from had one."""
    group = group_of(comparison.settings.at[setting, "counted"], score, comparison.seed)
    if comparison.of_encoders and group.values:
        return group._replace(values={"None": float(np.mean(list(group.values.values())))})
    return group


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


def setting_named(comparison: Comparison, name: str) -> int:
    """The setting that `KEY=VALUE,...` names or else that of the runs at or below this folder.

    Raises UserError if there is none, or several.
    """
    if alike := [one for one in comparison.settings.index if comparison.label(one) == name]:
        return the_one(comparison, alike, f"baseline={name}")
    keys = {name: key for key, name in comparison.keys.items()}
    asked = {keys.get(key, key): values for key, values in named_settings(name).items()} if "=" in name else {}
    runs = comparison.settings["runs"].items() if asked else ()
    found = [one for one, (run, *_) in runs if all(has(run, *setting) for setting in asked.items())]
    return the_one(comparison, found or settings_in(comparison, [Path(name)]), f"baseline={name}")


def in_shell(label: str) -> str:
    """A setting's label as one word of a shell, which `setting_named` reads: in plain quotes where quotes inside it
    may go, as in 'targets=['query']'."""
    return f"'{label}'" if PLAIN.fullmatch(label) else shlex.quote(label)


def settings_in(comparison: Comparison, places: Sequence[Path]) -> list[int]:
    """The settings of the runs at or below these places."""
    there = [place.resolve() for place in places]
    return [
        setting
        for setting, runs in comparison.settings["runs"].items()
        if any(run.folder.resolve().is_relative_to(place) for run in runs for place in there)
    ]


def the_one(comparison: Comparison, found: Sequence[int], named: str) -> int:
    """The only setting that was found. Raises UserError if there is none, or several. named: what named it."""
    if len(found) == 1:
        return found[0]
    known = listed([in_shell(comparison.label(one)) for one in found or comparison.settings.index])
    raise UserError(f"{named} names {len(found)} settings instead of one; type one of these after =: {known}")
