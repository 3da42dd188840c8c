"""Two similar views in float64, on which other implementations were run for their numbers, and the cosine."""

import math
from collections.abc import Sequence

import numpy as np
import torch


def views(seed: int = 27, rows: int = 6, dim: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """(x, y) with y = x + noise / 2, from numpy's generator."""
    rng = np.random.default_rng(seed)
    x, noise = (torch.tensor(rng.standard_normal((rows, dim))) for _ in range(2))
    return x, x + noise / 2


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """For loops that are written from a formula."""
    return float(sum(p * q for p, q in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b))


def projections() -> tuple[torch.Tensor, torch.Tensor]:
    """Two similar views of 16 rows and 24 channels, as leaves, on which Barlow Twins' and VICReg's code were run."""
    rng = np.random.default_rng(20231017)
    a = rng.standard_normal((16, 24))
    b = 0.7 * a + 0.5 * rng.standard_normal((16, 24))
    return torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)


def numbers_of(loss: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[float, ...]:
    """The loss, the norms of both views' gradients, and an element of each."""
    grad_a, grad_b = torch.autograd.grad(loss, (a, b))
    return loss.item(), grad_a.norm().item(), grad_b.norm().item(), grad_a[0, 0].item(), grad_b[3, 5].item()
