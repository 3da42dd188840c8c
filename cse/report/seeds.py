"""What a number of seeds can show: the smallest difference that they detect, and the seeds that a difference needs.

For a two-sided t test with 80% power between two settings whose scores have the same deviation over seeds.
"""

import math
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats


def power(difference: float, sd: float, seeds: int, level: float = 0.05) -> float:
    """How often a two-sided t test with `seeds` on each side detects a difference and its sign (noncentral t)."""
    freedom, shift = 2 * seeds - 2, difference / (sd * math.sqrt(2 / seeds))
    return float(stats.nct.sf(stats.t.ppf(1 - level / 2, freedom), freedom, shift))


def smallest_difference(sd: float, seeds: int, level: float = 0.05) -> float:
    """The smallest difference that `seeds` on each side detect with 80% power."""
    error = sd * math.sqrt(2 / seeds)
    return error * float(optimize.brentq(lambda size: power(size * error, sd, seeds, level) - 0.8, 1e-3, 30))


def seeds_for(difference: float, sd: float, level: float = 0.05) -> int:
    """The seeds on each side that detect a difference with 80% power; at least 2."""
    return next(seeds for seeds in count(2) if power(difference, sd, seeds, level) >= 0.8)


def pooled_sd(groups: Sequence[Sequence[float]]) -> float:
    """The standard deviation within groups of two or more values, each around its own mean."""
    freedom = sum(len(values) - 1 for values in groups)
    return math.sqrt(sum(float(np.var(values, ddof=1)) * (len(values) - 1) for values in groups) / freedom)


class SeedSpread(NamedTuple):
    """The deviation of scores over seeds, pooled over groups, and the seeds of the smallest group, two or more."""

    sd: float
    seeds: int

    def in_words(self, level: float) -> str:
        """What so many seeds show, and how many half of that difference needs; "" if they do not vary."""
        if not self.sd:
            return ""
        least = smallest_difference(self.sd, self.seeds, level)
        needs = f"{least / 2:.2g} needs {seeds_for(least / 2, self.sd, level)}"
        return f"a seed's sd is {self.sd:.2g}: {self.seeds} a side show {least:.2g} with 80% power, {needs}."
