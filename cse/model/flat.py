"""transformers' own padding-free forward: the N real tokens of a batch as one row, in which each text stays apart.

Flash attention's kernels are given where each text begins; a decoder's other attention reads it from positions that
begin again (its mask is then N x N). Unlike cse.model.packing, which is this project's and for CPUs, this is for GPUs.
https://huggingface.co/docs/transformers/en/padding_free
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn.functional import pad

from cse.errors import UserError
from cse.model.architecture import first_position, is_decoder
from cse.types import Tokens

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel


def uses_flash(backbone: "PreTrainedModel") -> bool:
    """Whether its attention is one of the flash attention packages', which compute in bfloat16 and float16 alone."""
    return "flash" in backbone.config._attn_implementation


def check(name: str, backbone: "PreTrainedModel", bidirectional: bool) -> None:
    """Raise UserError where transformers would let the texts of one row see each other."""
    if uses_flash(backbone) or (is_decoder(backbone.config) and not bidirectional):
        return
    attention = backbone.config._attn_implementation
    raise UserError(
        f"model.padding_free=true: with model.attention={attention} the texts of a row would see each other in {name}: "
        "set model.attention=flash_attention_2 (a GPU, the package flash-attn), or leave it out"
    )


def hidden_states(
    backbone: "PreTrainedModel", tokens: Tokens, all_layers: bool
) -> tuple[Tensor, tuple[Tensor, ...] | None]:
    """The last layer, (B, T, D), zero at padding; and, if asked for, the embeddings' and every layer's output."""
    mask_BT = tokens.mask_BT
    index_N = mask_BT.flatten().nonzero()[:, 0]
    positions_BT = mask_BT.cumsum(1) - 1 + first_position(backbone.config)
    flash = {}
    if uses_flash(backbone):
        begins = pad(mask_BT.sum(1).cumsum(0), (1, 0)).int()
        longest = mask_BT.shape[1]  # a bound is enough, and the exact one would have to be waited for
        flash = {"cu_seq_lens_q": begins, "cu_seq_lens_k": begins, "max_length_q": longest, "max_length_k": longest}
    output = backbone(
        input_ids=tokens.ids_BT.flatten()[index_N][None],
        position_ids=positions_BT.flatten()[index_N][None],
        output_hidden_states=all_layers,
        **flash,
    )

    def padded(hidden_1ND: Tensor) -> Tensor:
        cells = hidden_1ND.new_zeros(mask_BT.numel(), hidden_1ND.shape[-1])
        return cells.index_copy(0, index_N, hidden_1ND[0]).unflatten(0, mask_BT.shape)

    layers = tuple(padded(layer) for layer in output.hidden_states) if all_layers else None
    return padded(output.last_hidden_state), layers


@contextmanager
def without_flash(backbone: "PreTrainedModel") -> Iterator[None]:
    """Inside, its attention is torch's own (sdpa), which computes in float32 too."""
    before = backbone.config._attn_implementation
    backbone.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        backbone.set_attn_implementation(before)
