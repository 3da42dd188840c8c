"""Statistics over a few seeds: intervals, tests of two groups of seeds, Holm's correction, power.

Values are scores of independent runs. sd is the standard deviation of a sample (n - 1). p is two-sided. With two to
five seeds all these numbers are rough. The width of the t interval shows this.

The functions, with the statistic that each uses:

    compare_seeds           Welch's t-test (Welch 1947); against one score, Student's one-sample t-test (Student 1908)
    compare_pairs           Student's paired t-test
    prediction_half_width   a prediction interval by Student's t
    tost_p                  equivalence by two one-sided tests, TOST (Schuirmann 1987)
    holm                    Holm's step-down correction (Holm 1979)
    power, seeds_for        the noncentral t distribution; 80% is Cohen's convention (1988)
    pooled_sd, SeedSpread   the standard deviation within groups
"""

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

STATISTICS: dict[str, Callable[..., float | np.floating]] = {
    "mean": np.mean,
    "max": np.max,
    "q75": partial(np.quantile, q=0.75),
    "q50": np.median,
}
"""The functions by which a cell or a curve may summarise several scores."""


ROUNDING = 1e-12
"""The largest relative difference of two floats that counts as a rounding error."""


@dataclass(frozen=True)
class Value:
    """A mean over n seeds with its standard deviation, ours or published.

    sd: the standard deviation; None if unknown. note: the text of a garbled cell of a paper.
    """

    mean: float
    sd: float | None = None
    n: int = 1
    note: str = ""


TEST_NAMES = {"Welch": "Welch's t-test", "one-sample t": "one-sample t-test"}
"""{name of a test in CSV files: its name in text}. A test that is not here has the same name in both."""


class Effect(NamedTuple):
    """A difference of two means, with its interval and its test.

    Without a test, p is NaN and `why` has the reason (`is_tested`). `Effect()` means that nothing was compared.

    size: the difference; None if nothing was compared.
    low, high: the interval.
    n: the number of seeds or items, in words.
    test: the name of the test, as CSV files show it (see TEST_NAMES).
    why: why there is no p; "" with a p.
    """

    size: float | None = None
    low: float | None = None
    high: float | None = None
    n: str = ""
    test: str = ""
    p: float = math.nan
    why: str = ""

    @property
    def is_tested(self) -> bool:
        """Whether there is a test, with a p."""
        return not math.isnan(self.p)


def untested(a: np.ndarray, b: np.ndarray, n: str, why: str) -> Effect:
    """Return the difference of two means without a test."""
    return Effect(float(a.mean() - b.mean()), n=n, test="none", why=why)


def mean_and_sd(values: Iterable[float]) -> Value:
    """Return the mean, the sample's standard deviation and the number of values (at least one)."""
    values = list(values)
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Value(float(np.mean(values)), sd, len(values))


def prediction_half_width(ours: Value, published_n: int, seed_sd: float | None, confidence: float) -> float:
    """Return half the width of a prediction interval for the mean of `published_n` further runs.

    If only the seeds differ, our mean and the mean of these runs differ by at most the result, with this confidence.
    The result is t_{n-1} sd sqrt(1/n + 1/published_n). If we have only one run, our sd is unknown. Then seed_sd, from
    other cells, replaces sd, and the normal quantile replaces t.
    """
    spread = math.sqrt(1 / ours.n + 1 / published_n)
    if ours.sd is None:
        assert seed_sd is not None
        return float(stats.norm.ppf((1 + confidence) / 2) * seed_sd * spread)
    return float(stats.t.ppf((1 + confidence) / 2, ours.n - 1) * ours.sd * spread)


Side = Mapping[str, float] | float
"""One side of a comparison: {seed: score}, or a single score (published, or of an encoder that is only scored)."""


def compare_seeds(ours: Side, theirs: Side, confidence: float, shift: float = 0.0) -> Effect:
    """Return the mean of `ours` minus the mean of `theirs`, tested two-sided against a difference of `shift`.

    The test is Welch's test, even if both sides have the same seeds. A seed seldom affects two methods in the same way,
    and pairing would halve the degrees of freedom. Against one score without seeds, the test is a one-sample t-test.
    There is no test if a side has one seed, if neither side has seeds, or if the scores do not vary.
    """
    a, b = scores_in(ours), scores_in(theirs)
    if len(a) > 1 and len(b) > 1:
        return welch(a, b, confidence, shift)
    is_one_alone = not (isinstance(ours, Mapping) and isinstance(theirs, Mapping))
    if is_one_alone and len(a) != len(b):
        return one_sample(a, b, confidence, shift)
    return untested(a, b, n=f"{len(a)} and {len(b)}", why="too few seeds")


def compare_pairs(ours: Side, theirs: Side, confidence: float, shift: float = 0.0) -> Effect:
    """Return the mean difference over equal seeds, with a paired t-test; no test if the sides have different seeds.

    Use this test if only one key differs, such as the precision. The effect of a seed is then the same on both sides
    and cancels.
    """
    a, b = scores_in(ours), scores_in(theirs)
    n = f"{len(a)} and {len(b)}"
    if not (isinstance(ours, Mapping) and isinstance(theirs, Mapping)):
        return untested(a, b, n, why="a side has no seeds")
    if ours.keys() != theirs.keys():
        return untested(a, b, n, why="the sides have different seeds")
    if len(ours) < 2:
        return untested(a, b, n, why="too few seeds")
    return paired(a, np.array([theirs[seed] for seed in ours]), confidence, shift)


def scores_in(side: Side) -> np.ndarray:
    """Return the scores of a side, without their seeds."""
    return np.array(list(side.values()) if isinstance(side, Mapping) else [side])


def welch(a: np.ndarray, b: np.ndarray, confidence: float, shift: float) -> Effect:
    """Return Welch's t-test of two samples, whose variances may differ (Welch 1947)."""
    size, n = float(a.mean() - b.mean()), f"{len(a)} and {len(b)} seeds"
    if not (values_vary(a) or values_vary(b)):
        return untested(a, b, n, why="the scores do not vary")
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # one side does not vary
        tested = stats.ttest_ind(a - shift, b, equal_var=False)
    low, high = tested.confidence_interval(confidence)
    low, high = float(low) + shift, float(high) + shift
    return Effect(size, low, high, n, "Welch", float(tested.pvalue))


def one_sample(a: np.ndarray, b: np.ndarray, confidence: float, shift: float) -> Effect:
    """Return Student's one-sample t-test of several scores against one score. Either side may be the single score."""
    size, n = float(a.mean() - b.mean()), f"{max(len(a), len(b))} seeds against one score"
    if not (values_vary(a) or values_vary(b)):
        return untested(a, b, n, why="the scores do not vary")
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # the scores hardly vary
        tested = stats.ttest_1samp(a - b - shift, 0)
    low, high = tested.confidence_interval(confidence)
    low, high = float(low) + shift, float(high) + shift
    return Effect(size, low, high, n, "one-sample t", float(tested.pvalue))


def paired(a: np.ndarray, b: np.ndarray, confidence: float, shift: float) -> Effect:
    """Return Student's paired t-test: a one-sample test of the differences. Each seed has one difference."""
    gaps, zero, n = a - b, np.zeros(1), f"{len(a)} pairs"
    if not values_vary(gaps, float(np.max(np.abs([a, b])))):
        return untested(gaps, zero, n, why="the differences do not vary")
    return one_sample(gaps, zero, confidence, shift)._replace(n=n)


def values_vary(values: Sequence[float] | np.ndarray, size: float | None = None) -> bool:
    """Return whether values differ by more than the rounding of floats.

    size: the size of the numbers behind the values, if these numbers are larger (70.2 - 70.1 has an error of 1e-14).
    """
    return bool(np.ptp(values) > ROUNDING * (np.max(np.abs(values)) if size is None else size))


def tost_p(compared: Callable[[float], Effect], within: float | None) -> float:
    """Return the p of equivalence within a margin, by two one-sided tests (TOST, Schuirmann 1987).

    Return NaN if within is None. compared: a function that returns the two-sided test against a shift.
    """
    if within is None:
        return math.nan
    above, below = compared(-within), compared(within)
    if above.size is None or below.size is None:
        return math.nan
    p_above = above.p / 2 if above.size > -within else 1 - above.p / 2
    p_below = below.p / 2 if below.size < within else 1 - below.p / 2
    return max(p_above, p_below)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values after Holm's step-down correction (Holm 1979), in the given order.

    NaN stays NaN and does not count as a test.
    """
    p = np.array(p_values, dtype=float)
    order = np.argsort(p)  # NaN last
    steps = np.count_nonzero(~np.isnan(p)) - np.arange(len(p))
    p[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * steps))
    return p.tolist()


def is_significant(p: float, level: float) -> bool:
    """Return whether p is below the level; False for NaN, which means that there is no test."""
    return not math.isnan(p) and p < level


def power(difference: float, sd: float, num_seeds: int, level: float = 0.05, sides: int = 2) -> float:
    """Return the power of a two-sided t-test (noncentral t): how often the test finds the difference and its sign.

    The scores of both sides have the same sd over seeds. num_seeds: the number on each side. sides: 1 if the other side
    is one score without seeds.
    """
    freedom, shift = sides * (num_seeds - 1), difference / (sd * math.sqrt(sides / num_seeds))
    return float(stats.nct.sf(stats.t.ppf(1 - level / 2, freedom), freedom, shift))


@cache  # a table of differences asks for the same number in each row
def smallest_difference(sd: float, num_seeds: int, level: float = 0.05, sides: int = 2) -> float:
    """Return the smallest difference that `num_seeds` seeds on each side detect with a power of 80%."""
    error = sd * math.sqrt(sides / num_seeds)

    def short_of(size: float) -> float:
        return power(size * error, sd, num_seeds, level, sides) - 0.8

    enough = next(size for size in (30.0 * 2**n for n in count()) if short_of(size) > 0)
    return error * float(optimize.brentq(short_of, 1e-3, enough))


def seeds_for(difference: float, sd: float, level: float = 0.05, sides: int = 2) -> int:
    """Return the number of seeds on each side that detect a difference with a power of 80%; at least 2."""

    def power_of(num_seeds: int) -> float:
        return power(difference, sd, num_seeds, level, sides)

    enough = next(num_seeds for num_seeds in (2**n for n in count(1)) if power_of(num_seeds) >= 0.8)
    return 2 + bisect_left(range(2, enough), 0.8, key=power_of)


def pooled_sd(groups: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation pooled over groups of two or more values. Each group varies around its own mean."""
    freedom = sum(len(values) - 1 for values in groups)
    if not any(map(values_vary, groups)):
        return 0.0
    return math.sqrt(sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups) / freedom)


class SeedSpread(NamedTuple):
    """How much scores vary over seeds.

    sd: the standard deviation, pooled over groups.
    num_seeds: the size of the smallest group, two or more.
    each: the standard deviation of each group.
    """

    sd: float
    num_seeds: int
    each: Sequence[float] = ()
