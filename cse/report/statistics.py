"""What a few seeds can tell: intervals, tests of two groups of seeds, rank correlations, Holm's correction.

Values are scores of independent runs; sd is the sample's (n - 1); p is two-sided. With two to five seeds all of this is
rough, and the t interval says so by its width; the bootstrap's is too narrow there (it never leaves the range of the
values seen).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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

    over_items: the interval over test items, where the runs kept them. Without an effect: nothing was compared.
    """

    effect: float | None = None
    interval: Interval | None = None
    n: str = ""
    test: str = ""
    p: float = math.nan
    over_items: Interval | None = None


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


def pooled_sd(groups: Sequence[Sequence[float]]) -> float:
    """The deviation within groups of two values or more, each about its own mean."""
    freedom = sum(len(values) - 1 for values in groups)
    return math.sqrt(sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups) / freedom)


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

    Paired over the seeds that both have, if these are two or more; else Welch's test; against one value without a seed
    ("None": an encoder that is only scored) a one-sample test. One run a side, or values that do not vary: no test.
    """
    shared = [seed for seed in ours if seed in theirs]
    a, b = np.array(list(ours.values())), np.array(list(theirs.values()))
    if len(shared) > 1:
        differences = np.array([ours[seed] - theirs[seed] for seed in shared])
        n, test = f"{len(shared)} seeds", "paired t"
    elif ["None"] in (list(ours), list(theirs)) and max(len(a), len(b)) > 1:
        differences = a - b
        n, test = f"{len(differences)} seeds against one score", "one-sample t"
    else:
        effect, n = float(a.mean() - b.mean()), f"{len(a)} and {len(b)}"
        if min(len(a), len(b)) < 2 or not (np.ptp(a) or np.ptp(b)):
            return Comparison(effect, None, n, "none: too few seeds")
        interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(confidence)
        p = float(stats.ttest_ind(a - shift, b, equal_var=False).pvalue)
        return Comparison(effect, (float(interval.low), float(interval.high)), f"{n} seeds", "Welch", p)
    effect = float(differences.mean())
    if not np.ptp(differences):
        return Comparison(effect, None, n, test)
    p = float(stats.ttest_1samp(differences, shift).pvalue)
    return Comparison(effect, t_interval(differences.tolist(), confidence), n, test, p)


def rank_correlation(points: Sequence[tuple[float, float]], confidence: float) -> Comparison:
    """Spearman's, tested by permutations: all of up to seven points, else 9,999 (the t approximation gives three points
    in order a p of 0, though one order in six is theirs). From five points on with the interval of Pearson's of the
    ranks (Fisher's z)."""
    x, y = (stats.rankdata(axis) for axis in zip(*points, strict=True))
    n = f"{len(points)} points"
    if len(points) < 3 or not np.ptp(x) or not np.ptp(y):
        return Comparison(0.0, None, n, "none: too few points")
    correlation = stats.pearsonr(x, y, method=stats.PermutationMethod(rng=np.random.default_rng(0)))
    interval = correlation.confidence_interval(confidence) if len(points) > 4 else None
    bounds = (float(interval.low), float(interval.high)) if interval else None
    return Comparison(float(correlation.statistic), bounds, n, "Spearman", float(correlation.pvalue))


NOTHING = Comparison()


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given; NaN stays NaN and counts as no test."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    corrected, least = [math.nan] * len(p_values), 0.0
    for rank, (p, place) in enumerate(tested):
        least = max(least, min(1.0, p * (len(tested) - rank)))
        corrected[place] = least
    return corrected
