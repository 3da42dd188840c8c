"""The encoder's layers, computed without padding and, for CLS pooling, without most of the last layer.

Linear layers, norms and dropout process the N real tokens of a batch, (N, D). Only attention is padded, (B, heads, T,
D / heads). In training with dropout, rows are padded only to the longest row of a block (cse.model.attention). With CLS
pooling, query, output and feed-forward of the last layer are computed only for position 0. The result equals the result
of transformers' layers; tests compare the two. Only the random numbers of dropout differ (cse.model.dropout).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from cse.model.architecture import first_position
from cse.model.attention import BLOCK, Attend, Block, blocks_of
from cse.model.dropout import add_dropped, keep
from cse.types import Tokens

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel
    from transformers.models.bert import modeling_bert as bert

    Attention = bert.BertSelfAttention | bert.BertCrossAttention

TOKENS = 32  # in bf16 the number of tokens is rounded up to a multiple of this
SHORT = 64  # tokens; blocks of shorter rows save no time

ARCHITECTURES = ("bert", "roberta", "xlm-roberta", "camembert")  # same submodules, post-norm layers


@dataclass(frozen=True)
class Places:
    """The positions of N tokens in a (B, T) batch. index_N: each token's index in the flattened batch. cls_B: for each
    row, the index of the row's first token among the N tokens. keys_B11T: True for real tokens. Without padding
    N = B * T, and index_N and keys_B11T are None. blocks: the rows that attention with dropout computes together."""

    shape: tuple[int, int]
    cls_B: Tensor
    blocks: list[Block]
    index_N: Tensor | None = None
    keys_B11T: Tensor | None = None


def pooled_cls(backbone: "PreTrainedModel", tokens: Tokens) -> Tensor:
    """Return the last layer's output at position 0, (B, D)."""
    return _cls_of_stack(backbone, *_embed(backbone, tokens))


def pooled_cls_of(backbone: "PreTrainedModel", x_BTD: Tensor) -> Tensor:
    """Return the last layer's output at position 0, (B, D), for image or audio tokens, which have no padding."""
    batch, longest, _ = x_BTD.shape
    return _cls_of_stack(backbone, x_BTD.flatten(0, 1), _without_padding(backbone, batch, longest))


def hidden_states(backbone: "PreTrainedModel", tokens: Tokens) -> Tensor:
    """Return the last layer's output, (B, T, D). At padding the numbers have no meaning."""
    hidden_ND, places = _embed(backbone, tokens)
    for layer in _layers(backbone):
        hidden_ND = _layer(layer, hidden_ND, places)
    return _pad(hidden_ND, places)


def _layers(backbone: "PreTrainedModel") -> list["bert.BertLayer"]:
    """Return the layers. RoBERTa's layers have the same submodules as BERT's layers."""
    return cast("list[bert.BertLayer]", list(cast("bert.BertModel", backbone).encoder.layer))


def _embed(backbone: "PreTrainedModel", tokens: Tokens) -> tuple[Tensor, Places]:
    mask_BT = tokens.mask_BT
    batch, longest = mask_BT.shape
    index_N = _read_cells(mask_BT)
    keys_B11T = mask_BT[:, None, None, :].bool()
    blocks = [Block(0, len(index_N), (batch, longest), index_N, keys_B11T)]
    heads = backbone.config.num_attention_heads
    is_full = bool(mask_BT.all())
    if not is_full and backbone.training and longest > SHORT and batch * heads * longest**2 > BLOCK:
        index_N, blocks = _by_length(mask_BT, index_N, heads)
    positions_BT = mask_BT.cumsum(1) - 1
    if first := first_position(backbone.config):  # RoBERTa; a literal <pad> in a text does not advance the position
        real_BT = mask_BT * (tokens.ids_BT != first - 1)
        positions_BT = torch.where(real_BT > 0, real_BT.cumsum(1) - 1 + first, first - 1)
    hidden_1ND = cast("bert.BertModel", backbone).embeddings(
        input_ids=tokens.ids_BT.flatten()[index_N][None], position_ids=positions_BT.flatten()[index_N][None]
    )
    if is_full:
        return hidden_1ND[0], _without_padding(backbone, batch, longest)
    first_B = (index_N % longest == 0).nonzero()[:, 0]
    cls_B = first_B[index_N[first_B].argsort()]
    return hidden_1ND[0], Places((batch, longest), cls_B, blocks, index_N, keys_B11T)


def _without_padding(backbone: "PreTrainedModel", rows: int, length: int) -> Places:
    blocks = blocks_of([length] * rows, backbone.config.num_attention_heads)
    return Places((rows, length), torch.arange(0, rows * length, length), blocks)


def _by_length(mask_BT: Tensor, index_N: Tensor, heads: int) -> tuple[Tensor, list[Block]]:
    """Return (index_N sorted by the lengths of the tokens' rows, padding last; the blocks of attention)."""
    rows, longest = mask_BT.shape
    lengths_B, row_N = mask_BT.sum(1), index_N // longest
    is_padding_N = mask_BT.flatten()[index_N] == 0
    place_N = (lengths_B[row_N] * rows + row_N).masked_fill(is_padding_N, rows * (longest + 1))
    blocks = blocks_of(lengths_B[lengths_B > 0].sort().values.tolist(), heads)
    return index_N[place_N.argsort(stable=True)], blocks


def _read_cells(mask_BT: Tensor) -> Tensor:
    """Return the indices, in the flattened batch, of the tokens to compute: real tokens; in bf16 also some padding.

    In bf16 oneDNN compiles and keeps a kernel for every new number of tokens. After some hundred batches of texts with
    different lengths, these kernels took half of a run's memory, and half of a small encoder's time. With some padding
    there are fewer different numbers of tokens.
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
    qkv_N3D = linear(hidden_ND, weight, bias)
    if attention.training and attention.dropout.p > 0:
        context_ND = Attend.apply(qkv_N3D, places.blocks, attention.num_attention_heads, attention.dropout.p)
    else:
        query, key, value = _heads(attention, _pad(qkv_N3D, places), 3)
        context_BHTd = scaled_dot_product_attention(query, key, value, places.keys_B11T)
        context_ND = context_BHTd.transpose(1, 2).flatten(2).flatten(0, 1)
        if places.index_N is not None:
            context_ND = context_ND.index_select(0, places.index_N)  # faster in the backward pass than [...]
    return _feed_forward(layer, _add_and_norm(layer.attention.output, context_ND, hidden_ND))


def _last_layer_at_cls(layer: "bert.BertLayer", hidden_ND: Tensor, places: Places) -> Tensor:
    attention = layer.attention.self
    cls_BD = hidden_ND[places.cls_B]
    weight = torch.cat([attention.key.weight, attention.value.weight])
    bias = torch.cat([attention.key.bias, attention.value.bias])
    key, value = _heads(attention, _pad(linear(hidden_ND, weight, bias), places), 2)
    (query,) = _heads(attention, attention.query(cls_BD)[:, None], 1)
    context_BH1d = _attend_from_cls(attention, query, key, value, places)
    return _feed_forward(layer, _add_and_norm(layer.attention.output, context_BH1d.flatten(1), cls_BD))


def _attend_from_cls(attention: "Attention", query: Tensor, key: Tensor, value: Tensor, places: Places) -> Tensor:
    p = attention.dropout.p
    if not attention.training or p == 0:
        return scaled_dot_product_attention(query, key, value, places.keys_B11T)
    scores_BH1T = (query * query.shape[-1] ** -0.5) @ key.mT
    if places.keys_B11T is not None:
        scores_BH1T = scores_BH1T.masked_fill(~places.keys_B11T, -torch.inf)
    mask_BH1T, factor = keep(scores_BH1T.shape, p, value.dtype)
    return (scores_BH1T.softmax(-1) * mask_BH1T) @ (value * factor)


def _feed_forward(layer: "bert.BertLayer", x_ND: Tensor) -> Tensor:
    return _add_and_norm(layer.output, layer.intermediate(x_ND), x_ND)


def _add_and_norm(output: "bert.BertSelfOutput | bert.BertOutput", x_ND: Tensor, residual_ND: Tensor) -> Tensor:
    """Compute BertSelfOutput or BertOutput: a linear layer, dropout, the residual, LayerNorm."""
    x_ND = output.dense(x_ND)
    if output.training and output.dropout.p > 0:
        return output.LayerNorm(add_dropped(residual_ND, x_ND, output.dropout.p))
    return output.LayerNorm(residual_ND + x_ND)


def _heads(attention: "Attention", x_BTkD: Tensor, k: int) -> tuple[Tensor, ...]:
    """Split (B, T, k * D) into k tensors (B, heads, T, D / heads)."""
    heads = attention.num_attention_heads
    return tuple(x_BTkD.unflatten(-1, (k, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0))


def _pad(x_ND: Tensor, places: Places) -> Tensor:
    """Return the tokens (N, D) as (B, T, D), with zeros at padding."""
    if places.index_N is None:
        return x_ND.unflatten(0, places.shape)
    cells = x_ND.new_zeros(math.prod(places.shape), x_ND.shape[-1])
    return cells.index_copy(0, places.index_N, x_ND).unflatten(0, places.shape)
