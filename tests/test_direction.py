"""Which of two values of a score is the better one."""

import math

import pytest

from cse.direction import better


@pytest.mark.parametrize(
    ("metric", "value", "best", "expected"),
    [
        ("dev/stsb/spearman", 2.0, 1.0, True),
        ("dev/stsb/spearman", 1.0, 1.0, False),
        ("dev/geometry/alignment", 1.0, 2.0, True),
        ("dev/geometry/alignment", 2.0, 1.0, False),
        ("dev/stsb/spearman", math.nan, 1.0, False),
        ("dev/stsb/spearman", 1.0, math.nan, True),
        ("dev/stsb/spearman", math.nan, math.nan, False),
    ],
)
def test_more_is_better_but_for_distances_and_losses_and_a_number_than_none(metric, value, best, expected):
    assert better(metric, value, best) is expected
