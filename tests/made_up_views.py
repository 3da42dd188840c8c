"""Synthetic views in float64, for which other implementations gave the expected numbers. A cosine in plain Python."""

import math
from collections.abc import Sequence

import numpy as np
import torch


def views(seed: int = 27, rows: int = 6, dim: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (x, y) with y = x + noise / 2, from numpy's generator."""
    rng = np.random.default_rng(seed)
    x, noise = (torch.tensor(rng.standard_normal((rows, dim))) for _ in range(2))
    return x, x + noise / 2


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the cosine of two lists of numbers, for tests in which a formula is written as loops."""
    return float(sum(p * q for p, q in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b))


def projections() -> tuple[torch.Tensor, torch.Tensor]:
    """Return two similar views of 16 rows and 24 channels, with gradients: the input of the authors' code.

    The authors' code is that of Barlow Twins and of VICReg.
    """
    rng = np.random.default_rng(20231017)
    a = rng.standard_normal((16, 24))
    b = 0.7 * a + 0.5 * rng.standard_normal((16, 24))
    return torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)


def numbers_of(loss: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[float, ...]:
    """Return the loss, the norms of both views' gradients, and one element of each gradient."""
    grad_a, grad_b = torch.autograd.grad(loss, (a, b))
    return loss.item(), grad_a.norm().item(), grad_b.norm().item(), grad_a[0, 0].item(), grad_b[3, 5].item()
