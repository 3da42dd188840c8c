"""Reductions over the rows of a B x C similarity matrix, in blocks of rows. The whole matrix is never in memory.

At B = 65,536 one such matrix takes 16 GiB in float32, and a loss needs several. A block has at most MAX_ELEMENTS
numbers. The backward pass computes each block again. A matrix that fits into one block is computed once.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

MAX_ELEMENTS = 2**26  # 256 MiB in float32; 8,192 x 8,192


def blockwise(reduce_rows: Callable[[int, int], Tensor], num_rows: int, num_columns: int) -> Tensor:
    """Join reduce_rows(start, end), (end - start, ...), over all rows: (num_rows, ...), with the same gradient."""
    size = max(1, MAX_ELEMENTS // num_columns)
    if num_rows <= size:
        return reduce_rows(0, num_rows)
    blocks = [
        checkpoint(reduce_rows, start, min(start + size, num_rows), use_reentrant=False, preserve_rng_state=False)
        for start in range(0, num_rows, size)
    ]
    return torch.cat(blocks)
