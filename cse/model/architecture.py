"""The differences between the architectures that AutoModel loads, by `config.model_type`.

An architecture without an entry follows the conventions of transformers: image and audio tokens enter as
`inputs_embeds`, and the language-model head is the only submodule beside the stack of layers.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cse.errors import UserError

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PretrainedConfig, PreTrainedModel

DROPOUTS = (  # configuration keys for dropout inside the stack; dropout of classifiers and poolers has other keys
    *("hidden_dropout_prob", "attention_probs_dropout_prob"),  # BERT, RoBERTa, MPNet, ALBERT, ELECTRA, DeBERTa, Nomic
    *("dropout", "attention_dropout"),  # DistilBERT; EuroBERT and most decoders have only the second key
    *("embedding_dropout", "mlp_dropout"),  # ModernBERT
    *("hidden_dropout", "resid_dropout", "embed_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop"),
)
POSITIONS_AFTER_PADDING = (  # the first token has the position pad_token_id + 1: RoBERTa and its descendants
    *("roberta", "xlm-roberta", "camembert", "mpnet", "data2vec-text", "ibert", "longformer", "luke"),
    *("roberta-prelayernorm", "xlm-roberta-xl", "xmod"),
)
MLM_HEADS = {  # heads of several submodules, in the order in which they are applied
    "distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    "electra": ("generator_predictions", "generator_lm_head"),
    "modernbert": ("head", "decoder"),
}
DENSE_POOLERS = (  # AutoModel makes a pooler of one linear layer, `pooler.dense`, and tanh
    *("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "ernie", "megatron-bert", "mobilebert", "rembert"),
    *("data2vec-text", "ibert", "longformer", "luke", "roberta-prelayernorm", "xlm-roberta-xl", "roc_bert", "fnet"),
)
STACKS = {  # the submodule that has the layers without the embeddings
    **dict.fromkeys(
        ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra", "deberta", "deberta-v2"), "encoder"
    ),
    "distilbert": "transformer",
}


def dropout_of(config: PretrainedConfig) -> dict[str, float]:
    """Return {configuration key: dropout probability} of the stack; {} for an architecture without dropout."""
    fields = config.to_dict()
    return {name: float(fields[name] or 0) for name in DROPOUTS if name in fields}


def first_position(config: PretrainedConfig) -> int:
    """Return the position id of a text's first token, an index of the position table."""
    return config.pad_token_id + 1 if config.model_type in POSITIONS_AFTER_PADDING else 0


def longest_input(config: PretrainedConfig) -> int | None:
    """Return the largest number of tokens with positions; None if the layers have no position table (BLOOM, XLNet)."""
    positions = getattr(config, "max_position_embeddings", None)
    return None if positions is None or positions < 1 else positions - first_position(config)


def is_decoder(config: PretrainedConfig) -> bool:
    """Return whether the architecture is a causal language model: no token attends to later tokens."""
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    return type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and type(config) not in MODEL_FOR_MASKED_LM_MAPPING


def is_causal(config: PretrainedConfig) -> bool:
    """Return whether no token attends to later tokens, as in a decoder without model.bidirectional=true."""
    return is_decoder(config) and getattr(config, "is_causal", True)


def has_optional_pooler(config: PretrainedConfig) -> bool:
    """Return whether AutoModel's class for this configuration accepts `add_pooling_layer`."""
    from transformers import MODEL_MAPPING

    model = MODEL_MAPPING.get(type(config), None)  # Funnel has several classes
    return isinstance(model, type) and "add_pooling_layer" in inspect.signature(model).parameters


def reads_types(backbone: PreTrainedModel) -> bool:
    """Return whether the layers read token types."""
    return "token_type_ids" in inspect.signature(backbone.forward).parameters


def mlm_head(whole: PreTrainedModel) -> nn.Module:
    """Return the head of an AutoModelForMaskedLM, which maps hidden states (n, D) to logits (n, V).

    Raises UserError if MLM_HEADS lacks the architecture, and the head is not a single submodule.
    """
    kind = whole.config.model_type
    if kind in MLM_HEADS:
        return nn.Sequential(*(whole.get_submodule(name) for name in MLM_HEADS[kind]))
    heads = [child for child in whole.children() if child is not whole.base_model]
    if len(heads) != 1:
        raise UserError(f"cse does not know the language-model head of {kind}: set objective.mlm_weight=0")
    return heads[0]


def untie(head: nn.Module, backbone: PreTrainedModel) -> None:
    """Give the head its own copy of every weight that it shares with the backbone. Copies are trained separately."""
    shared = {id(weight) for weight in backbone.parameters()}
    for module in head.modules():
        for name, weight in list(module.named_parameters(recurse=False)):
            if id(weight) in shared:
                module.register_parameter(name, nn.Parameter(weight.detach().clone()))


def takes_embeddings(backbone: PreTrainedModel) -> bool:
    """Return whether the layers accept image and audio tokens: vectors as wide as hidden states, not token ids."""
    if backbone.config.model_type in STACKS:
        return True
    words = backbone.get_input_embeddings()
    width = words.weight.shape[1] if isinstance(words, nn.Embedding) else 0
    forward = inspect.signature(backbone.forward).parameters
    return "inputs_embeds" in forward and width == backbone.config.hidden_size


def hidden_of_embeddings(backbone: PreTrainedModel, x_BTD: Tensor) -> Tensor:
    """Return the last layer's output (B, T, D) for image or audio tokens x_BTD, which have no padding.

    If the stack is a separate module, x_BTD skips the positions, LayerNorm and dropout of the embedding layer, as in
    NonLing-CSE's BERT. Otherwise x_BTD enters as `inputs_embeds`, and passes through the modules between the word
    embeddings and the stack (ModernBERT: LayerNorm and dropout; decoders: none).
    """
    kind, ones_BT = backbone.config.model_type, torch.ones(x_BTD.shape[:2], dtype=torch.long, device=x_BTD.device)
    if kind not in STACKS:
        return backbone(inputs_embeds=x_BTD, attention_mask=ones_BT).last_hidden_state
    stack = backbone.get_submodule(STACKS[kind])
    if kind.startswith("deberta"):  # DeBERTa needs a mask
        return stack(x_BTD, ones_BT, output_hidden_states=False).last_hidden_state
    return stack(x_BTD, attention_mask=None, return_dict=True).last_hidden_state
