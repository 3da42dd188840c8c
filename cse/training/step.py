"""One step's loss and gradient: plain, or in chunks for batches larger than memory (GradCache, arXiv:2101.06983)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cse.device import random_state, set_random_state, to_device
from cse.errors import UserError, class_name
from cse.objective.blockwise import shared_rows
from cse.training.distributed import gather_views
from cse.types import Batch, Encoded, Loss, Tokens

Backward = Callable[[Tensor], None]

WIDTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Lengths in tokens. The longest row's length, rounded up to one of WIDTHS, decides how many rows a chunk has."""


def width_of(longest: int) -> int:
    """Return `longest` rounded up to one of WIDTHS, or unchanged if `longest` is above all WIDTHS."""
    return next((width for width in WIDTHS if width >= longest), longest)


@dataclass(frozen=True)
class Chunks:
    """How to split a batch that is larger than memory. Give either rows or tokens.

    rows: chunks of this many rows, in order. tokens: chunks of rows of similar length, with at most this many tokens,
    including padding, but at least one row."""

    rows: int | None = None
    tokens: int | None = None

    def cut(self, lengths_B: Tensor) -> list[Tensor]:
        """Return the indices of each chunk's rows. lengths_B: the number of real tokens of each row, on the CPU."""
        if self.rows is not None:
            return list(torch.arange(len(lengths_B)).split(self.rows))
        assert self.tokens is not None
        order_B = lengths_B.argsort(descending=True, stable=True)
        lengths = lengths_B[order_B].tolist()
        pieces, start = [], 0
        while start < len(lengths):
            size = max(1, self.tokens // width_of(lengths[start]))  # the first row of a piece is its longest
            pieces.append(order_B[start : start + size])
            start += size
        return pieces


def plain_step(
    encoder: nn.Module, objective: nn.Module, batch: Batch, backward: Backward, scale: str
) -> tuple[Loss, list[Encoded]]:
    """Encode all views in one pass, compute the loss, and backpropagate. Return (Loss, views of the global batch)."""
    views = gather_views(split(encoder(batch.tokens.to(device_of(encoder))), batch), scale)
    loss = loss_of(objective, views)
    backward(loss.total)
    check_reached(objective, encoder.parameters())
    return loss, views


def loss_of(objective: nn.Module, views: list[Encoded]) -> Loss:
    """Return the loss of the global batch's views. Each process computes the similarities of its share of the rows.

    Raises UserError if the objective does not return a Loss.
    """
    with shared_rows():
        loss = objective(views)
    name = class_name(type(objective))
    asked = f"{name}: forward must return cse.types.Loss(total, parts), scalar tensors"
    if not isinstance(loss, Loss):
        raise UserError(f"{asked}, not {type(loss).__name__}")
    for key, one in [("total", loss.total), *loss.parts.items()]:
        if not isinstance(one, Tensor):
            raise UserError(f"{asked}: {key} is {type(one).__name__}")
        if one.dim():
            raise UserError(f"{asked}: {key} has shape {[*one.shape]}")
    if not loss.total.requires_grad:
        raise UserError(f"{name}: the total that forward returns has no gradient (detach, .item(), torch.no_grad?)")
    return loss


def check_reached(objective: nn.Module, sources: Iterable[Tensor]) -> None:
    """Raise UserError if the loss gives no gradient to any of `sources`: the encoder's weights, or its outputs."""
    if all(source.grad is None for source in sources):
        name = class_name(type(objective))
        raise UserError(f"{name}: the loss does not depend on the embeddings (detach, .item(), torch.no_grad?)")


def chunked_step(
    encoder: nn.Module, objective: nn.Module, batch: Batch, backward: Backward, scale: str, *, chunks: Chunks
) -> tuple[Loss, list[Encoded]]:
    """Compute the loss and gradient of `plain_step` in the memory of one chunk.

    First encode all chunks without a graph, and take the gradient of the loss with respect to the embeddings. Then
    encode each chunk again with the same random state, and backpropagate this gradient. The batch is split on the CPU,
    where it was made, because reading lengths from a GPU would wait for the GPU.
    """
    device = device_of(encoder)
    rows = chunks.cut(batch.tokens.mask_BT.sum(1).cpu())
    pieces = [rows_of(batch.tokens, numbers).to(device) for numbers in rows]
    sizes = [len(numbers) for numbers in rows]
    states, encoded = [], []
    with torch.no_grad():
        for piece in pieces:
            states.append(random_state())
            encoded.append(encoder(piece))
    after = random_state()
    order_B = torch.cat(rows)
    order_B, inverse_B = to_device(order_B, device), to_device(order_B.argsort(), device)
    pooled_BD = torch.cat([one.pooled_BD for one in encoded])[inverse_B]
    known = {name: torch.cat([one.known[name] for one in encoded])[inverse_B] for name in encoded[0].known}
    # these are leaves of the loss's graph: the gradient stops here
    live = [x.requires_grad_() for x in (pooled_BD, *known.values()) if x.is_floating_point()]
    views = gather_views(split(Encoded(pooled_BD, known), batch), scale)
    loss = loss_of(objective, views)
    backward(loss.total)
    check_reached(objective, live)
    grads = [(torch.zeros_like(x) if x.grad is None else x.grad)[order_B].split(sizes) for x in live]
    for piece, state, *mine in zip(pieces, states, *grads, strict=True):
        set_random_state(state)
        again = encoder(piece)
        outputs = [x for x in (again.pooled_BD, *again.known.values()) if x.is_floating_point()]
        with torch.autocast(device.type, enabled=False):  # as in Update.backward
            torch.autograd.backward(outputs, [grad.to(x.dtype) for grad, x in zip(mine, outputs, strict=True)])
    set_random_state(after)
    return loss, views


def split(encoded: Encoded, batch: Batch) -> list[Encoded]:
    """Return the views of the batch: split the encoded rows, and add the data in `batch.known`."""
    given = {name: to_device(x, encoded.pooled_BD.device) for name, x in batch.known.items()}
    known = {name: x.split(batch.sizes) for name, x in (encoded.known | given).items()}
    pooled = encoded.pooled_BD.split(batch.sizes)
    return [Encoded(x_BD, {name: parts[i] for name, parts in known.items()}) for i, x_BD in enumerate(pooled)]


def device_of(module: nn.Module) -> torch.device:
    """Return the device of the module's parameters."""
    return next(module.parameters()).device


def rows_of(tokens: Tokens, numbers_b: Tensor) -> Tokens:
    """Return these rows, padded only to the longest row."""
    longest = int(tokens.mask_BT[numbers_b].sum(1).max())
    labels_bt = None if tokens.labels_BT is None else tokens.labels_BT[numbers_b, :longest]
    return Tokens(tokens.ids_BT[numbers_b, :longest], tokens.mask_BT[numbers_b, :longest], labels_bt)
