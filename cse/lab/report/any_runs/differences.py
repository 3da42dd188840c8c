"""How far each setting is from the best one, or from a named one, how surely, and how many seeds would tell.

Tests and ties are as in a sweep's table (`compare_groups`). They are corrected by Holm over the settings that are
compared. Where a setting has the reference's seeds, it is compared with it seed by seed too.

To read: `compare_settings` makes the `Differences`, with a `Difference` for each setting. `setting_named` finds the
baseline. cse.lab.report.any_runs.differences_table shows them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cse.lab.report.any_runs.comparison import Comparison, Setting, setting_named
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds, seed_spread
from cse.lab.report.numbers.statistics import (
    Effect,
    SeedSpread,
    compare_pairs,
    holm,
    is_shown,
    likeness,
    seeds_for,
    smallest_difference,
)

MOST = 30  # settings, the best first, that are compared: with more, Holm's correction would leave nothing to see
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Terms:
    """What all differences of a table are judged by.

    within: a difference below it is none; None: that is not asked.
    level: of a single test, over all lines.
    spread: how much seeds vary in all settings.
    """

    confidence: float
    within: float | None
    level: float
    spread: SeedSpread


@dataclass(frozen=True)
class Tested:
    """A difference by one test.

    p_holm: its p, corrected by Holm over the settings. equivalent_p: that it is less than `within`, by two one-sided
    tests; equivalent_p_holm: the same, corrected. equivalent: whether it is, in a word; "" without a verdict.
    """

    effect: Effect
    p_holm: float
    equivalent_p: float
    equivalent_p_holm: float
    equivalent: str


@dataclass(frozen=True)
class Difference:
    """A setting against the reference: a line of the table and of differences.csv.

    no_verdict: why there is none, with too few seeds; "" with enough. tied: p_holm shows no difference; None without a
    verdict.
    """

    setting: Setting
    group: Group
    unpaired: Tested
    paired: Tested
    no_verdict: str
    tied: bool | None
    seeds_to_tell: str

    @property
    def size(self) -> float:
        """The difference of the means."""
        assert self.unpaired.effect.size is not None  # two settings with the score
        return self.unpaired.effect.size


@dataclass(frozen=True)
class Differences:
    """Each setting against a reference, which is the best if no baseline was named (is_best).

    score: of the differences; "" if no run has one. why_none: why there are no lines; "" with lines. lower: how many
    settings rank too low to be compared.
    """

    comparison: Comparison
    score: str
    reference: Setting
    is_best: bool
    why_none: str
    lines: list[Difference]
    lower: int
    terms: Terms

    @property
    def base(self) -> Group:
        """The reference's runs."""
        return self.comparison.compared_group(self.reference, self.score)

    @property
    def why_missing(self) -> str:
        """Why there are no lines, where a reader would look for some: among several settings with scores."""
        return self.why_none if self.score and len(self.comparison.settings) > 1 else ""

    @property
    def no_verdict(self) -> str:
        """Why lines have no verdict; "" if all have one."""
        without = [line.group for line in self.lines if line.no_verdict]
        if not without:
            return ""
        groups = [self.base, *without]
        trained = sorted((group for group in groups if not group.only_scored), key=lambda group: len(group.values))
        few = few_seeds([*trained[:1], *(group for group in groups if group.only_scored)])
        if len(without) == len(self.lines):
            return few
        return f"{few}, in {len(without)} of {len(self.lines)} comparisons"

    @property
    def doubt(self) -> str:
        """Why the best has not won; "" if it has, and if no setting is the best."""
        if self.comparison.best is None:
            return ""
        if self.reference is not self.comparison.best:
            return f"no verdict: it is compared with {self.reference.label} alone"
        if self.why_missing or self.no_verdict:
            return f"no verdict: {self.why_missing or self.no_verdict}"
        tied = [line for line in self.lines if line.tied]
        return f"not significantly better than {len(tied)} of the others" if tied else ""


def compare_settings(
    comparison: Comparison, baseline: str | None, confidence: float, within: float | None = None
) -> Differences:
    """Compare each setting with the baseline; without one, with the first, which is the best.

    Raises UserError for a baseline that names no setting, or several.
    """
    score = comparison.scores.leading or ""
    reference = comparison.ranked[0] if baseline is None else setting_named(comparison, baseline)
    ranked = [setting for setting in comparison.ranked if score in setting.means]
    others = [setting for setting in ranked[:MOST] if setting is not reference]
    is_best = reference is comparison.best and baseline is None
    why_none = why_no_differences(score, reference, others)
    if why_none:
        terms = Terms(confidence, within, 1 - confidence, SeedSpread(0.0, 0))
        return Differences(comparison, score, reference, is_best, why_none, lines=[], lower=0, terms=terms)
    base = comparison.compared_group(reference, score)
    groups = {setting: comparison.compared_group(setting, score) for setting in others}
    spread = seed_spread([base, *groups.values()]) or SeedSpread(0.0, 0)
    terms = Terms(confidence, within, (1 - confidence) / len(others), spread)
    lines, lower = lines_between(base, groups, terms), len(ranked) - len(others) - 1
    return Differences(comparison, score, reference, is_best, why_none, lines, lower, terms)


def why_no_differences(score: str, reference: Setting, others: Sequence[Setting]) -> str:
    """Why nothing is compared with the reference; "" if something is. others: the settings that have the score."""
    if not score:
        return "no finished run has a score"
    if score not in reference.means:
        return f"it has no {score}, by which settings are compared"
    return "" if others else f"no other setting has {score}"


def lines_between(base: Group, groups: Mapping[Setting, Group], terms: Terms) -> list[Difference]:
    """The difference of each setting from the reference, whose runs are `base`. groups: the settings' runs."""
    unpaired = run_tests([partial(compare_groups, group, base) for group in groups.values()], terms)
    paired = run_tests([partial(compare_pairs, group.side, base.side) for group in groups.values()], terms)
    return [
        difference_from(base, setting, group, unpaired=by_means, paired=by_seed, terms=terms)
        for (setting, group), by_means, by_seed in zip(groups.items(), unpaired, paired, strict=True)
    ]


def difference_from(
    base: Group, setting: Setting, group: Group, *, unpaired: Tested, paired: Tested, terms: Terms
) -> Difference:
    """A setting's difference from the reference, whose runs are `base`."""
    no_verdict = few_seeds([base, group])
    is_significant = is_shown(unpaired.p_holm, 1 - terms.confidence)
    needed = ""
    if not is_significant:
        needed = seeds_to_tell(unpaired.effect.size, terms.spread.sd, terms.level, sides_with_seeds(base, group))
    return Difference(
        setting,
        group,
        replace(unpaired, equivalent="") if no_verdict else unpaired,
        replace(paired, equivalent="") if no_verdict else paired,
        no_verdict,
        tied=None if no_verdict or math.isnan(unpaired.p_holm) else not is_significant,
        seeds_to_tell=needed,
    )


def sides_with_seeds(*sides: Group) -> int:
    """How many sides of a comparison have seeds."""
    return sum(not group.only_scored for group in sides)


def run_tests(tests: Sequence[Callable[..., Effect]], terms: Terms) -> list[Tested]:
    """The result of each test, for a difference and for likeness, whose p are corrected by Holm over all of them."""
    effects = [test(terms.confidence) for test in tests]
    p_holm = holm([effect.p for effect in effects])
    equivalent_p = [likeness(partial(test, terms.confidence), terms.within) for test in tests]
    equivalent_p_holm = holm(equivalent_p)
    words = [is_equivalent(effect, p, terms) for effect, p in zip(effects, equivalent_p_holm, strict=True)]
    return list(map(Tested, effects, p_holm, equivalent_p, equivalent_p_holm, words))


def is_equivalent(effect: Effect, p: float, terms: Terms) -> str:
    """Whether a difference is less than `within`: yes; no, as its whole interval is further off; not shown; "" without
    a test. p: that it is, corrected."""
    if terms.within is None or math.isnan(p) or effect.low is None or effect.high is None:
        return ""
    if p < 1 - terms.confidence:
        return "yes"
    return "no" if effect.low > terms.within or effect.high < -terms.within else "not shown"


def seeds_to_tell(difference: float | None, sd: float, level: float, sides: int) -> str:
    """The seeds a side that show such a difference with 80% power; "" if nothing tells how much seeds vary.

    sides: those that have seeds."""
    if not sd or not difference or not sides:
        return ""
    if smallest_difference(sd, MOST_SEEDS, level, sides) > abs(difference):
        return f"more than {MOST_SEEDS:,}"
    return str(seeds_for(abs(difference), sd, level, sides))
