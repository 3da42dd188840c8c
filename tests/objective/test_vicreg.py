"""VICReg against the paper's Eq. 3 and the authors' code in float64, and a slow version."""

import numpy as np
import pytest
import torch
from made_up_views import numbers_of, projections

from cse.objective.vicreg import vicreg


def toy(dim):
    """For tests of every objective (tests/toys.py): a projector wider than their batches, which is the Gram form."""
    return ["objective.head.hidden=24", "objective.head.out=24"]


# (norm, weights): loss, gradient norms of both views, gradient of view 1 at [0, 0], of view 2 at [3, 5]
REFERENCE = {
    ("paper", (25, 25, 1)): (242.99701962, 38.17754142, 38.2559, -0.85745124, -0.53025587),
    ("reference", (25, 25, 1)): (15.40293019, 1.69257604, 1.68286182, -0.0502122, 0.00598334),
    ("paper", (1, 10, 0.01)): (12.14640009, 1.48810207, 1.59723285, -0.04949759, 0.00577844),
    ("reference", (1, 10, 0.01)): (1.79643143, 0.1736745, 0.24664224, -0.00968151, 0.01382825),
}


@pytest.mark.parametrize(("norm", "weights"), REFERENCE)
def test_authors_numbers(norm, weights):
    a, b = projections()
    numbers = numbers_of(vicreg(a, b, *weights, norm=norm).total, a, b)
    assert numbers == pytest.approx(REFERENCE[norm, weights], rel=1e-6, abs=5e-9)  # the reference has 8 decimals


def slow(z1_BP, z2_BP, invariance, variance, covariance, eps=1e-4):
    """Eq. 3, sum by sum."""
    z1, z2 = z1_BP.numpy(), z2_BP.numpy()
    rows, width = z1.shape
    total = invariance / rows * sum(np.linalg.norm(z1[n] - z2[n]) ** 2 for n in range(rows))
    for z in (z1, z2):
        mean = [sum(z[n, i] for n in range(rows)) / rows for i in range(width)]
        for i in range(width):
            for j in range(width):
                c = sum((z[n, i] - mean[i]) * (z[n, j] - mean[j]) for n in range(rows)) / (rows - 1)
                total += variance / width * max(0, 1 - np.sqrt(c + eps)) if i == j else covariance / width * c**2
    return total


@pytest.mark.parametrize(("rows", "width"), [(6, 9), (9, 9), (20, 4)])
def test_slow_version(rows, width):
    z_MBP = 0.8 * torch.randn(2, rows, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = slow(*z_MBP, 2.0, 3.0, 0.5)
    assert vicreg(*z_MBP, 2.0, 3.0, 0.5).total.item() == pytest.approx(expected, rel=1e-10)
