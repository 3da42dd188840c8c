"""What a few seeds can tell: intervals, tests of two groups of seeds, Holm's correction, power.

Values are scores of independent runs; sd is the sample's (n - 1); p is two-sided. With two to five seeds all of this is
rough, and the t interval shows it by its width.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
"""How a cell or a curve may summarise several scores."""


ROUNDING = 1e-12
"""How far two floats may differ, relative to their size, that were computed from the same numbers."""


@dataclass(frozen=True)
class Value:
    """A mean, published or ours, and its deviation over n seeds (None: unknown). note: what a garbled cell prints."""

    mean: float
    sd: float | None = None
    n: int = 1
    note: str = ""


TEST_NAMES = {"Welch": "Welch's t-test", "one-sample t": "one-sample t-test"}
"""The names of tests in text, where these differ from those in CSV files."""


class Effect(NamedTuple):
    """A difference, as columns of a table.

    size: None if nothing was compared.
    low, high: its interval; None if there is none.
    n: what it is over.
    test: the name of the test.
    why: the reason why it is no test.
    """

    size: float | None = None
    low: float | None = None
    high: float | None = None
    n: str = ""
    test: str = ""
    p: float = math.nan
    why: str = ""


def mean_and_sd(values: Iterable[float]) -> Value:
    """Mean, deviation and number of one or more values."""
    values = list(values)
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Value(float(np.mean(values)), sd, len(values))


def reach_of_noise(ours: Value, published_n: int, seed_sd: float | None, confidence: float) -> float:
    """How far the mean of `published_n` further runs may lie from ours through seeds alone: a prediction interval.

    It is t_{n-1} sd sqrt(1/n + 1/published_n). With one run of ours the sd is unknown: seed_sd, of other cells' seeds,
    takes its place, with the normal quantile.
    """
    spread = math.sqrt(1 / ours.n + 1 / published_n)
    if ours.sd is None:
        assert seed_sd is not None
        return float(stats.norm.ppf((1 + confidence) / 2) * seed_sd * spread)
    return float(stats.t.ppf((1 + confidence) / 2, ours.n - 1) * ours.sd * spread)


Side = Mapping[str, float] | float
"""One side of a comparison: scores by their seeds; or one score, of an encoder that is only scored, or published."""


def compare_seeds(ours: Side, theirs: Side, confidence: float, shift: float = 0.0) -> Effect:
    """Mean of `ours` minus mean of `theirs`, tested two-sided against a difference of `shift`.

    Welch's test even where the seeds are the same: two methods share nothing but a seed's number, and pairing would
    halve the degrees of freedom. Against one score without seeds it is a one-sample t test. With one run a side, or
    scores that do not vary, there is no test.
    """
    a, b = scores_in(ours), scores_in(theirs)
    if len(a) > 1 and len(b) > 1:
        return welch(a, b, confidence, shift)
    is_one_alone = not (isinstance(ours, Mapping) and isinstance(theirs, Mapping))
    if is_one_alone and len(a) != len(b):
        return one_sample(a, b, confidence, shift)
    return Effect(float(a.mean() - b.mean()), n=f"{len(a)} and {len(b)}", test="none", why="too few seeds")


def compare_pairs(ours: Side, theirs: Side, confidence: float, shift: float = 0.0) -> Effect:
    """The mean difference of the same seeds, by a paired t test; an empty effect if the sides have not the same seeds.

    Right where nothing but one setting differs, such as the precision: what a seed decides is then in both and cancels.
    """
    if not (isinstance(ours, Mapping) and isinstance(theirs, Mapping)):
        return Effect()
    if ours.keys() != theirs.keys() or len(ours) < 2:
        return Effect()
    return paired(np.array(list(ours.values())), np.array([theirs[seed] for seed in ours]), confidence, shift)


def scores_in(side: Side) -> np.ndarray:
    """The scores of a side, without their seeds."""
    return np.array(list(side.values()) if isinstance(side, Mapping) else [side])


def welch(a: np.ndarray, b: np.ndarray, confidence: float, shift: float) -> Effect:
    """Welch's test of two samples, whose variances may differ."""
    effect = Effect(float(a.mean() - b.mean()), n=f"{len(a)} and {len(b)} seeds")
    if not (values_vary(a) or values_vary(b)):
        return effect._replace(test="none", why="the scores do not vary")
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # one side does not vary
        tested = stats.ttest_ind(a - shift, b, equal_var=False)
    low, high = tested.confidence_interval(confidence)
    low, high = float(low) + shift, float(high) + shift
    return effect._replace(low=low, high=high, test="Welch", p=float(tested.pvalue))


def one_sample(a: np.ndarray, b: np.ndarray, confidence: float, shift: float) -> Effect:
    """A one-sample t test of several scores against one, which is either side."""
    effect = Effect(float(a.mean() - b.mean()), n=f"{max(len(a), len(b))} seeds against one score")
    if not (values_vary(a) or values_vary(b)):
        return effect._replace(test="none", why="the scores do not vary")
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # they hardly vary
        tested = stats.ttest_1samp(a - b - shift, 0)
    low, high = tested.confidence_interval(confidence)
    low, high = float(low) + shift, float(high) + shift
    return effect._replace(low=low, high=high, test="one-sample t", p=float(tested.pvalue))


def paired(a: np.ndarray, b: np.ndarray, confidence: float, shift: float) -> Effect:
    """A paired t test: a one-sample test of the differences, each of one seed."""
    gaps, n = a - b, f"{len(a)} pairs"
    if not values_vary(gaps, float(np.max(np.abs([a, b])))):
        return Effect(float(gaps.mean()), n=n, test="none", why="the differences do not vary")
    return one_sample(gaps, np.zeros(1), confidence, shift)._replace(n=n)


def values_vary(values: Sequence[float] | np.ndarray, size: float | None = None) -> bool:
    """Whether values differ by more than the rounding of floats.

    size: of the numbers that they were computed from, if these are larger (70.2 - 70.1 is 0.1 but for 1e-14).
    """
    return bool(np.ptp(values) > ROUNDING * (np.max(np.abs(values)) if size is None else size))


def likeness(compared: Callable[[float], Effect], within: float | None) -> float:
    """p of a difference between -within and within, by two one-sided tests (Schuirmann); NaN if within is None.

    compared: from a shift to the two-sided test against it.
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
    """p values after Holm's step-down correction, in the order given; NaN stays NaN and counts as no test."""
    p = np.array(p_values, dtype=float)
    order = np.argsort(p)  # NaN last
    steps = np.count_nonzero(~np.isnan(p)) - np.arange(len(p))
    p[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * steps))
    return p.tolist()


def is_shown(p: float, level: float) -> bool:
    """Whether a p is below the level; NaN, of no test, is not."""
    return not math.isnan(p) and p < level


def power(difference: float, sd: float, seeds: int, level: float = 0.05, sides: int = 2) -> float:
    """How often a two-sided t test with `seeds` on each side detects a difference and its sign (noncentral t).

    The scores of both sides have the same deviation over seeds. sides: 1 if the other is one score without seeds.
    """
    freedom, shift = sides * (seeds - 1), difference / (sd * math.sqrt(sides / seeds))
    return float(stats.nct.sf(stats.t.ppf(1 - level / 2, freedom), freedom, shift))


def smallest_difference(sd: float, seeds: int, level: float = 0.05, sides: int = 2) -> float:
    """The smallest difference that `seeds` on each side detect with 80% power."""
    error = sd * math.sqrt(sides / seeds)

    def short_of(size: float) -> float:
        return power(size * error, sd, seeds, level, sides) - 0.8

    enough = next(size for size in (30.0 * 2**n for n in count()) if short_of(size) > 0)
    return error * float(optimize.brentq(short_of, 1e-3, enough))


def seeds_for(difference: float, sd: float, level: float = 0.05, sides: int = 2) -> int:
    """The seeds on each side that detect a difference with 80% power; at least 2."""
    return next(seeds for seeds in count(2) if power(difference, sd, seeds, level, sides) >= 0.8)


def pooled_sd(groups: Sequence[Sequence[float]]) -> float:
    """The standard deviation within groups of two or more values, each around its own mean."""
    freedom = sum(len(values) - 1 for values in groups)
    if not any(map(values_vary, groups)):
        return 0.0
    return math.sqrt(sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups) / freedom)


class SeedSpread(NamedTuple):
    """How much scores vary over seeds.

    sd: the deviation, pooled over groups. seeds: of the smallest group, two or more. each: the deviation of each group.
    """

    sd: float
    seeds: int
    each: Sequence[float] = ()
