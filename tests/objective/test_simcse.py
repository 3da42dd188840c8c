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


def test_unsupervised_reference():
    (z,) = draws(((8, 2, 16), 1.0))
    loss = info_nce(z[:, 0], z[:, 1], 0.05)
    loss.backward()
    assert loss.item() == pytest.approx(7.8765821, rel=1e-6)
    assert z.grad.norm().item() == pytest.approx(2.5439336, rel=1e-6)


def test_unsupervised_reference_at_full_size():
    a, n = draws(((64, 768), 1.0), ((64, 768), 4.0))
    loss = info_nce(a, a + n, 0.05)
    loss.backward()
    assert loss.item() == pytest.approx(0.5369673, rel=1e-6)
    assert a.grad.norm().item() == pytest.approx(0.036666335, rel=1e-6)
    assert n.grad.norm().item() == pytest.approx(0.0091291792, rel=1e-6)


def test_reference_with_the_head():
    h, weight, bias = draws(((8, 2, 16), 1.0), ((16, 16), 0.25), ((16,), 0.1))
    objective = simcse(dim=16).double()
    objective.head.linear.weight = nn.Parameter(weight.detach())
    objective.head.linear.bias = nn.Parameter(bias.detach())
    loss = objective([Encoded(h[:, 0]), Encoded(h[:, 1])])
    loss.total.backward()
    assert loss.total.item() == pytest.approx(9.6751933, rel=1e-6)
    assert h.grad.norm().item() == pytest.approx(5.0398388, rel=1e-6)
    assert objective.head.linear.weight.grad.norm().item() == pytest.approx(14.549073, rel=1e-6)
    assert objective.head.linear.bias.grad.norm().item() == pytest.approx(2.5654275, rel=1e-6)


@pytest.mark.parametrize(("weight", "value", "norm"), [(0.0, 9.2355036, 2.9363561), (1.0, 9.2719514, 2.9200507)])
def test_supervised_reference(weight, value, norm):
    (z,) = draws(((8, 3, 16), 1.0))
    loss = info_nce(z[:, 0], z[:, 1], 0.05, z[:, 2], weight)
    loss.backward()
    assert loss.item() == pytest.approx(value, rel=1e-6)
    assert z.grad.norm().item() == pytest.approx(norm, rel=1e-6)


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


def test_the_head_stays_at_test_time_where_it_is_kept():
    assert simcse(16).test_head() is None
    objective = simcse(16, keep_head=True)
    assert objective.test_head() is objective.head


def test_negatives_are_all_candidates_but_the_positive():
    assert simcse(4).negatives(8) == 7
    assert simcse(4, num_views=3).negatives(8) == 15  # each anchor's hard negative too


def test_mlm_term_is_weighted_mean_over_masked_tokens():
    objective = simcse(4, mlm_weight=0.1)
    assert objective.masking == "copies"
    z = torch.randn(2, 3, 4)
    masked = Encoded(
        torch.zeros(6, 4), mlm_nll_B=torch.tensor([2.0, 0, 4, 0, 0, 6]), mlm_count_B=torch.tensor([1, 0, 2, 0, 0, 1])
    )
    loss = objective([Encoded(z[0]), Encoded(z[1]), masked])
    assert loss.parts["mlm"].item() == pytest.approx(12 / 4)
    assert loss.total.item() == pytest.approx(loss.parts["contrastive"].item() + 0.1 * 3, rel=1e-6)
