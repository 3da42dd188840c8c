"""The losses: the authors' numbers, the formulas as loops, properties, gradients."""

import math
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cse.aux_modality.supcon import Kind, contrast
from cse.errors import RunError

KINDS = get_args(Kind)
LABELS = torch.tensor([30, 7, 30, 2, 19, 7, 2, 30])
# Numbers of the authors' code run in float64 (NonLing-CSE 3e1e01c); eq4 and eq4_app from the formulas.
PUBLISHED = [
    ("rank_ce", 0.07, 4.0232536, 1.9762587),
    ("simclr", 0.07, 4.5923999, 1.9893356),
    ("supcon", 0.07, 6.4172826, 1.4347658),
    ("simclr_sym", 0.07, 5.9189081, 1.9731308),
    ("supcon", 0.05, 6.1309951, 1.52489),
    ("simclr_sym", 0.05, 5.6326206, 2.0402933),
    ("eq4", 0.07, 22.488686, 18.474001),
    ("eq4_app", 0.07, 20.424494, 17.480856),
]


def features(batch: int = 8, dim: int = 16, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """(2B, D): view 1, then view 2."""
    draw = np.random.default_rng(seed).standard_normal((2 * batch, dim)).astype(np.float32)
    return torch.from_numpy(draw).to(dtype)


@pytest.mark.parametrize(("kind", "temperature", "loss", "grad_norm"), PUBLISHED)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_published_numbers(kind, temperature, loss, grad_norm, dtype, tolerance):
    rows = features(dtype=dtype).requires_grad_()
    value = contrast(*rows.chunk(2), LABELS, temperature, kind)
    value.backward()
    assert value.item() == pytest.approx(loss, rel=tolerance)
    assert rows.grad.norm().item() == pytest.approx(grad_norm, rel=tolerance)


def slow(view1, view2, labels, t: float, kind: str) -> float:
    """Every loss from its formula, item by item."""

    def c(a, b) -> float:
        return (a @ b / (a.norm() * b.norm())).item() / t

    B = len(labels)
    terms = []
    if kind in ("supcon", "simclr_sym"):
        rows, classes = [*view1, *view2], [*labels.tolist(), *labels.tolist()]
        for a in range(2 * B):
            others = [r for r in range(2 * B) if r != a]
            positives = [r for r in others if r % B == a % B or (kind == "supcon" and classes[r] == classes[a])]
            below = sum(math.exp(c(rows[a], rows[r])) for r in others)
            logs = [math.log(math.exp(c(rows[a], rows[p])) / below) for p in positives]
            terms.append(-sum(logs) / len(logs) * t / 0.07)
        return sum(terms) / len(terms)
    ranks = sorted(set(labels.tolist()))
    for i in range(B):
        across = [math.exp(c(view1[i], view2[j])) for j in range(B)]
        if kind == "simclr":
            terms.append(-math.log(across[i] / sum(across)))
        elif kind == "rank_ce":
            terms.append(-math.log(across[ranks.index(labels[i].item())] / sum(across)))
        else:
            other_view = view1 if kind == "eq4" else view2
            mates = [math.exp(c(view1[i], other_view[j])) for j in range(B) if j != i and labels[j] == labels[i]]
            below = sum(across[j] for j in range(B) if labels[j] != labels[i])
            terms.append(-math.log((across[i] + sum(mates)) / below))
    return sum(terms) if kind.startswith("eq4") else sum(terms) / B


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [[0, 1, 2, 3, 4, 5], [5, 5, 2, 2, 2, 9], [1, 0, 0, 0, 0, 0]])
def test_equals_the_formula_in_loops(kind, labels):
    view1, view2 = features(6, 5, seed=3).chunk(2)
    labels = torch.tensor(labels)
    expected = slow(view1, view2, labels, 0.3, kind)
    assert contrast(view1, view2, labels, 0.3, kind).item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient(kind):
    view1, view2 = (x.clone().requires_grad_() for x in features(5, 4, seed=1).chunk(2))
    labels = torch.tensor([0, 1, 0, 2, 1])
    assert torch.autograd.gradcheck(lambda a, b: contrast(a, b, labels, 0.5, kind), (view1, view2))


@pytest.mark.parametrize("kind", KINDS)
def test_length_of_a_vector_does_not_matter(kind):
    view1, view2 = features(seed=2).chunk(2)
    stretched = contrast(view1 * torch.rand(8, 1, dtype=torch.float64).add(0.1), 7 * view2, LABELS, 0.07, kind)
    assert stretched.item() == pytest.approx(contrast(view1, view2, LABELS, 0.07, kind).item(), rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(8)), names=st.permutations(range(4)))
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "rank_ce"])
def test_neither_order_nor_names_of_classes_matter(kind, order, names):
    view1, view2 = features().chunk(2)
    labels = LABELS.unique(return_inverse=True)[1]
    shuffled = contrast(view1[order], view2[order], torch.tensor(names)[labels[order]], 0.07, kind)
    assert shuffled.item() == pytest.approx(contrast(view1, view2, labels, 0.07, kind).item(), rel=1e-12)


def test_rank_ce_depends_on_the_order_of_a_batch():
    """The bug itself: the rank of a class is taken for a position, so the same items in another order cost another."""
    view1, view2 = features().chunk(2)
    order = torch.arange(7, -1, -1)
    a = contrast(view1, view2, LABELS, 0.07, "rank_ce")
    b = contrast(view1[order], view2[order], LABELS[order], 0.07, "rank_ce")
    assert abs(a - b) > 0.1


def test_what_the_losses_become_without_classmates():
    view1, view2 = features().chunk(2)
    distinct = torch.arange(8)
    simclr = contrast(view1, view2, distinct, 0.07, "simclr")
    assert contrast(view1, view2, distinct, 0.07, "rank_ce") == simclr  # only if labels are distinct and sorted
    assert contrast(view1, view2, distinct.flip(0), 0.07, "rank_ce") != simclr
    assert contrast(view1, view2, distinct, 0.07) == contrast(view1, view2, distinct, 0.07, "simclr_sym")
    # the paper says that Eq. 4 degenerates to SimCLR; it does not: the positive is missing below the line
    assert abs(contrast(view1, view2, distinct, 0.07, "eq4") / 8 - simclr) > 0.1


def test_how_rarely_rank_ce_aims_at_the_right_item():
    """2 % own view, 4 % same class; 55 % of the anchors do have a classmate, which the paper calls unlikely."""
    rng = np.random.default_rng(0)
    own = same = classmate = distinct = 0.0
    for _ in range(500):
        labels = rng.choice(np.repeat(np.arange(60), 500), 48, replace=False)
        target = np.unique(labels, return_inverse=True)[1]
        own += (target == np.arange(48)).mean() / 500
        same += (labels[target] == labels).mean() / 500
        classmate += ((labels[:, None] == labels).sum(1) > 1).mean() / 500
        distinct += len(set(labels)) / 500
    assert own == pytest.approx(0.0209, abs=0.004)
    assert same == pytest.approx(0.0365, abs=0.005)
    assert classmate == pytest.approx(0.547, abs=0.02)
    assert distinct == pytest.approx(33.19, abs=0.5)


@pytest.mark.parametrize("kind", ["eq4", "eq4_app"])
def test_one_class_leaves_eq4_undefined(kind):
    view1, view2 = features(4, 3).chunk(2)
    with pytest.raises(RunError, match=r"all 4 of this batch are of class 7.*loss=supcon"):
        contrast(view1, view2, torch.full((4,), 7), 0.07, kind)


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.startswith("eq4")])
def test_one_class_is_fine_elsewhere(kind):
    rows = features(4, 3).requires_grad_()
    contrast(*rows.chunk(2), torch.zeros(4, dtype=torch.long), 0.07, kind).backward()
    assert rows.grad.isfinite().all()


def test_no_unknown_loss_is_taken_for_another():
    with pytest.raises(AssertionError, match="eq6"):
        contrast(torch.randn(4, 8), torch.randn(4, 8), torch.tensor([0, 0, 1, 1]), 0.05, kind="eq6")
