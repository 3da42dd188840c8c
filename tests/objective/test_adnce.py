"""ADNCE against loops from the equation and the authors' numbers; weights without gradient, and no overflow."""

import math

import pytest
import torch
from made_up_views import cosine, views

from cse.objective.adnce import adnce

MORE_TOYS = {"adnce as the text": ["objective=adnce", "objective.weigh_positive=false"]}


def slow_adnce(x, y, t, mu, sigma, weigh_positive):
    def gauss(s):
        return math.exp(-((s - mu) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))

    x, y, total = x.tolist(), y.tolist(), 0.0
    for i in range(len(x)):
        s = [cosine(x[i], other) for other in y]
        weighed = [j for j in range(len(y)) if weigh_positive or j != i]
        mean = sum(gauss(s[j]) for j in weighed) / len(weighed)
        weights = [gauss(s[j]) / mean if j in weighed else 1 for j in range(len(y))]
        total -= math.log(math.exp(s[i] / t) / sum(w * math.exp(v / t) for w, v in zip(weights, s, strict=True)))
    return total / len(x)


@pytest.mark.parametrize("weigh_positive", [False, True])
@pytest.mark.parametrize(("mu", "sigma"), [(0.4, 1.0), (0.2, 0.3), (2.0, 0.5)])
def test_the_equation_against_loops(mu, sigma, weigh_positive):
    x, y = views(1)
    expected = slow_adnce(x, y, 0.07, mu, sigma, weigh_positive)
    assert adnce(x, 3 * y, 0.07, mu, sigma, weigh_positive=weigh_positive).item() == pytest.approx(expected, rel=1e-10)


def test_the_authors_numbers():
    """junkangwu/ADNCE, sentence/simcse/models.py, loss_mode "reweight", which weighs the positive too."""
    for mu, sigma, expected in ((0.4, 1.0, 0.018401675744436085), (0.2, 0.3, -2.1520344775615525)):
        assert adnce(*views(), 0.07, mu, sigma, weigh_positive=True).item() == pytest.approx(expected, rel=1e-6)


def test_the_weights_are_constants_for_the_gradient():
    """The slope in a negative's cosine is then its weighted share of the denominator, divided by t."""
    x, y = views(rows=4)
    x.requires_grad_()
    slope = torch.autograd.grad(adnce(x, y, 0.2, 0.4, 0.3, weigh_positive=False), x)[0]
    s = torch.nn.functional.normalize(x, dim=1) @ torch.nn.functional.normalize(y, dim=1).T
    weights = (-((s.detach() - 0.4) ** 2) / (2 * 0.3**2)).exp().fill_diagonal_(0)
    weights = (3 * weights / weights.sum(1, keepdim=True)).fill_diagonal_(1)
    terms = weights * (s / 0.2).exp()
    share = (terms / terms.sum(1, keepdim=True)).detach() - torch.eye(4)
    torch.testing.assert_close(slope, torch.autograd.grad((share * s / 0.2).sum() / 4, x)[0])


def test_a_narrow_bell_far_away_does_not_overflow():
    x, y = (view.float().requires_grad_() for view in views())
    loss = adnce(x, y, 0.01, 2.0, 0.01, weigh_positive=False)
    loss.backward()
    assert loss.isfinite()
    assert x.grad.isfinite().all()
