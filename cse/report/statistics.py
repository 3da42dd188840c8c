"""What a few seeds can tell: intervals, tests of two groups of seeds, rank correlations, Holm's correction.

Values are scores of independent runs; sd is the sample's (n - 1); p is two-sided. With two to five seeds all of this is
rough, and the t interval says so by its width; the bootstrap's is too narrow there (it never leaves the range of the
values seen).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np
from scipy import stats

Interval = tuple[float, float]


@dataclass(frozen=True)
class Value:
    """A mean, printed or ours, and its deviation over n seeds (None: not known). note: how a garbled one was read."""

    mean: float
    sd: float | None = None
    n: int = 1
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """A difference or a rank correlation: its size, its interval (None: one run a side), what of, how tested, p.

    over_items, p_items: the interval over test items, where the runs kept them, and its p. least: of a trend, the
    smallest p that its points could reach. Without an effect: nothing was compared.
    """

    effect: float | None = None
    interval: Interval | None = None
    n: str = ""
    test: str = ""
    p: float = math.nan
    over_items: Interval | None = None
    p_items: float = math.nan
    least: float = 0.0


@dataclass(frozen=True)
class Intervals:
    """How intervals over seeds are made. confidence: their level, between 0 and 1."""

    confidence: float
    kind: Literal["t", "bootstrap"]

    def of_mean(self, values: Sequence[float]) -> Interval:
        """Of the mean of two values or more."""
        make = t_interval if self.kind == "t" else bootstrap_interval
        return make(values, self.confidence)


def summary(values: Iterable[float]) -> Value:
    """Mean, deviation and number of one value or more."""
    values = list(values)
    return Value(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values))


def t_interval(values: Sequence[float], confidence: float) -> Interval:
    """Of the mean: mean -+ t_{n-1} sd / sqrt n. Needs two values or more; scipy's own is NaN where they are equal."""
    mean, reach = np.mean(values), stats.t.ppf((1 + confidence) / 2, len(values) - 1) * stats.sem(values)
    return float(mean - reach), float(mean + reach)


def bootstrap_interval(values: Sequence[float], confidence: float, statistic: Callable = np.mean) -> Interval:
    """Of any statistic, by percentiles of 9,999 resamples (the same ones each time). Needs two values or more."""
    resampled = stats.bootstrap(
        (np.asarray(values),), statistic, confidence_level=confidence, method="percentile", rng=np.random.default_rng(0)
    )
    return float(resampled.confidence_interval.low), float(resampled.confidence_interval.high)


def reach_of_noise(ours: Value, published_n: int, seed_sd: float | None, confidence: float) -> float:
    """How far the mean of `published_n` further runs may lie from ours by seeds alone: a prediction interval.

    t_{n-1} sd sqrt(1/n + 1/published_n); with one run of ours its sd is not known, and `seed_sd` with the normal
    quantile stands in.
    """
    spread = math.sqrt(1 / ours.n + 1 / published_n)
    if ours.sd is None:
        assert seed_sd is not None
        return float(stats.norm.ppf((1 + confidence) / 2) * seed_sd * spread)
    return float(stats.t.ppf((1 + confidence) / 2, ours.n - 1) * ours.sd * spread)


def compare_seeds(
    ours: Mapping[str, float], theirs: Mapping[str, float], confidence: float, shift: float = 0.0
) -> Comparison:
    """Mean of `ours` minus that of `theirs`, each by seed, tested two-sided against a difference of `shift`.

    Welch's test, whichever seeds they are: a seed says the same to two methods by its number alone, and pairing would
    halve the degrees of freedom. Against one value without a seed ("None": an encoder that is only scored) a one-sample
    test. One run a side, or values that do not vary: no test.
    """
    a, b = np.array(list(ours.values())), np.array(list(theirs.values()))
    if ["None"] in (list(ours), list(theirs)) and max(len(a), len(b)) > 1:
        differences = a - b
        effect, n = float(differences.mean()), f"{len(differences)} seeds against one score"
        if not np.ptp(differences):
            return Comparison(effect, None, n, "none: the scores do not vary")
        p = float(stats.ttest_1samp(differences, shift).pvalue)
        return Comparison(effect, t_interval(differences.tolist(), confidence), n, "one-sample t", p)
    effect, n = float(a.mean() - b.mean()), f"{len(a)} and {len(b)}"
    if min(len(a), len(b)) < 2:
        return Comparison(effect, None, n, "none: too few seeds")
    if not (np.ptp(a) or np.ptp(b)):
        return Comparison(effect, None, f"{n} seeds", "none: the scores do not vary")
    welch = stats.ttest_ind(a, b, equal_var=False)
    interval = welch.confidence_interval(confidence)
    p = float((stats.ttest_ind(a - shift, b, equal_var=False) if shift else welch).pvalue)
    return Comparison(effect, (float(interval.low), float(interval.high)), f"{n} seeds", "Welch", p)


Points = Sequence[tuple[float, float]]
ORDERS = 2_000_000  # so many are all counted, else PERMUTATIONS of them
PERMUTATIONS = 9_999


def rank_correlation(seeds: Sequence[Points], confidence: float) -> Comparison:
    """Spearman's of the points (x, y) of each seed, pooled: ranks, and their means, are each seed's own.

    Tested by permutations within seeds: all orders, where these are few, else 9,999. (The t approximation gives three
    points in order a p of 0, though one order in six is theirs.) From two degrees of freedom on with an interval
    (Fisher's z).
    """
    ranked = [[stats.rankdata(axis) - (len(of) + 1) / 2 for axis in zip(*of, strict=True)] for of in seeds if of]
    number = sum(map(len, seeds))
    n = f"{number} points" + (f" of {len(seeds)} seeds" if len(seeds) > 1 else "")
    spread = math.sqrt(sum(x @ x for x, _ in ranked) * sum(y @ y for _, y in ranked))
    if number < 3 or not spread:
        return Comparison(0.0, None, n, "none: too few points")
    observed = sum(x @ y for x, y in ranked)
    effect, freedom = float(observed / spread), number - len(ranked) - 2
    bounds = None
    if freedom > 1:
        reach = stats.norm.ppf((1 + confidence) / 2) / math.sqrt(freedom)
        z = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, effect)))
        bounds = math.tanh(z - reach), math.tanh(z + reach)
    permuted = _permuted(ranked)
    p = 2 * min(float(np.mean(permuted >= observed - 1e-9)), float(np.mean(permuted <= observed + 1e-9)))
    least = 2 / min(_orders([x for x, _ in ranked]), len(permuted))
    return Comparison(effect, bounds, n, f"Spearman within seeds, least p {least:.2g}", min(1.0, p), least=least)


def _orders(xs: Sequence[np.ndarray]) -> int:
    """How many orders of the seeds' values tell apart: equal x exchange nothing."""
    ties = [np.unique(x, return_counts=True)[1] for x in xs]
    return math.prod(
        math.factorial(len(x)) // math.prod(map(math.factorial, of)) for x, of in zip(xs, ties, strict=True)
    )


def _permuted(ranked: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """What the sum of products over seeds is under orders of y within each; the observed one is among them."""
    if math.prod(math.factorial(min(len(x), 12)) for x, _ in ranked) <= ORDERS:
        total = np.zeros(1)
        for x, y in ranked:
            total = np.add.outer(total, np.array(list(permutations(y))) @ x).ravel()
        return total
    rng = np.random.default_rng(0)
    drawn = sum(rng.permuted(np.tile(y, (PERMUTATIONS, 1)), axis=1) @ x for x, y in ranked)
    return np.append(drawn, sum(x @ y for x, y in ranked))


NOTHING = Comparison()


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given; NaN stays NaN and counts as no test."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    corrected, least = [math.nan] * len(p_values), 0.0
    for rank, (p, place) in enumerate(tested):
        least = max(least, min(1.0, p * (len(tested) - rank)))
        corrected[place] = least
    return corrected
