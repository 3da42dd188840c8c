"""ArcCon against the equation written with angles, and its gradient where the views are equal."""

import math

import pytest
from made_up_views import cosine, views

from cse.objective.arccon import arccon


def slow_arccon(x, y, t, margin):
    def angle(a, b):
        return math.acos(cosine(a, b))

    x, y, total = x.tolist(), y.tolist(), 0.0
    for i, anchor in enumerate(x):
        own = math.exp(math.cos(angle(anchor, y[i]) + math.radians(margin)) / t)
        others = sum(math.exp(math.cos(angle(anchor, y[j])) / t) for j in range(len(y)) if j != i)
        total -= math.log(own / (own + others))
    return total / len(x)


@pytest.mark.parametrize("margin", [0.0, 10.0, 45.0])
def test_the_equation_against_angles(margin):
    x, y = views()
    expected = slow_arccon(x, y, 0.05, margin)
    assert arccon(x, 3 * y, 0.05, margin).item() == pytest.approx(expected, rel=1e-10)


def test_equal_views_have_finite_gradients():
    x = views()[0].float().requires_grad_()
    arccon(x, x, 0.05, 10.0).backward()
    assert x.grad.isfinite().all()
