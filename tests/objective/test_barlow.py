"""Barlow Twins against the authors' code in float64, and a slow version."""

import numpy as np
import pytest
import torch
from made_up_views import numbers_of, projections

from cse.objective.barlow import barlow_twins

MORE_TOYS = {"barlow_narrow": ["objective=barlow", "objective.head.hidden=9", "objective.head.out=9"]}


def toy(dim):
    """For tests of every objective (tests/toys.py): a projector wider than their batches, which is the Gram form."""
    return ["objective.head.hidden=24", "objective.head.out=24"]


# (lambda, eps): loss, gradient norms of both views, gradient of view 1 at [0, 0], of view 2 at [3, 5]
REFERENCE = {
    (0.005, 1e-5): (1.49330072, 0.46514216, 0.5754489, -0.03354574, -0.0069576),
    (0.025, 1e-5): (2.2413322, 0.47171681, 0.58575696, -0.03040541, -0.0102737),
    (0.005, 0.0): (1.49317951, 0.46512917, 0.57543207, -0.03354505, -0.00695941),
    (0.025, 0.0): (2.24123343, 0.47170437, 0.58574098, -0.0304047, -0.01027542),
}


@pytest.mark.parametrize(("lambd", "eps"), REFERENCE)
def test_authors_numbers(lambd, eps):
    a, b = projections()
    numbers = numbers_of(barlow_twins(a, b, lambd, eps).total, a, b)
    assert numbers == pytest.approx(REFERENCE[lambd, eps], rel=1e-6, abs=5e-9)  # the reference has 8 decimals


def slow(z1_BP, z2_BP, lambd):
    """Eq. 2 from Pearson's formula, channel by channel."""
    width = z1_BP.shape[1]
    rho = np.corrcoef(z1_BP.detach().T, z2_BP.detach().T)[:width, width:]
    invariance = sum((1 - rho[i, i]) ** 2 for i in range(width))
    redundancy = sum(rho[i, j] ** 2 for i in range(width) for j in range(width) if i != j)
    return invariance, redundancy, invariance + lambd * redundancy


@pytest.mark.parametrize(("rows", "width"), [(6, 9), (9, 9), (20, 4)])
def test_slow_version(rows, width):
    generator = torch.Generator().manual_seed(0)
    z1_BP, z2_BP = torch.randn(2, rows, width, generator=generator, dtype=torch.float64)
    loss = barlow_twins(z1_BP, z2_BP, 0.01, eps=0.0)
    numbers = loss.parts["invariance"].item(), loss.parts["redundancy"].item(), loss.total.item()
    assert numbers == pytest.approx(slow(z1_BP, z2_BP, 0.01), rel=1e-9)
