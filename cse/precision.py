"""The arithmetic of a loss: float32 or wider, whatever the encoder runs in."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The tensors as float32 (float64 stays), with autocast off inside the block."""
    with torch.autocast(tensors[0].device.type, enabled=False):
        yield tuple(x.to(torch.promote_types(x.dtype, torch.float32)) for x in tensors)
