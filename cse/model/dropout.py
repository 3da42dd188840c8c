"""Dropout for CPUs. On a CPU, torch's dropout masks take more time than anything else except the matrix products.

Here one 64-bit draw of torch's generator decides four elements, with 16 bits each. p is rounded to a multiple of
1/65536 (0.1 becomes 0.100006). The factor of kept elements uses the rounded p, so the expectation is exact.
"""

import torch
from torch import Tensor

LEVELS = 2**16


def keep(shape: torch.Size, p: float, dtype: torch.dtype) -> tuple[Tensor, float]:
    """Return (mask, factor) for 0 <= p < 1. mask: 1 for kept, 0 for dropped elements. factor: scales kept elements."""
    dropped, levels = round(p * LEVELS), _levels(shape)
    mask = torch.ge(levels, dropped - LEVELS // 2, out=torch.empty(shape, dtype=dtype))
    return mask, LEVELS / (LEVELS - dropped)


def add_dropped(residual: Tensor, x: Tensor, p: float) -> Tensor:
    """Return residual + dropout(x), computed in one pass."""
    mask, factor = keep(x.shape, p, x.dtype)
    return torch.addcmul(residual, x, mask, value=factor)


def drop_signs(shape: torch.Size, p: float, dtype: torch.dtype) -> tuple[Tensor, float]:
    """Return (signs, factor) for 0 <= p < 1. signs: negative for dropped elements. factor: scales kept elements.

    Here p is rounded to a multiple of 2/65536. With this p and this random state, `keep` drops the same elements."""
    dropped = 2 * round(p * LEVELS / 2)
    signs = _levels(shape).bitwise_right_shift_(1).sub_((dropped - LEVELS // 2) // 2)  # halved against overflow
    return signs.view(dtype) if dtype.itemsize == 2 else signs.to(dtype), LEVELS / (LEVELS - dropped)


def _levels(shape: torch.Size) -> Tensor:
    """Return random int16 numbers. Each of the LEVELS numbers has the same probability."""
    draws = torch.empty(-(-shape.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    return draws.view(torch.int16)[: shape.numel()].view(shape)
