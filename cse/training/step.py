"""One step's loss and gradient: plain, or in chunks for batches larger than memory (GradCache, arXiv:2101.06983)."""

from collections.abc import Callable
from dataclasses import fields

import torch
from torch import Tensor, nn

from cse.training.distributed import gather_views
from cse.types import Batch, Encoded, Loss, Tokens

Backward = Callable[[Tensor], None]


def plain_step(
    encoder: nn.Module, objective: nn.Module, batch: Batch, backward: Backward, scale: str
) -> tuple[Loss, list[Encoded]]:
    """All views through the encoder in one forward, then the objective. Returns (Loss, views of this process)."""
    views = split(encoder(batch.tokens), batch.sizes)
    loss = objective(gather_views(views, scale))
    backward(loss.total)
    return loss, views


def chunked_step(
    encoder: nn.Module, objective: nn.Module, batch: Batch, backward: Backward, scale: str, chunk: int
) -> tuple[Loss, list[Encoded]]:
    """The same loss and gradient in the memory of `chunk` rows: embed without a graph, take the loss's gradient with
    respect to the embeddings, then replay each chunk with the random state it had and push that gradient through."""
    pieces = [_rows(batch.tokens, i, i + chunk) for i in range(0, len(batch.tokens.ids_BT), chunk)]
    states, encoded = [], []
    with torch.no_grad():
        for piece in pieces:
            states.append(_random_state(piece.ids_BT.device))
            encoded.append(encoder(piece))
    after = _random_state(batch.tokens.ids_BT.device)
    leaf = Encoded(**{
        name: torch.cat([getattr(e, name) for e in encoded]) for name in ("pooled_BD", "mlm_nll_B", "mlm_count_B")
        if getattr(encoded[0], name) is not None
    })  # fmt: skip
    live = [x.requires_grad_() for x in (leaf.pooled_BD, leaf.mlm_nll_B) if x is not None]
    views = split(leaf, batch.sizes)
    loss = objective(gather_views(views, scale))
    backward(loss.total)
    grads = [torch.zeros_like(x) if x.grad is None else x.grad for x in live]
    for i, (piece, state) in enumerate(zip(pieces, states, strict=True)):
        _set_random_state(state, piece.ids_BT.device)
        again = encoder(piece)
        outputs = [x for x in (again.pooled_BD, again.mlm_nll_B) if x is not None]
        mine = [grad[i * chunk : (i + 1) * chunk].to(x.dtype) for grad, x in zip(grads, outputs, strict=True)]
        torch.autograd.backward(outputs, mine)
    _set_random_state(after, batch.tokens.ids_BT.device)
    return loss, views


def split(encoded: Encoded, sizes: tuple[int, ...]) -> list[Encoded]:
    """Cut the joined rows back into views."""
    columns = {
        f.name: getattr(encoded, f.name).split(sizes) for f in fields(encoded) if getattr(encoded, f.name) is not None
    }
    return [Encoded(**{name: parts[i] for name, parts in columns.items()}) for i in range(len(sizes))]


def _rows(tokens: Tokens, start: int, stop: int) -> Tokens:
    """Rows start..stop-1 without the padding that only longer rows needed."""
    longest = int(tokens.mask_BT[start:stop].sum(1).max())
    cut = [None if x is None else x[start:stop, :longest] for x in (tokens.ids_BT, tokens.mask_BT, tokens.labels_BT)]
    return Tokens(*cut)  # type: ignore[arg-type]


def _random_state(device: torch.device) -> tuple[Tensor, Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def _set_random_state(state: tuple[Tensor, Tensor | None], device: torch.device) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)
