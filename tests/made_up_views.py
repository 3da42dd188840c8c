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
