"""The difference of each setting from a reference (the best setting or `baseline=`), and the tests of this difference.

The tests are the same as in a sweep's table (`compare_groups`). A setting without a test (one seed) has no verdict. In
a sweep's table, a row without a test may be tied. The p values are Holm-corrected over the compared settings. A setting
with the same seeds as the reference also gets a paired test. Each difference has the number of seeds that would detect
the difference with 80% power.

Start at `compare_settings`, which makes the `Differences`, with a `Difference` for each setting.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cse.lab.report.any_runs.comparison import Comparison, Setting
from cse.lab.report.any_runs.typed_names import setting_named
from cse.lab.report.formats import probability
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds, seed_spread
from cse.lab.report.numbers.statistics import (
    Effect,
    SeedSpread,
    compare_pairs,
    holm,
    is_significant,
    seeds_for,
    smallest_difference,
    tost_p,
)

MOST = 30  # only this many of the best settings are compared: with more, Holm's correction would leave little power
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Terms:
    """The parameters that all tests of a table of differences share.

    within: the margin of equivalence; None: no test of equivalence.
    level: the significance level of a single test, (1 - confidence) divided by the number of tests.
    spread: the standard deviation over seeds, pooled over the reference and the compared settings.
    """

    confidence: float
    within: float | None
    level: float
    spread: SeedSpread


@dataclass(frozen=True)
class Tested:
    """The result of one test of a difference.

    p_holm: the p of the test, Holm-corrected over the settings. equivalent_p: the p of TOST for a difference below
    `within`. equivalent_p_holm: equivalent_p, Holm-corrected. equivalent: the verdict on equivalence, a word or "".
    """

    effect: Effect
    p_holm: float
    equivalent_p: float
    equivalent_p_holm: float
    equivalent: str


@dataclass(frozen=True)
class Difference:
    """A setting compared with the reference.

    tied: whether the test detects no difference; None without a verdict. seeds_to_tell: the number of seeds on each
    side that would detect the difference; "" if the test detects the difference already, or if the number is unknown.
    """

    setting: Setting
    group: Group
    unpaired: Tested
    paired: Tested
    tied: bool | None
    seeds_to_tell: str

    @property
    def size(self) -> float:
        """The difference of the means."""
        assert self.unpaired.effect.size is not None  # both settings have the score
        return self.unpaired.effect.size


@dataclass(frozen=True)
class Differences:
    """Each setting compared with a reference.

    score: the score that is compared; "" if no run has a score.
    is_best: whether no baseline was given, and the reference is therefore the best setting.
    lines: a difference for each compared setting.
    lower: the number of settings that rank too low to be compared.
    no_verdict: why all or some settings have no verdict; "" if all have a verdict, or if there is only one setting.
    """

    comparison: Comparison
    score: str
    reference: Setting
    is_best: bool
    terms: Terms
    lines: list[Difference]
    lower: int
    no_verdict: str

    @property
    def base(self) -> Group:
        """The group of the reference."""
        return self.reference.compared[self.score]

    @property
    def verdict(self) -> str:
        """Whether the best setting is significantly better than the baseline; without a baseline, than how many others.

        "" without a best setting, and without another setting.
        """
        if self.comparison.best is None:
            return ""
        if self.reference is not self.comparison.best:
            return self.verdict_on_best()
        if self.no_verdict:
            return f"no verdict: {self.no_verdict}"
        if not self.lines:
            return ""
        lower_is_better = self.comparison.lower_is_better(self.score)
        # a dev score ranks settings, so by a test score another setting may even be significantly better
        not_worse = [line for line in self.lines if line.tied is not False or (line.size > 0) != lower_is_better]
        count = len(self.lines) + self.lower
        part = str(len(not_worse or self.lines)) if not_worse or self.lower else "each"
        if len(not_worse) == count:
            part = "either" if count == 2 else "any"
        others = f"{part} of the {count} other settings" if count > 1 else "the other setting"
        return f"{'not ' if not_worse else ''}significantly better than {others}"

    def verdict_on_best(self) -> str:
        """Return the verdict on the best setting against the baseline. The baseline is another setting."""
        line = next((line for line in self.lines if line.setting is self.comparison.best), None)
        if line is None or line.tied is None:
            return f"no verdict: {self.no_verdict}" if self.no_verdict else "no verdict"
        lower_is_better = self.comparison.lower_is_better(self.score)
        result = "not significantly better" if line.tied else "significantly better"
        if not line.tied and (line.size < 0) != lower_is_better:  # a dev score ranks settings, and this is a test score
            result = "significantly worse"
        only = "; it is compared with no other setting" if len(self.comparison.settings) > 2 else ""
        return f"{result} than {self.reference.label} (p {probability(line.unpaired.p_holm)}){only}"


def compare_settings(
    comparison: Comparison, baseline: str | None, confidence: float, within: float | None = None
) -> Differences:
    """Compare the best settings, at most MOST, with the baseline; without a baseline, with the first ranked setting.

    Raises UserError if the baseline names no setting, or several settings.
    """
    score = comparison.scores.leading or ""
    reference = comparison.ranked[0] if baseline is None else setting_named(comparison, baseline)
    is_best = baseline is None and reference is comparison.best
    ranked = [setting for setting in comparison.ranked if score in setting.means]
    others = [setting for setting in ranked[:MOST] if setting is not reference]
    if reference not in ranked or not others:
        terms = Terms(confidence, within, 1 - confidence, SeedSpread(0.0, 0))
        why = why_not_any(comparison, reference)
        return Differences(comparison, score, reference, is_best, terms, lines=[], lower=0, no_verdict=why)
    base = reference.compared[score]
    groups = {setting: setting.compared[score] for setting in others}
    spread = seed_spread([base, *groups.values()]) or SeedSpread(0.0, 0)
    terms = Terms(confidence, within, (1 - confidence) / len(others), spread)
    lines, lower = differences_to(base, groups, terms), len(ranked) - len(others) - 1
    few = why_not_judged(base, list(groups.values()))
    return Differences(comparison, score, reference, is_best, terms, lines, lower, no_verdict=few)


def best_and_tied(comparison: Comparison, score: str, confidence: float) -> list[Setting]:
    """Return the setting with the best mean of a score, and the settings that are not significantly different from it.

    At most MOST settings are compared. Return [] for a single setting, and if the best has too few seeds for a verdict.
    """
    by_score = replace(comparison, scores=comparison.scores._replace(best_by=score, leading=score))
    found = compare_settings(by_score, None, confidence)
    if not found.lines or few_seeds([found.base]):
        return []
    return [found.reference, *(line.setting for line in found.lines if line.tied)]


def why_not_any(comparison: Comparison, reference: Setting) -> str:
    """Return why no setting is compared with the reference; "" if there is only one setting, or no score."""
    score = comparison.scores.leading
    if score is None or len(comparison.settings) == 1:
        return ""
    if score not in reference.means:
        return f"it has no {score}, by which settings are compared"
    return f"no other setting has {score}"


def why_not_judged(base: Group, others: Sequence[Group]) -> str:
    """Return a text with the numbers of seeds that are too few for a verdict; "" if all settings have enough seeds."""
    unjudged = [group for group in others if few_seeds([base, group])]
    if not unjudged:
        return ""
    sides = [base, *unjudged]
    trained = sorted((group for group in sides if not group.only_scored), key=lambda group: len(group.values))
    few = few_seeds([*trained[:1], *(group for group in sides if group.only_scored)])
    return few if len(unjudged) == len(others) else f"{few}, in {len(unjudged)} of {len(others)} comparisons"


def differences_to(base: Group, groups: Mapping[Setting, Group], terms: Terms) -> list[Difference]:
    """Return the difference of each setting from the reference. base: the group of the reference."""
    unpaired = run_tests([partial(compare_groups, group, base) for group in groups.values()], terms)
    paired = run_tests([partial(compare_pairs, group.side, base.side) for group in groups.values()], terms)
    lines = []
    for (setting, group), by_means, by_seed in zip(groups.items(), unpaired, paired, strict=True):
        is_judged = not few_seeds([base, group])
        is_detected = is_significant(by_means.p_holm, 1 - terms.confidence)
        needed = "" if is_detected else seeds_to_tell(by_means.effect.size, terms, sides_with_seeds(base, group))
        lines.append(
            Difference(
                setting,
                group,
                by_means if is_judged else replace(by_means, equivalent=""),
                by_seed if is_judged else replace(by_seed, equivalent=""),
                tied=not is_detected if is_judged and by_means.effect.is_tested else None,
                seeds_to_tell=needed,
            )
        )
    return lines


def sides_with_seeds(*sides: Group) -> int:
    """Return how many sides of a comparison have seeds."""
    return sum(not group.only_scored for group in sides)


def run_tests(tests: Sequence[Callable[..., Effect]], terms: Terms) -> list[Tested]:
    """Return the result of each test, for a difference and for equivalence. Holm's correction is over all tests."""
    effects = [test(terms.confidence) for test in tests]
    p_holm = holm([effect.p for effect in effects])
    equivalent_p = [tost_p(partial(test, terms.confidence), terms.within) for test in tests]
    equivalent_p_holm = holm(equivalent_p)
    words = [equivalence_in_word(effect, p, terms) for effect, p in zip(effects, equivalent_p_holm, strict=True)]
    return list(map(Tested, effects, p_holm, equivalent_p, equivalent_p_holm, words))


def equivalence_in_word(effect: Effect, p: float, terms: Terms) -> str:
    """Return in words whether a difference is less than `within`: "yes", "no" or "not shown"; "" without a test.

    "no" means that the whole interval lies beyond the margin. p: the Holm-corrected p of equivalence.
    """
    if terms.within is None or math.isnan(p) or effect.low is None or effect.high is None:
        return ""
    if p < 1 - terms.confidence:
        return "yes"
    return "no" if effect.low > terms.within or effect.high < -terms.within else "not shown"


def seeds_to_tell(difference: float | None, terms: Terms, sides: int) -> str:
    """Return the number of seeds on each side that detect this difference with 80% power; "" if unknown.

    sides: the number of sides with seeds.
    """
    sd = terms.spread.sd
    if not sd or not difference or not sides:
        return ""
    if smallest_difference(sd, MOST_SEEDS, terms.level, sides) > abs(difference):
        return f"more than {MOST_SEEDS:,}"
    return str(seeds_for(abs(difference), sd, terms.level, sides))
