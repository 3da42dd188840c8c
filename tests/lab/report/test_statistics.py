"""Intervals, tests and verdicts of a few seeds, held to scipy, to formulas written out and to exhaustive versions."""

import math
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from cse.lab.report.numbers import statistics
from cse.lab.report.numbers.statistics import (
    Value,
    compare_pairs,
    compare_seeds,
    mean_and_sd,
    pooled_sd,
    power,
    seeds_for,
    smallest_difference,
    tost_p,
)
from cse.lab.report.paper.cells import against_published


def test_summary_and_t_interval_by_hand():
    assert mean_and_sd([1.0, 2.0, 6.0]) == Value(3.0, pytest.approx(math.sqrt((4 + 1 + 9) / 2)), 3)
    assert mean_and_sd([4.0]) == Value(4.0, None, 1)
    found = statistics.compare_seeds({"1": 1.0, "2": 2.0, "3": 6.0}, 1.5, 0.95)
    assert (found.low + found.high) / 2 == pytest.approx(1.5) == found.size
    assert (found.high - found.low) / 2 == pytest.approx(4.302653 * math.sqrt(7) / math.sqrt(3), rel=1e-6)  # t_2(.975)


def test_values_that_do_not_vary_are_not_tested():
    found = statistics.compare_seeds({"1": 1.0, "2": 1.0}, {"3": 2.0, "4": 2.0}, 0.95)
    assert (found.size, found.low, math.isnan(found.p)) == (-1.0, None, True)


def holm_by_closed_testing(p_values):
    """Each p the largest of Bonferroni's over every set of tests that has it (Marcus, Peritz & Gabriel 1976)."""
    places = range(len(p_values))
    sets = [chosen for size in range(1, len(p_values) + 1) for chosen in combinations(places, size)]
    return [
        max(min(1.0, len(chosen) * min(p_values[i] for i in chosen)) for chosen in sets if place in chosen)
        for place in places
    ]


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_closure_of_bonferronis(seed):
    rng = np.random.default_rng(seed)
    p_values = (rng.uniform(size=7) ** 3).tolist()
    p_values[5] = p_values[2]  # a tie
    expected = holm_by_closed_testing(p_values)
    assert statistics.holm(p_values) == pytest.approx(expected)
    with_gap = [*p_values[:4], math.nan, *p_values[4:]]
    corrected = statistics.holm(with_gap)
    assert math.isnan(corrected.pop(4))
    assert corrected == pytest.approx(expected)


def test_seeds_are_two_samples_whether_they_are_shared_or_not():
    ours, theirs = {"1": 71.0, "2": 72.5, "3": 70.0}, {"1": 69.2, "2": 71.0}
    found = statistics.compare_seeds(ours, theirs, 0.9)
    welch = stats.ttest_ind(list(ours.values()), list(theirs.values()), equal_var=False)
    low, high = welch.confidence_interval(0.9)
    assert (found.test, found.n, found.p) == ("Welch", "3 and 2 seeds", pytest.approx(welch.pvalue))
    assert (found.size, found.low, found.high) == pytest.approx((213.5 / 3 - 70.1, low, high))
    shifted = stats.ttest_ind([score - 0.5 for score in ours.values()], list(theirs.values()), equal_var=False)
    moved = statistics.compare_seeds(ours, theirs, 0.9, shift=0.5)
    assert (moved.p, moved.low, moved.high) == pytest.approx((shifted.pvalue, low, high))


def test_an_encoder_without_a_seed_is_one_number_on_either_side():
    seeds, one = {"0": 71.0, "1": 72.0, "2": 71.5}, 70.0
    above, below = statistics.compare_seeds(seeds, one, 0.95), statistics.compare_seeds(one, seeds, 0.95)
    assert (above.size, below.size) == (1.5, -1.5)
    assert above.test == below.test == "one-sample t"
    assert above.p == below.p == pytest.approx(stats.ttest_1samp([71.0, 72.0, 71.5], 70.0).pvalue)


def verdict(ours, published, n=1):
    return against_published(mean_and_sd(ours), Value(published, n=n), tolerance=0.1, noise=0.9, confidence=0.95)


def test_a_verdict_asks_the_tolerance_then_the_seeds():
    assert verdict([76.2, 76.4], 76.25) == "PASS"
    assert verdict([76.35], 76.25) == "PASS"  # the edge belongs to it
    seeds = [75.0, 75.5, 76.0, 76.5, 77.0]  # mean 76, sd .79; one more run: t_4 .79 sqrt(1.2) = 2.40
    assert verdict(seeds, 78.39) == "WITHIN SEED NOISE"
    assert verdict(seeds, 78.42) == "DIFFERS"
    assert verdict(seeds, 78.39, n=5) == "DIFFERS"  # a mean of five runs strays less
    assert verdict([76.0], 76.0 + 1.959964 * 0.9 * math.sqrt(2) - 0.01) == "WITHIN SEED NOISE"
    assert verdict([76.0], 76.0 - 1.959964 * 0.9 * math.sqrt(2) - 0.01) == "DIFFERS"
    assert verdict([76.0, 76.0], 76.2) == "DIFFERS"


@pytest.mark.parametrize(("sd", "seeds", "smallest"), [(0.2, 3, 0.61), (0.2, 5, 0.40), (0.2, 8, 0.30), (0.39, 3, 1.20)])
def test_differences_and_seeds_have_known_values_and_invert_each_other(sd, seeds, smallest):
    found = smallest_difference(sd, seeds)
    assert found == pytest.approx(smallest, abs=0.006)
    assert power(found, sd, seeds) == pytest.approx(0.8, abs=1e-6)
    assert seeds_for(found * 1.0001, sd) == seeds
    assert seeds_for(found * 0.99, sd) == seeds + 1


def test_against_one_score_the_power_is_that_of_a_one_sample_test():
    found = smallest_difference(0.816, 5, sides=1)
    assert found == pytest.approx(1.37, abs=0.005)
    drawn = np.random.default_rng(0).normal(found, 0.816, (20_000, 5))
    assert (stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.01)
    assert seeds_for(found * 1.0001, 0.816, sides=1) == 5
    assert power(found, 0.816, 5) < 0.7  # of two sides that both vary


def test_two_seeds_a_side_have_a_smallest_difference_at_any_level():
    for level in (0.05, 0.05 / 100, 1e-6):
        assert power(smallest_difference(0.2, 2, level), 0.2, 2, level) == pytest.approx(0.8, abs=1e-6)


def test_the_pooled_deviation_weighs_groups_by_degrees_of_freedom():
    """Squares around the means 2 and 11: 2 with one degree of freedom, 6 with two."""
    assert pooled_sd([[1.0, 3.0], [10.0, 10.0, 13.0]]) == pytest.approx(math.sqrt((2 + 6) / 3))


def test_equal_differences_have_no_p_of_rounding():
    """Each is 0.1, but for the last bits of floats."""
    ours, theirs = {"1": 80.1, "2": 80.3, "3": 80.7}, {"1": 80.2, "2": 80.4, "3": 80.8}
    found = compare_pairs(ours, theirs, 0.95)
    assert math.isnan(found.p)
    assert found.size == pytest.approx(-0.1)
    assert math.isnan(tost_p(partial(compare_pairs, ours, theirs, 0.95), 0.2))
    third = {str(seed): (0.1 + 0.2) if seed else 0.3 for seed in range(3)}
    assert math.isnan(compare_seeds(third, {"1": 0.1, "2": 0.1}, 0.95).p)
    assert pooled_sd([list(third.values())]) == 0


@pytest.mark.parametrize(
    ("theirs", "why"),
    [
        ({"2": 70.0}, "the sides have different seeds"),
        (70.0, "a side has no seeds"),
        ({"1": 70.0}, "too few seeds"),
    ],
)
def test_why_there_is_no_paired_test(theirs, why):
    effect = compare_pairs({"1": 71.0}, theirs, 0.95)
    assert not effect.is_tested
    assert effect.why == why
