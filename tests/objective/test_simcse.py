"""SimCSE's loss against the authors' numbers, and against loops from Eq. 4 and 5; its head and its MLM term."""

import math

import numpy as np
import pytest
import torch
from made_up_views import cosine
from torch import nn

from cse.model.heads import MLPHead
from cse.objective.simcse import Simcse, info_nce
from cse.types import Encoded

MORE_TOYS = {  # for tests of every objective (tests/toys.py)
    "simcse_sup": ["objective=simcse_sup", "objective.hard_negative_weight=1.0"],
    "simcse_mlm": ["objective=simcse", "objective.mlm_weight=0.1"],
}


def draws(*shapes_scales) -> list[torch.Tensor]:
    """The reference's inputs: a fresh generator, standard normals times a scale, float32, then float64."""
    rng = np.random.default_rng(0)
    return [
        torch.from_numpy((rng.standard_normal(shape) * scale).astype(np.float32)).double().requires_grad_()
        for shape, scale in shapes_scales
    ]


def slow_info_nce(anchors, positives, temperature, hard=None, weight=0.0) -> float:
    """Eq. 4 and 5 as loops over floats."""

    def sim(x, y):
        return cosine(x, y) / temperature

    total = 0.0
    for i, anchor in enumerate(anchors):
        denominator = sum(math.exp(sim(anchor, positive)) for positive in positives)
        if hard is not None:
            denominator += sum(
                math.exp(sim(anchor, negative)) * (math.exp(weight) if i == j else 1) for j, negative in enumerate(hard)
            )
        total += -math.log(math.exp(sim(anchor, positives[i])) / denominator)
    return total / len(anchors)


# (views, weight of the hard negative): loss, norm of the gradient
REFERENCE = {(2, 0.0): (7.8765821, 2.5439336), (3, 0.0): (9.2355036, 2.9363561), (3, 1.0): (9.2719514, 2.9200507)}


@pytest.mark.parametrize(("views", "weight"), REFERENCE)
def test_authors_numbers(views, weight):
    (z,) = draws(((8, views, 16), 1.0))
    anchors, positives, *hard = z.unbind(1)
    loss = info_nce(anchors, positives, 0.05, *hard, hard_negative_weight=weight)
    loss.backward()
    assert (loss.item(), z.grad.norm().item()) == pytest.approx(REFERENCE[views, weight], rel=1e-6)


def test_authors_numbers_at_full_size():
    a, n = draws(((64, 768), 1.0), ((64, 768), 4.0))
    loss = info_nce(a, a + n, 0.05)
    loss.backward()
    numbers = loss.item(), a.grad.norm().item(), n.grad.norm().item()
    assert numbers == pytest.approx((0.5369673, 0.036666335, 0.0091291792), rel=1e-6)


def test_reference_with_the_head():
    h, weight, bias = draws(((8, 2, 16), 1.0), ((16, 16), 0.25), ((16,), 0.1))
    objective = simcse(dim=16).double()
    objective.head.linear.weight = nn.Parameter(weight.detach())
    objective.head.linear.bias = nn.Parameter(bias.detach())
    loss = objective([Encoded(h[:, 0]), Encoded(h[:, 1])])
    loss.total.backward()
    norms = [x.grad.norm().item() for x in (h, objective.head.linear.weight, objective.head.linear.bias)]
    assert (loss.total.item(), *norms) == pytest.approx((9.6751933, 5.0398388, 14.549073, 2.5654275), rel=1e-6)


@pytest.mark.parametrize("weight", [None, 0.0, 0.7])
def test_equals_the_formula_as_loops(weight):
    z = torch.randn(6, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    hard = None if weight is None else z[:, 2]
    fast = info_nce(z[:, 0], z[:, 1], 0.1, hard, weight or 0.0)
    slow = slow_info_nce(
        z[:, 0].tolist(), z[:, 1].tolist(), 0.1, None if hard is None else hard.tolist(), weight or 0.0
    )
    assert fast.item() == pytest.approx(slow, rel=1e-12)


def simcse(dim: int, **changes) -> Simcse:
    values = {"num_views": 2, "temperature": 0.05, "head": MLPHead, "keep_head": False, "hard_negative_weight": 0.0,
              "mlm_weight": 0.0}  # fmt: skip
    return Simcse(dim, **(values | changes))
