"""The contrastive losses: the authors' numbers, the formulas in loops, gradients."""

import math
from typing import get_args

import numpy as np
import pytest
import torch

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
def test_loss_and_gradient_have_the_numbers_of_the_authors_code(kind, temperature, loss, grad_norm, dtype, tolerance):
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
@pytest.mark.parametrize("labels", [[0, 1, 2, 3, 4, 5], [5, 5, 2, 2, 2, 9], [1, 0, 0, 0, 0, 0], [7] * 6])
def test_the_loss_equals_its_formula_in_loops(kind, labels):
    view1, view2 = features(6, 5, seed=3).chunk(2)
    labels = torch.tensor(labels)
    if kind.startswith("eq4") and len(labels.unique()) == 1:  # its denominator would be empty
        with pytest.raises(RunError, match="class 7"):
            contrast(view1, view2, labels, 0.3, kind)
        return
    expected = slow(view1, view2, labels, 0.3, kind)
    assert contrast(view1, view2, labels, 0.3, kind).item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_finite_differences(kind):
    view1, view2 = (x.clone().requires_grad_() for x in features(5, 4, seed=1).chunk(2))
    labels = torch.tensor([0, 1, 0, 2, 1])
    assert torch.autograd.gradcheck(lambda a, b: contrast(a, b, labels, 0.5, kind), (view1, view2))
