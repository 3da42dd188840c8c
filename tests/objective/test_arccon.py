"""ArcCon: the equation with real angles, its margin, and equal views."""

import math

import pytest
import torch
from made_up_views import views

from cse.objective.arccon import arccon
from cse.objective.simcse import info_nce


def slow_arccon(x, y, t, margin):
    def angle(a, b):
        return math.acos(sum(p * q for p, q in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b))

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


def test_no_margin_is_simcse_and_a_larger_one_asks_for_more():
    x, y = views()
    losses = [arccon(x, y, 0.05, margin).item() for margin in (0, 5, 10, 20)]
    assert losses[0] == pytest.approx(info_nce(x, y, 0.05).item(), rel=1e-12)
    assert losses == sorted(losses)


def test_the_margin_is_an_angle():
    """Positives at 30 degrees with a margin of 10 count as positives at 40 without."""
    anchors = torch.eye(4, dtype=torch.float64)[[0, 2]]
    aside = torch.eye(4, dtype=torch.float64)[[1, 3]]
    near, far = (math.cos(angle) * anchors + math.sin(angle) * aside for angle in map(math.radians, (30, 40)))
    torch.testing.assert_close(arccon(anchors, near, 0.5, 10.0), arccon(anchors, far, 0.5, 0.0))


def test_equal_views_have_finite_gradients():
    x = views()[0].float().requires_grad_()
    arccon(x, x, 0.05, 10.0).backward()
    assert x.grad.isfinite().all()
