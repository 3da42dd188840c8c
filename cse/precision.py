"""The arithmetic of a loss: float32 or wider, whatever the encoder runs in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor

Precision = Literal["fp32", "bf16"]


@contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The tensors as float32 (float64 stays), with autocast off inside the block."""
    with torch.autocast(tensors[0].device.type, enabled=False):
        yield tuple(x.to(torch.promote_types(x.dtype, torch.float32)) for x in tensors)


def product(a: Tensor, b: Tensor, precision: Precision) -> Tensor:
    """a @ b, float32 or wider. bf16: of the factors rounded to bfloat16; sums are float32 inside, rounded once."""
    return a @ b if precision == "fp32" else (a.bfloat16() @ b.bfloat16()).float()
