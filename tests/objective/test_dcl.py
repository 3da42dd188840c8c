"""DCL and DCLW against loops from the equation, and against numbers of other implementations."""

import math

import pytest
from made_up_views import cosine, views

from cse.objective.dcl import dcl

MORE_TOYS = {"dclw": ["objective=dcl", "objective.sigma=0.5"]}


def slow_dcl(x, y, t, sigma=None):
    z, n = [x.tolist(), y.tolist()], len(x)
    positive = [cosine(z[0][i], z[1][i]) for i in range(n)]
    mean = sum(math.exp(p / sigma) for p in positive) / n if sigma else 1
    total = 0.0
    for k in range(2):
        for i in range(n):
            weight = 2 - math.exp(positive[i] / sigma) / mean if sigma else 1
            others = sum(math.exp(cosine(z[k][i], z[l][j]) / t) for l in range(2) for j in range(n) if j != i)  # noqa: E741
            total += -weight * positive[i] / t + math.log(others)
    return total / (2 * n)


@pytest.mark.parametrize("sigma", [None, 0.5, 0.1])
def test_the_equation_against_loops(sigma):
    x, y = views(1)
    expected = slow_dcl(x, y, 0.05, sigma)
    assert dcl(x, 3 * y, 0.05, sigma).item() == pytest.approx(expected, rel=1e-12)


def test_the_numbers_of_other_implementations():
    """raminnakhli/Decoupled-Contrastive-Learning's DCL, half the sum of both directions; the same with the weights of
    lightly's DCLW, whose mean is 1."""
    assert dcl(*views(), 0.1).item() == pytest.approx(-3.8141634220859437, rel=1e-9)
    assert dcl(*views(), 0.1, 0.5).item() == pytest.approx(-3.777720122924452, rel=1e-9)
