"""Reductions over the rows of a B x C similarity matrix, in blocks of rows. Only one block is in memory at a time.

At B = C = 65,536 such a matrix takes 16 GiB in float32, and a loss needs several. A block has at most MAX_ELEMENTS
numbers. The backward pass computes each block again. A matrix that fits into one block is computed once.

Several processes that have the same rows share the work: see `shared_rows`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.checkpoint import checkpoint

MAX_ELEMENTS = 2**26  # 256 MiB in float32; 8,192 x 8,192

_PROCESS = ContextVar("the rank of this process and the number of processes that share rows", default=(0, 1))


@contextmanager
def shared_rows() -> Iterator[None]:
    """In this `with` block, `blockwise` computes a contiguous share of rows on each process, and joins the shares.

    Only the loss of the global batch is computed in this block (cse.training.step). All processes must make the same
    calls with the same rows. Every process gets the results of all rows. A process multiplies the gradient of its own
    rows by the number of processes. So the mean of the gradients over processes is the exact gradient.
    """
    token = _PROCESS.set((dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1))
    try:
        yield
    finally:
        _PROCESS.reset(token)


class _Join(torch.autograd.Function):
    """Join the rows of one process, from index `first` on, with the rows of the other processes: (num_rows, ...)."""

    @staticmethod
    def forward(ctx, rows: Tensor, first: int, num_rows: int, world: int) -> Tensor:
        ctx.own, ctx.world = slice(first, first + len(rows)), world
        whole = rows.new_zeros(num_rows, *rows.shape[1:])
        whole[ctx.own] = rows
        dist.all_reduce(whole)  # a sum with zeros, because shares may differ in length
        return whole

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return grad[ctx.own] * ctx.world, None, None, None


def blockwise(reduce_rows: Callable[[int, int], Tensor], num_rows: int, num_columns: int) -> Tensor:
    """Return reduce_rows(0, num_rows), computed block by block. reduce_rows(start, end) returns (end - start, ...).

    In `shared_rows` a process calls reduce_rows only for its share. If there are fewer rows than processes, some shares
    are empty.
    """
    # torch.compile cannot trace a ContextVar; compiled code computes all rows on every process
    rank, world = (0, 1) if torch.compiler.is_compiling() else _PROCESS.get()
    first, last = num_rows * rank // world, num_rows * (rank + 1) // world
    size = max(1, MAX_ELEMENTS // num_columns)
    if last - first <= size:
        rows = reduce_rows(first, last)
    else:
        blocks = [
            checkpoint(reduce_rows, start, min(start + size, last), use_reentrant=False, preserve_rng_state=False)
            for start in range(first, last, size)
        ]
        rows = torch.cat(blocks)
    return rows if world == 1 else _Join.apply(rows, first, num_rows, world)
