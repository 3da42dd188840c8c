"""Row by row: what a contrastive loss needs of the B x C similarities, without ever holding all of them.

At B = 65,536 one such matrix is 16 GiB in float32, and a loss holds several. A block of rows holds at most CELLS
numbers and is computed again for its gradient. Where the whole is no larger, it is one block, computed once.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

CELLS = 2**26  # 256 MiB in float32: rows and columns up to 8,192


def by_rows(rows_of: Callable[[int, int], Tensor], num_rows: int, num_columns: int) -> Tensor:
    """rows_of(start, end) -> (end - start, ...), for all rows: (num_rows, ...), same values and gradient."""
    size = max(1, CELLS // num_columns)
    if num_rows <= size:
        return rows_of(0, num_rows)
    blocks = [
        checkpoint(rows_of, start, min(start + size, num_rows), use_reentrant=False, preserve_rng_state=False)
        for start in range(0, num_rows, size)
    ]
    return torch.cat(blocks)
