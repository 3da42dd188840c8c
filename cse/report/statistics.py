"""What a few seeds can tell: intervals, and a verdict against a printed number.

Samples are scores of independent runs; sd is the sample's (n - 1). With two to five seeds all of this is rough, and the
t interval says so by its width; the bootstrap's is too narrow there (it never leaves the range of the values seen).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

Interval = tuple[float, float]


@dataclass(frozen=True)
class Summary:
    """mean, sample standard deviation (None for one value) and number of a group of scores."""

    mean: float
    sd: float | None
    n: int


@dataclass(frozen=True)
class Intervals:
    """How intervals over seeds are made. confidence: their level, between 0 and 1."""

    confidence: float
    kind: Literal["t", "bootstrap"]

    def of_mean(self, values: Sequence[float]) -> Interval:
        """Of the mean of two values or more."""
        make = t_interval if self.kind == "t" else bootstrap_interval
        return make(values, self.confidence)


def summary(values: Sequence[float]) -> Summary:
    """Mean, deviation and number of one value or more."""
    return Summary(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values))


def t_interval(values: Sequence[float], confidence: float) -> Interval:
    """Of the mean: mean -+ t_{n-1} sd / sqrt n. Needs two values or more."""
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


def reach_of_noise(ours: Summary, published_n: int, seed_sd: float | None, confidence: float) -> float:
    """How far the mean of `published_n` further runs may lie from ours by seeds alone: a prediction interval.

    t_{n-1} sd sqrt(1/n + 1/published_n); with one run of ours its sd is not known, and `seed_sd` with the normal
    quantile stands in.
    """
    spread = math.sqrt(1 / ours.n + 1 / published_n)
    if ours.sd is None:
        assert seed_sd is not None
        return float(stats.norm.ppf((1 + confidence) / 2) * seed_sd * spread)
    return float(stats.t.ppf((1 + confidence) / 2, ours.n - 1) * ours.sd * spread)


def verdict(
    ours: Summary, published: float, published_n: int, tolerance: float, seed_sd: float | None, confidence: float
) -> str:
    """PASS: the means are within `tolerance`. WITHIN SEED NOISE: within the reach of seeds alone. Else DIFFERS.

    ONE SEED: neither can be said, as there is one run and no `seed_sd`.
    """
    distance = abs(ours.mean - published)
    if distance <= tolerance + 1e-9:
        return "PASS"
    if ours.sd is None and seed_sd is None:
        return "ONE SEED"
    return "WITHIN SEED NOISE" if distance <= reach_of_noise(ours, published_n, seed_sd, confidence) else "DIFFERS"
