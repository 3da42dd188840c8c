"""Try an architecture on a few tokens before any work: what AutoModel loads need not be an encoder of text."""

import logging
from typing import TYPE_CHECKING

import torch

from cse.errors import UserError

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PretrainedConfig, PreTrainedModel

log = logging.getLogger(__name__)

KNOWN = ("bert", "deberta-v2", "modernbert", "mpnet", "qwen3", "roberta")
"""The architectures of conf/model, which need no trial; three forwards of 0.6 billion weights take a second or more."""

TOKENS, PADDED = 5, 12  # of the text, and of the row that it is tried in: no library's chunk divides the first
TOLERANCE = 1e-2  # of a vector's length; rounding is a thousandth of this in float32


def check_kind(name: str, config: "PretrainedConfig") -> None:
    """Refuse what AutoModel loads and no objective can train: encoder-decoders. name: the model's, for messages."""
    if config.is_encoder_decoder:
        raise UserError(
            f"model.name={name}: {config.model_type} is an encoder with a decoder, which cse does not train: use an "
            "encoder (model=roberta) or a decoder (model=qwen3_embedding)"
        )


def check_forward(name: str, backbone: "PreTrainedModel") -> None:
    """Refuse a model that does not make of 5 ids 5 hidden states; warn of one whose vectors padding changes.

    As the loop calls it: ids and mask, in train mode. Flash attention is not tried: the weights are on the CPU here.
    """
    config = backbone.config
    if config._attn_implementation not in ("sdpa", "eager"):
        return
    ids_1T = torch.tensor([[i for i in range(TOKENS + 1) if i != config.pad_token_id][:TOKENS]])
    whole_1T = torch.ones_like(ids_1T)
    beside = 0, PADDED - TOKENS
    padded_1P = torch.nn.functional.pad(ids_1T, beside, value=config.pad_token_id or 0)
    mask_1P = torch.nn.functional.pad(whole_1T, beside)
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            backbone.train()(input_ids=ids_1T, attention_mask=whole_1T)
            backbone.eval()
            alone_1TD = backbone(input_ids=ids_1T, attention_mask=whole_1T).last_hidden_state
            among_1PD = backbone(input_ids=padded_1P, attention_mask=mask_1P).last_hidden_state
    except Exception as error:  # an architecture raises whatever it likes
        reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        raise UserError(
            f"model.name={name}: {config.model_type} does not encode {TOKENS} tokens ({reason}): use another encoder"
        ) from error
    if alone_1TD.shape != (1, TOKENS, config.hidden_size):
        raise UserError(
            f"model.name={name}: {config.model_type} makes {tuple(alone_1TD.shape)} of {TOKENS} tokens, not "
            f"{(1, TOKENS, config.hidden_size)}: use another encoder"
        )
    change = (among_1PD[:, :TOKENS] - alone_1TD).norm() / alone_1TD.norm()
    if change > TOLERANCE and alone_1TD.dtype == torch.float32:
        log.warning(
            "model.name=%s: padding changes the vectors of %s (here by %.0f %%): scores depend on the batches",
            name,
            config.model_type,
            100 * change,
        )
