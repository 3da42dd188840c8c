"""SimCSE's loss against the authors' numbers, and against loops from Eq. 4 and 5; its head and its MLM term."""

import math

import numpy as np
import pytest
import torch
from made_up_views import cosine
from sentence_transformers.sentence_transformer import losses
from torch import nn
from torch.nn.functional import normalize

from cse.model.heads import MLPHead
from cse.objective.simcse import Simcse, info_nce
from cse.types import Encoded

MORE_TOYS = {  # for tests of every objective (tests/toys.py)
    "simcse_sup": ["objective=simcse_sup", "objective.num_views=3", "objective.hard_negative_weight=1.0"],
    "simcse_negatives": [
        "objective=simcse_sup",
        "objective.num_views=5",
        "objective.hard_negative_weight=0.5",
        "objective.head=null",
        "objective.symmetric=true",
    ],
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


def slow_with_negatives(anchors, positives, negatives_KBD, missing_KB, temperature, weight) -> float:
    """The equation in numpy: unit vectors, one exponential after the other."""
    anchors, positives, *negatives = (
        x / np.linalg.norm(x, axis=1, keepdims=True) for x in (anchors, positives, *negatives_KBD)
    )
    total = 0.0
    for i, anchor in enumerate(anchors):
        terms = [np.exp(anchor @ positive / temperature) for positive in positives]
        for of_view, missing in zip(negatives, missing_KB, strict=True):
            for j, negative in enumerate(of_view):
                own = np.exp(weight) if i == j else 1.0
                terms.append(0.0 if missing[j] else own * np.exp(anchor @ negative / temperature))
        total -= np.log(np.exp(anchor @ positives[i] / temperature) / sum(terms))
    return total / len(anchors)


def rows(count: int, rows: int = 6, dim: int = 5, seed: int = 1) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return list(torch.randn(count, rows, dim, dtype=torch.float64, generator=generator))


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("weight", [0.0, 0.7])
@pytest.mark.parametrize("is_missing", [False, True])
def test_any_number_of_negatives_equals_the_formula(count, weight, is_missing):
    anchors, positives, *negatives = rows(2 + count)
    missing_KB = torch.rand(count, 6, generator=torch.Generator().manual_seed(3)) < 0.5 * is_missing
    slow = slow_with_negatives(*(x.numpy() for x in (anchors, positives)), [x.numpy() for x in negatives],
                               missing_KB.numpy(), 0.1, weight)  # fmt: skip
    joined = torch.cat(negatives) if negatives else None
    missing_N = missing_KB.flatten() if negatives else None
    assert info_nce(anchors, positives, 0.1, joined, weight, missing_N).item() == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("symmetric", [False, True])
def test_sentence_transformers_losses(count, symmetric):
    """Its cosines are multiplied by 20: a temperature of 0.05."""
    views = [x.requires_grad_() for x in rows(2 + count)]
    directions = ("query_to_doc", "doc_to_query") if symmetric else ("query_to_doc",)
    kind = losses.MultipleNegativesRankingLoss(None, directions=directions, partition_mode="per_direction")
    theirs = kind.compute_loss_from_embeddings(views, None)
    ours = simcse(5, num_views=len(views), head=None, symmetric=symmetric)([Encoded(x) for x in views]).total
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)
    torch.testing.assert_close(torch.autograd.grad(ours, views), torch.autograd.grad(theirs, views))


def test_in_the_other_direction_hard_negatives_are_left_out():
    anchors, positives, *negatives = rows(4)
    objective = simcse(5, num_views=4, head=None, symmetric=True)
    forth = info_nce(anchors, positives, 0.05, torch.cat(negatives))
    back = info_nce(positives, anchors, 0.05)
    views = [Encoded(x) for x in (anchors, positives, *negatives)]
    torch.testing.assert_close(objective(views).total, (forth + back) / 2)


def test_the_order_of_the_columns_of_negatives_changes_nothing():
    anchors, positives, *negatives = rows(5)
    missing = [torch.rand(6, generator=torch.Generator().manual_seed(i)) < 0.3 for i in range(3)]
    found = [
        info_nce(anchors, positives, 0.1, torch.cat([negatives[i] for i in order]), 0.4,
                 torch.cat([missing[i] for i in order]))
        for order in ([0, 1, 2], [2, 0, 1])
    ]  # fmt: skip
    torch.testing.assert_close(*found)


def test_a_missing_negative_is_one_that_does_not_exist():
    """Value and gradient: of one in each row, all of a column; of some rows, by a softmax over what is there."""
    views = [x.requires_grad_() for x in rows(4)]
    some = torch.tensor([True, False, True, False, False, True])
    objective = simcse(5, num_views=4, head=None)

    def loss(missing_2, missing_3):
        known = [{"missing_B": torch.zeros(6, dtype=torch.bool)}] * 2 + [
            {"missing_B": x} for x in (missing_2, missing_3)
        ]
        return objective([Encoded(x, more) for x, more in zip(views, known, strict=True)]).total

    without = loss(~some & some, some | ~some)
    torch.testing.assert_close(without, info_nce(*views[:2], 0.05, views[2]))
    assert not torch.autograd.grad(without, views[3])[0].any()
    found = loss(some, some | ~some)
    unit = [normalize(x) for x in views]
    logits = torch.cat([unit[0] @ unit[1].T, unit[0] @ unit[2][~some].T], 1) / 0.05
    torch.testing.assert_close(found, nn.functional.cross_entropy(logits, torch.arange(6)))
    (gradient,) = torch.autograd.grad(found, views[2])
    assert not gradient[some].any()
    assert gradient[~some].all()


def simcse(dim: int, **changes) -> Simcse:
    values = {"num_views": 2, "temperature": 0.05, "head": MLPHead, "keep_head": False, "hard_negative_weight": 0.0,
              "mlm_weight": 0.0}  # fmt: skip
    return Simcse(dim, **(values | changes))
