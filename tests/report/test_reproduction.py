"""CV*, against its definition written out."""

import math
from statistics import stdev

import pytest

from cse.report.reproduction import cv_star, least_of


def test_of_two_and_three_measurements():
    # n = 2: sd |a - b| / sqrt 2, c4 = sqrt(2 / pi), correction 9/8
    expected = 9 / 8 * 100 * (2 / math.sqrt(2)) / math.sqrt(2 / math.pi) / 71
    assert cv_star([70, 72], least=0) == pytest.approx(expected)
    values = [3.0, 4.0, 8.0]
    assert cv_star(values, least=0) == pytest.approx(13 / 12 * 100 * stdev(values) / 0.886227 / 5, rel=1e-5)


def test_equal_measurements_have_none_and_the_scale_is_moved_to_0():
    assert cv_star([70, 70], least=-100) == 0
    assert cv_star([70, 72], least=-100) == pytest.approx(cv_star([70, 72], least=0) * 71 / 171)
    assert cv_star([-8, -8], least=-8) is None


@pytest.mark.parametrize(
    ("metric", "least"),
    [
        ("test/sts/STS12/spearman", -100),
        ("test/sts/average", -100),
        ("dev/demo/average", -100),
        ("test/transfer/average", 0),
        ("test/geometry/uniformity", -8),
        ("test/geometry/alignment", 0),
        (["test/sts/average", ["test/transfer/MR/accuracy"]], -50),
    ],
)
def test_the_least_that_a_score_can_be(metric, least):
    assert least_of(metric) == least
