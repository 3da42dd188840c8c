"""One step's loss and gradient: plain, or in chunks for batches larger than memory (GradCache, arXiv:2101.06983)."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor, nn

from cse.device import random_state, set_random_state, to_device
from cse.training.distributed import gather_views
from cse.types import Batch, Encoded, Loss, Tokens

Backward = Callable[[Tensor], None]

WIDTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""The length, in tokens, of a chunk's longest row is rounded up to one of these to decide how many rows fit."""


def width_of(longest: int) -> int:
    """The next of WIDTHS; beyond them, the length itself."""
    return next((width for width in WIDTHS if width >= longest), longest)


@dataclass(frozen=True)
class Chunks:
    """How to cut a batch larger than memory: into chunks of `rows` rows, in order, or of rows of similar length with at
    most `tokens` tokens, padding included (but one row at least). Exactly one of the two is given."""

    rows: int | None = None
    tokens: int | None = None

    def cut(self, lengths_B: Tensor) -> list[Tensor]:
        """The row numbers of each chunk; together they are 0..B-1. lengths_B: real tokens of each row, on the CPU."""
        if self.rows is not None:
            return list(torch.arange(len(lengths_B)).split(self.rows))
        assert self.tokens is not None
        order_B = lengths_B.argsort(descending=True, stable=True)
        lengths = lengths_B[order_B].tolist()
        pieces, start = [], 0
        while start < len(lengths):
            size = max(1, self.tokens // width_of(lengths[start]))  # the longest of a piece is its first
            pieces.append(order_B[start : start + size])
            start += size
        return pieces


def plain_step(
    encoder: nn.Module, objective: nn.Module, batch: Batch, backward: Backward, scale: str
) -> tuple[Loss, list[Encoded]]:
    """All views through the encoder in one forward, then the objective. Returns (Loss, views of this process)."""
    device = device_of(encoder)
    views = split(replace(encoder(batch.tokens.to(device)), **known(batch, device)), batch.sizes)
    loss = objective(gather_views(views, scale))
    backward(loss.total)
    return loss, views


def chunked_step(
    encoder: nn.Module, objective: nn.Module, batch: Batch, backward: Backward, scale: str, *, chunks: Chunks
) -> tuple[Loss, list[Encoded]]:
    """The same loss and gradient in the memory of one chunk: embed without a graph, take the loss's gradient with
    respect to the embeddings, then replay each chunk with the random state it had and push that gradient through.

    The batch is cut on the CPU, where it was made: asking a GPU for lengths would wait for it.
    """
    device = device_of(encoder)
    rows = chunks.cut(batch.tokens.mask_BT.sum(1).cpu())
    pieces = [rows_of(batch.tokens, numbers).to(device) for numbers in rows]
    order_B = torch.cat(rows)
    sizes = [len(numbers) for numbers in rows]
    states, encoded = [], []
    with torch.no_grad():
        for piece in pieces:
            states.append(random_state())
            encoded.append(encoder(piece))
    after = random_state()
    place_B = to_device(order_B.argsort(), device)
    leaf = Encoded(**{
        name: torch.cat([getattr(e, name) for e in encoded])[place_B]
        for name in ("pooled_BD", "mlm_nll_B", "mlm_count_B") if getattr(encoded[0], name) is not None
    })  # fmt: skip
    live = [x.requires_grad_() for x in (leaf.pooled_BD, leaf.mlm_nll_B) if x is not None]
    views = split(replace(leaf, **known(batch, device)), batch.sizes)
    loss = objective(gather_views(views, scale))
    backward(loss.total)
    order_B = to_device(order_B, device)
    grads = [(torch.zeros_like(x) if x.grad is None else x.grad)[order_B].split(sizes) for x in live]
    for piece, state, *mine in zip(pieces, states, *grads, strict=True):
        set_random_state(state)
        again = encoder(piece)
        outputs = [x for x in (again.pooled_BD, again.mlm_nll_B) if x is not None]
        torch.autograd.backward(outputs, [grad.to(x.dtype) for grad, x in zip(mine, outputs, strict=True)])
    set_random_state(after)
    return loss, views


def known(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    """What the loader knows of each row, on the device."""
    return {name: to_device(x, device) for name, x in batch.known.items()}


def split(encoded: Encoded, sizes: tuple[int, ...]) -> list[Encoded]:
    """Split joined rows into views of these sizes."""
    columns = {
        f.name: getattr(encoded, f.name).split(sizes) for f in fields(encoded) if getattr(encoded, f.name) is not None
    }
    return [Encoded(**{name: parts[i] for name, parts in columns.items()}) for i in range(len(sizes))]


def device_of(module: nn.Module) -> torch.device:
    """Where the module's parameters lie."""
    return next(module.parameters()).device


def rows_of(tokens: Tokens, numbers_b: Tensor) -> Tokens:
    """Those rows, padded only to the longest of them."""
    longest = int(tokens.mask_BT[numbers_b].sum(1).max())
    labels_bt = None if tokens.labels_BT is None else tokens.labels_BT[numbers_b, :longest]
    return Tokens(tokens.ids_BT[numbers_b, :longest], tokens.mask_BT[numbers_b, :longest], labels_bt)
