"""The encoder's layers without unused work. Unused are padding and, for CLS pooling, most of the last layer.

Linear layers, norms and dropout compute the N real tokens of a batch, (N, D). Only attention is padded, (B, heads, T, D
/ heads). With CLS pooling the last layer computes only position 0: its query, its output, its feed-forward. The
function is the same as the plain forward with the same weights; tests compare them. Only dropout draws other numbers,
and draws them faster (cse.model.dropout).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from cse.model.architecture import first_position
from cse.model.dropout import add_dropped, keep
from cse.types import Tokens

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel
    from transformers.models.bert import modeling_bert as bert

    Attention = bert.BertSelfAttention | bert.BertCrossAttention

TOKENS = 32  # in bf16 the number of tokens is rounded up to a multiple of this

ARCHITECTURES = ("bert", "roberta", "xlm-roberta", "camembert")  # same submodules, post-norm layers


@dataclass(frozen=True)
class Places:
    """The places of the N real tokens in a (B, T) batch. index_N: their cells among the B * T. cls_B: the tokens, among
    the N, that come first in a row. keys_B11T: True for real keys. Without padding N = B * T, and index_N and keys_B11T
    are None."""

    shape: tuple[int, int]
    cls_B: Tensor
    index_N: Tensor | None = None
    keys_B11T: Tensor | None = None


def pooled_cls(backbone: "PreTrainedModel", tokens: Tokens) -> Tensor:
    """The last layer at position 0, (B, D)."""
    return _cls_of_stack(backbone, *_embed(backbone, tokens))


def pooled_cls_of(backbone: "PreTrainedModel", x_BTD: Tensor) -> Tensor:
    """The last layer at position 0, (B, D), for vectors instead of token embeddings, without padding."""
    batch, longest, _ = x_BTD.shape
    places = Places((batch, longest), torch.arange(0, batch * longest, longest))
    return _cls_of_stack(backbone, x_BTD.flatten(0, 1), places)


def hidden_states(backbone: "PreTrainedModel", tokens: Tokens) -> Tensor:
    """The last layer, (B, T, D). At padding the numbers have no meaning."""
    hidden_ND, places = _embed(backbone, tokens)
    for layer in _layers(backbone):
        hidden_ND = _layer(layer, hidden_ND, places)
    return _pad(hidden_ND, places)


def _layers(backbone: "PreTrainedModel") -> list["bert.BertLayer"]:
    """The layers. RoBERTa's layers have the same submodules as BERT's."""
    return cast("list[bert.BertLayer]", list(cast("bert.BertModel", backbone).encoder.layer))


def _embed(backbone: "PreTrainedModel", tokens: Tokens) -> tuple[Tensor, Places]:
    mask_BT = tokens.mask_BT
    batch, longest = mask_BT.shape
    index_N = _read_cells(mask_BT)
    positions_BT = mask_BT.cumsum(1) - 1
    if first := first_position(backbone.config):  # RoBERTa; a literal <pad> in a text does not advance the position
        real_BT = mask_BT * (tokens.ids_BT != first - 1)
        positions_BT = torch.where(real_BT > 0, real_BT.cumsum(1) - 1 + first, first - 1)
    hidden_1ND = cast("bert.BertModel", backbone).embeddings(
        input_ids=tokens.ids_BT.flatten()[index_N][None], position_ids=positions_BT.flatten()[index_N][None]
    )
    cls_B = (index_N % longest == 0).nonzero()[:, 0]
    return hidden_1ND[0], Places((batch, longest), cls_B, index_N, mask_BT[:, None, None, :].bool())


def _read_cells(mask_BT: Tensor) -> Tensor:
    """The numbers of the cells that the layers read, in order.

    The cells are real tokens; in bf16 also a few cells of padding.

    In bf16 oneDNN compiles and keeps a kernel for every new number of tokens. After some hundred batches of texts with
    different lengths, this took half of a run's memory, and half of the time of a small encoder.
    """
    is_read_BT = mask_BT.bool()
    if torch.is_autocast_enabled(mask_BT.device.type):
        is_free_BT = ~is_read_BT & is_read_BT.any(1, keepdim=True)  # attention needs a real token in each row
        more = is_free_BT.flatten().nonzero()[: -int(is_read_BT.sum()) % TOKENS, 0]
        is_read_BT = is_read_BT.flatten().index_fill(0, more, value=True)
    return is_read_BT.flatten().nonzero()[:, 0]


def _cls_of_stack(backbone: "PreTrainedModel", hidden_ND: Tensor, places: Places) -> Tensor:
    *layers, last = _layers(backbone)
    for layer in layers:
        hidden_ND = _layer(layer, hidden_ND, places)
    return _last_layer_at_cls(last, hidden_ND, places)


def _layer(layer: "bert.BertLayer", hidden_ND: Tensor, places: Places) -> Tensor:
    attention = layer.attention.self
    projections = (attention.query, attention.key, attention.value)
    weight = torch.cat([projection.weight for projection in projections])
    bias = torch.cat([projection.bias for projection in projections])
    query, key, value = _heads(attention, _pad(linear(hidden_ND, weight, bias), places), 3)
    context_BHTd = _attend(attention, query, key, value, places)
    context_ND = context_BHTd.transpose(1, 2).flatten(2).flatten(0, 1)
    if places.index_N is not None:
        context_ND = context_ND.index_select(0, places.index_N)  # its backward pass is faster than that of [...]
    return _feed_forward(layer, _add_and_norm(layer.attention.output, context_ND, hidden_ND))


def _last_layer_at_cls(layer: "bert.BertLayer", hidden_ND: Tensor, places: Places) -> Tensor:
    attention = layer.attention.self
    cls_BD = hidden_ND[places.cls_B]
    weight = torch.cat([attention.key.weight, attention.value.weight])
    bias = torch.cat([attention.key.bias, attention.value.bias])
    key, value = _heads(attention, _pad(linear(hidden_ND, weight, bias), places), 2)
    (query,) = _heads(attention, attention.query(cls_BD)[:, None], 1)
    context_BD = _attend(attention, query, key, value, places).reshape(len(cls_BD), -1)
    return _feed_forward(layer, _add_and_norm(layer.attention.output, context_BD, cls_BD))


def _attend(attention: "Attention", query: Tensor, key: Tensor, value: Tensor, places: Places) -> Tensor:
    p = attention.dropout.p
    if not attention.training or p == 0:
        return scaled_dot_product_attention(query, key, value, places.keys_B11T)
    scores_BHTT = (query * query.shape[-1] ** -0.5) @ key.mT
    if places.keys_B11T is not None:
        scores_BHTT = scores_BHTT.masked_fill(~places.keys_B11T, -torch.inf)
    mask_BHTT, factor = keep(scores_BHTT.shape, p, value.dtype)
    return (scores_BHTT.softmax(-1) * mask_BHTT) @ (value * factor)


def _feed_forward(layer: "bert.BertLayer", x_ND: Tensor) -> Tensor:
    return _add_and_norm(layer.output, layer.intermediate(x_ND), x_ND)


def _add_and_norm(output: "bert.BertSelfOutput | bert.BertOutput", x_ND: Tensor, residual_ND: Tensor) -> Tensor:
    """BertSelfOutput and BertOutput: a linear layer, dropout, the residual, LayerNorm."""
    x_ND = output.dense(x_ND)
    if output.training and output.dropout.p > 0:
        return output.LayerNorm(add_dropped(residual_ND, x_ND, output.dropout.p))
    return output.LayerNorm(residual_ND + x_ND)


def _heads(attention: "Attention", x_BTkD: Tensor, k: int) -> tuple[Tensor, ...]:
    """(B, T, k * D) -> k tensors (B, heads, T, D / heads)."""
    heads = attention.num_attention_heads
    return tuple(x_BTkD.unflatten(-1, (k, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0))


def _pad(x_ND: Tensor, places: Places) -> Tensor:
    """(N, D) -> (B, T, D), with zeros at padding."""
    if places.index_N is None:
        return x_ND.unflatten(0, places.shape)
    cells = x_ND.new_zeros(math.prod(places.shape), x_ND.shape[-1])
    return cells.index_copy(0, places.index_N, x_ND).unflatten(0, places.shape)
