"""Verdicts of invented tables whose truth is known: few false ones, and the power that theory says."""

import pytest
from scipy import stats

from benchmarks import bench_verdicts as bench
from cse.lab.report.numbers.statistics import power

TABLES = 60
MOST = stats.binom.ppf(0.999, TABLES, 0.05) / TABLES  # of a rate of 5%, so many once in a thousand tests


@pytest.mark.parametrize("world", [*bench.WORLDS[:3], bench.WORLDS[-1]], ids=lambda world: world.name)
def test_few_tables_have_any_false_verdict(world):
    """benchmarks/bench_verdicts.py counts more of them, at more seeds and effects."""
    assert bench.false_alarms(world, 3, TABLES) <= MOST


def test_a_true_difference_is_seen_as_often_as_theory_says():
    theory = power(2, 1, 5)
    error = (theory * (1 - theory) / TABLES) ** 0.5
    assert bench.seen(2, 5, TABLES) == pytest.approx(theory, abs=0.02 + 3 * error)


def test_the_count_would_notice_a_judge_that_is_too_bold(monkeypatch):
    """Without Holm's correction the same tables have false verdicts enough."""
    monkeypatch.setattr("cse.lab.report.paper.claims.holm", lambda p_values: list(p_values))
    world = bench.WORLDS[0]
    assert bench.false_alarms(world, 8, TABLES) > MOST
