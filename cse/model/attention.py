"""Attention with dropout on a CPU, in blocks of rows. A block is so small that its scores stay in the cache.

The batch has N tokens. A block has n tokens in b rows, and its longest row has t tokens. H is the number of heads, D
the width, and d = D / H. Autograd would keep three tensors (b, H, t, t): probabilities, mask, and probabilities after
dropout. Here autograd keeps only the probabilities, negative where dropped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from cse.model.dropout import drop_signs

BLOCK = 2**21  # b * H * t * t; in bf16 4 MB of scores


@dataclass(frozen=True)
class Block:
    """The rows with the tokens start:stop of the batch. shape: (b, t). index_n: the tokens' indices in the padded block
    of b * t tokens. keys_b11t: True for real tokens. Without padding index_n and keys_b11t are None."""

    start: int
    stop: int
    shape: tuple[int, int]
    index_n: Tensor | None = None
    keys_b11t: Tensor | None = None

    def padded(self, x_ND: Tensor, parts: int, heads: int) -> Sequence[Tensor]:
        """Return the block's tokens of x_ND, (N, parts * D), as `parts` tensors (b, H, t, d), with zeros at padding."""
        x_nD = x_ND[self.start : self.stop]
        if self.index_n is not None:
            cells = x_nD.new_zeros(math.prod(self.shape), x_nD.shape[1])
            x_nD = cells.index_copy_(0, self.index_n, x_nD)
        return x_nD.view(*self.shape, parts, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def packed(self, *parts_bHtd: Tensor) -> Tensor:
        """Reverse `padded`: return (n, parts * D) from tensors (b, H, t, d)."""
        x_nD = torch.cat([x_bHtd.transpose(1, 2).flatten(2) for x_bHtd in parts_bHtd], -1).flatten(0, 1)
        return x_nD if self.index_n is None else x_nD.index_select(0, self.index_n)


def blocks_of(lengths: Sequence[int], heads: int) -> list[Block]:
    """Return blocks of at most BLOCK scores, or of one row. lengths: the number of tokens of each row, ascending."""
    blocks: list[Block] = []
    first = start = 0
    for row, length in enumerate(lengths):
        following = lengths[row + 1] if row + 1 < len(lengths) else math.inf
        if (row + 2 - first) * heads * following**2 > BLOCK:
            lengths_b = torch.tensor(lengths[first : row + 1])
            real_bt = torch.arange(length) < lengths_b[:, None]
            stop, shape = start + int(lengths_b.sum()), (len(lengths_b), length)
            if real_bt.all():
                blocks.append(Block(start, stop, shape))
            else:
                index_n = real_bt.flatten().nonzero()[:, 0]
                blocks.append(Block(start, stop, shape, index_n, real_bt[:, None, None]))
            first, start = row + 1, stop
    return blocks


class Attend(torch.autograd.Function):
    """Attention over queries, keys and values (N, 3 D): dropout(softmax(Q K^T / sqrt(d))) V, (N, D).

    Tokens outside all blocks get zeros."""

    @staticmethod
    def forward(ctx, qkv_N3D: Tensor, blocks: list[Block], heads: int, p: float) -> Tensor:
        rows, kept = [], []
        for block in blocks:
            query, key, value = block.padded(qkv_N3D, 3, heads)
            query = query * query.shape[-1] ** -0.5
            scores_bHtt = query @ key.mT
            if block.keys_b11t is not None:
                bias_b11t = scores_bHtt.new_zeros(block.keys_b11t.shape)
                scores_bHtt += bias_b11t.masked_fill_(~block.keys_b11t, -torch.inf)
            signed_bHtt = scores_bHtt.softmax(-1)
            signs_bHtt, factor = drop_signs(signed_bHtt.shape, p, signed_bHtt.dtype)
            torch.copysign(signed_bHtt, signs_bHtt, out=signed_bHtt)
            value = value * factor
            rows.append(block.packed(signed_bHtt.clamp_min(0) @ value))
            kept += [query, key, value, signed_bHtt]
        ctx.save_for_backward(*kept)
        ctx.blocks, ctx.heads, ctx.factor = blocks, heads, factor
        return _joined(rows, len(qkv_N3D))

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_ND: Tensor) -> tuple[Tensor, None, None, None]:
        rows, saved = [], iter(ctx.saved_tensors)
        for block, query, key, value, signed_bHtt in zip(ctx.blocks, saved, saved, saved, saved, strict=True):
            (grad,) = block.padded(grad_ND, 1, ctx.heads)
            grad_value = (signed_bHtt.clamp_min(0).mT @ grad) * ctx.factor
            grad_bHtt = torch.ops.aten.threshold_backward(grad @ value.mT, signed_bHtt, 0)
            grad_bHtt = torch._softmax_backward_data(grad_bHtt, signed_bHtt.abs(), -1, signed_bHtt.dtype)
            rows.append(block.packed((grad_bHtt @ key) * query.shape[-1] ** -0.5, grad_bHtt.mT @ query, grad_value))
        return _joined(rows, len(grad_ND)), None, None, None


def _joined(rows: list[Tensor], length: int) -> Tensor:
    """Return the outputs of all blocks as one tensor, followed by rows of zeros up to `length` rows."""
    more = length - sum(map(len, rows))
    return torch.cat([*rows, rows[0].new_zeros(more, rows[0].shape[1])]) if more or len(rows) > 1 else rows[0]
