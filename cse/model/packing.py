"""The encoder's layers without the work that no one reads: padding, and, for CLS pooling, most of the last layer.

Linear layers, norms and dropout see the N real tokens of a batch, (N, D); only attention is padded, (B, heads, T, D /
heads). If the pooling is CLS, the last layer computes position 0 alone: its query, its output, its feed-forward.
The same weights, the same function as the plain forward (tests compare them); dropout draws other numbers.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from cse.types import Tokens

ARCHITECTURES = ("bert", "roberta", "xlm-roberta", "camembert")  # same submodules, post-norm layers


@dataclass(frozen=True)
class Places:
    """Where the N real tokens of a (B, T) batch lie: index_N into its B * T cells; keys_B11T: True for real keys."""

    index_N: Tensor
    shape: tuple[int, int]
    keys_B11T: Tensor


def pooled_cls(backbone: Any, tokens: Tokens) -> Tensor:
    """The last layer at position 0, (B, D)."""
    hidden_ND, places = _embed(backbone, tokens)
    *layers, last = backbone.encoder.layer
    for layer in layers:
        hidden_ND = _layer(layer, hidden_ND, places)
    return _last_layer_at_cls(last, hidden_ND, places)


def hidden_states(backbone: Any, tokens: Tokens) -> Tensor:
    """The last layer, (B, T, D), zero at padding."""
    hidden_ND, places = _embed(backbone, tokens)
    for layer in backbone.encoder.layer:
        hidden_ND = _layer(layer, hidden_ND, places)
    return _pad(hidden_ND, places)


def _embed(backbone: Any, tokens: Tokens) -> tuple[Tensor, Places]:
    mask_BT = tokens.mask_BT
    index_N = mask_BT.flatten().nonzero()[:, 0]
    # RoBERTa counts positions from padding_idx + 1; BERT from 0
    first = getattr(backbone.embeddings, "padding_idx", -1) + 1
    positions_BT = mask_BT.cumsum(1) - 1 + first
    hidden_1ND = backbone.embeddings(
        input_ids=tokens.ids_BT.flatten()[index_N][None], position_ids=positions_BT.flatten()[index_N][None]
    )
    return hidden_1ND[0], Places(index_N, tuple(mask_BT.shape), mask_BT[:, None, None, :].bool())  # type: ignore[arg-type]


def _layer(layer: Any, hidden_ND: Tensor, places: Places) -> Tensor:
    attention = layer.attention.self
    projections = (attention.query, attention.key, attention.value)
    weight = torch.cat([projection.weight for projection in projections])
    bias = torch.cat([projection.bias for projection in projections])
    query, key, value = _heads(attention, _pad(linear(hidden_ND, weight, bias), places), 3)
    context_BHTd = _attend(attention, query, key, value, places)
    context_ND = context_BHTd.transpose(1, 2).flatten(2).flatten(0, 1)[places.index_N]
    return _feed_forward(layer, layer.attention.output(context_ND, hidden_ND))


def _last_layer_at_cls(layer: Any, hidden_ND: Tensor, places: Places) -> Tensor:
    attention = layer.attention.self
    batch, longest = places.shape
    cls_B = (places.index_N % longest == 0).nonzero()[:, 0]
    cls_BD = hidden_ND[cls_B]
    weight = torch.cat([attention.key.weight, attention.value.weight])
    bias = torch.cat([attention.key.bias, attention.value.bias])
    key, value = _heads(attention, _pad(linear(hidden_ND, weight, bias), places), 2)
    (query,) = _heads(attention, attention.query(cls_BD)[:, None], 1)
    context_BD = _attend(attention, query, key, value, places).reshape(batch, -1)
    return _feed_forward(layer, layer.attention.output(context_BD, cls_BD))


def _attend(attention: Any, query: Tensor, key: Tensor, value: Tensor, places: Places) -> Tensor:
    dropout = attention.dropout.p if attention.training else 0.0
    return scaled_dot_product_attention(query, key, value, places.keys_B11T, dropout)


def _feed_forward(layer: Any, x_ND: Tensor) -> Tensor:
    return layer.output(layer.intermediate(x_ND), x_ND)


def _heads(attention: Any, x_BTkD: Tensor, k: int) -> tuple[Tensor, ...]:
    """(B, T, k * D) -> k tensors (B, heads, T, D / heads)."""
    heads = attention.num_attention_heads
    return tuple(x_BTkD.unflatten(-1, (k, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0))


def _pad(x_ND: Tensor, places: Places) -> Tensor:
    """(N, D) -> (B, T, D) with zeros where there is no token."""
    batch, longest = places.shape
    cells = x_ND.new_zeros(batch * longest, x_ND.shape[-1])
    return cells.index_copy(0, places.index_N, x_ND).unflatten(0, (batch, longest))
