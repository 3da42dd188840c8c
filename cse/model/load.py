"""Load the Encoder that `model.name` names. These functions and modules take part:

load_encoder        adds the settings of conf/model to the checkpoint: prefix, template, adapter, packing
  read_checkpoint   reads the checkpoint
    local_folder      finds the checkpoint's folder: given, downloaded, or inside a Python package
    recorded          reads pooling, head, lengths and prompt from the files of sentence-transformers
    configure         applies num_layers, dropout and bidirectional of conf/model
    read_weights      reads the transformer and its head; `architecture` has the differences between models
    integrity         checks that the files are complete, and that the result is an encoder of text
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

from cse.errors import UserError
from cse.model import architecture
from cse.model.encoder import Encoder
from cse.model.lora import Lora, add_adapter
from cse.model.packing import ARCHITECTURES
from cse.model.pooling import POOLERS
from cse.model.recorded import Ending, Prefixes, check_width, prompts_of, recorded_modules
from cse.model.template import add_ends, settle_types, templates_of
from cse.model.tokenizer import Tokenizer
from cse.ranges import AnyPooling, BelowOne, Count, EncoderName, Name
from cse.sources.encoder import local_folder
from cse.types import Document, Query

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PretrainedConfig, PreTrainedModel

log = logging.getLogger(__name__)

OWN = "pooler"  # a pooling in addition to POOLERS, for checkpoints that are not trained
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
Head = Literal["mlm", "pooler"] | None  # the head that is read in addition to the layers


def load_encoder(
    name: EncoderName,
    pooling: AnyPooling | None,
    *,
    dropout: BelowOne | None = None,
    num_layers: Count | None = None,
    mlm: bool = False,
    gradient_checkpointing: bool = False,
    packed: bool = True,
    prefix: str | Prefixes | None = None,
    bidirectional: bool = False,
    dtype: Literal["fp32", "bf16"] = "fp32",
    attention: Name | None = None,
    lm_head: Literal["copy"] | None = None,
    lora: Lora | None = None,
    template: str | None = None,
    second_template: str | None = None,
    denoise: Literal["paper", "released"] | None = None,
    unrecorded: AnyPooling | None = None,
) -> Encoder:
    """Return an Encoder in train mode.

    name: a hub name, a folder, or package://MODULE/PATH.
    pooling: None reads pooling and dense head from the checkpoint (cse's `best/`, any sentence-transformers folder). If
    the checkpoint records no pooling, `unrecorded` is used. If `pooling` is set, the dense head is dropped, with a
    warning. "pooler" is CLS through the checkpoint's own pooler (supervised SimCSE as released). For every pooling,
    normalisation, prompts and maximum length come from the checkpoint; only `prefix` changes prompts.
    dropout: the probability of every dropout layer; None keeps the dropout of the checkpoint. mlm: whether to load the
        language-model head. packed: compute without padding on a CPU, if packing.ARCHITECTURES has the architecture,
        `lora` is None, gradient checkpointing is off, and all token types are 0. lora: see Lora. template, prefix:
        None keeps the checkpoint's template and prefix. conf/model/_base.yaml explains the other arguments.

    Raises MissingResource if the weights are not available, and UserError if the settings do not suit the checkpoint.
    """
    changes = {"dropout": dropout, "num_layers": num_layers, "bidirectional": bidirectional}
    weights = {"dtype": DTYPES[dtype], "attn_implementation": attention}
    encoder = read_checkpoint(name, pooling, changes, weights, mlm=mlm, unrecorded=unrecorded)
    if lm_head == "copy" and encoder.mlm_head is not None:
        architecture.untie(encoder.mlm_head, encoder.backbone)
    tokenizer, config = encoder.tokenizer, encoder.backbone.config
    set_prefixes(encoder, prefix)
    if tokenizer.prefix and encoder.settings.get("include_prompt") is False:
        raise UserError(
            "it pools without the prompt (include_prompt), but cse pools all tokens",
            key="name",
            value=name,
            instead="set `prefix`='', or remove include_prompt from its Pooling's config.json",
        )
    tokenizer.templates, encoder.denoising = templates_of(
        tokenizer.hf, config, encoder.pooling, first=template, second=second_template, denoise=denoise
    )
    if lora is not None:
        add_adapter(encoder.backbone, lora)
        if encoder.head is not None:
            encoder.head.requires_grad_(False)
        encoder.lora, encoder.dropout = True, max(encoder.dropout, lora.get("dropout", 0.0))
    if gradient_checkpointing:
        encoder.backbone.gradient_checkpointing_enable({"use_reentrant": False})
    is_known = config.model_type in ARCHITECTURES
    encoder.packed = packed and is_known and not (gradient_checkpointing or lora or tokenizer.has_types)
    return encoder.train()


def set_prefixes(encoder: Encoder, prefix: str | Prefixes | None) -> None:
    """Set the prefixes of texts, queries and documents.

    prefix: one text for all inputs. Two prefixes replace the checkpoint's prompts for queries and documents, and the
    query prompt becomes the default. None: the prefixes that the checkpoint records.
    """
    tokenizer = encoder.tokenizer
    if isinstance(prefix, str):
        tokenizer.prefix = prefix
    elif prefix is not None:
        tokenizer.prefix = prefix["query"]
        both = {**(encoder.settings.get("prompts") or {}), **prefix}
        encoder.settings |= {"prompts": both, "default_prompt_name": "query"}
    named = prompts_of(encoder.settings, tokenizer.prefix)["prompts"]
    tokenizer.prefixes = {Query: named.get("query", ""), Document: named.get("document", "")}
    is_default = encoder.settings.get("default_prompt_name") == "query"
    tokenizer.documents_follow = is_default and not isinstance(prefix, str)


def width_of_checkpoint(name: str, pooling: str | None) -> int:
    """Return the width of an encoder's embeddings. The layers' weights are not read. Raises load_encoder's errors."""
    from transformers import AutoConfig

    from cse.model import integrity

    with integrity.loading(name):
        checkpoint = Path(local_folder(name))
        ending = recorded_modules(checkpoint, pooling) or Ending(pooling or "mean")
        config = AutoConfig.from_pretrained(checkpoint / ending.transformer, trust_remote_code=False)
    linear = [one for one in ending.head.modules() if isinstance(one, nn.Linear)] if ending.head else []
    return linear[-1].out_features if linear else config.hidden_size


def read_checkpoint(
    name: str, pooling: str | None, changes: Mapping[str, Any], weights: Mapping, *, mlm: bool, unrecorded: str | None
) -> Encoder:
    """Return the checkpoint's encoder. All weights are trainable, and `packed` is off.

    changes: dropout, num_layers and bidirectional, for `configure`. weights: dtype and attn_implementation, for
    from_pretrained. The other arguments and the errors are as in load_encoder.
    """
    from tokenizers import normalizers
    from transformers import AutoConfig, AutoTokenizer

    from cse.model import integrity

    attention = weights["attn_implementation"]
    with integrity.loading(name, "" if attention is None else f"`attention`={attention} may be the cause; "):
        checkpoint = Path(local_folder(name))
        ending = ending_of_checkpoint(name, checkpoint, pooling, unrecorded)
        folder = checkpoint / ending.transformer
        integrity.check_files(folder)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        config._attn_implementation = None  # only model.attention sets it: config.json could name code on the hub
        check_width(name, ending.head, config.hidden_size)
        layers, own_dropout = config.num_hidden_layers, configure(config, ending.pooling, name=name, **changes)
        hf_tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        kind: Head = "mlm" if mlm else "pooler" if ending.pooling == OWN else None
        has_all = config.num_hidden_layers == layers
        backbone, head = read_weights(name, folder, {**weights, "config": config}, head=kind, has_all_layers=has_all)
        integrity.check_tokenizer(name, hf_tokenizer, backbone)
        added = add_ends(hf_tokenizer, integrity.tokenizer_settings(folder))
        if ending.lowercase:
            core = hf_tokenizer.backend_tokenizer
            core.normalizer = normalizers.Sequence([normalizers.Lowercase(), *filter(None, [core.normalizer])])
        settle_types(hf_tokenizer, architecture.reads_types(backbone), architecture.is_decoder(config))
        integrity.check_forward(name, backbone)
        if changes["bidirectional"]:
            integrity.check_bidirectional(backbone)
        positions = architecture.longest_input(config)
        longest = integrity.longest_text(name, ending.longest, hf_tokenizer, positions)
        tokenizer = Tokenizer(hf_tokenizer, longest, ending.prefix, positions)
        tokenizer.changed = ending.lowercase or added
    return Encoder(
        backbone,
        tokenizer,
        "cls" if ending.pooling == OWN else ending.pooling,
        mlm_head=head if mlm else None,
        head=nn.Sequential(head) if kind == "pooler" and head is not None else ending.head,
        unit_length=ending.unit_length,
        settings=ending.settings,
        dropout=max([*architecture.dropout_of(config).values(), 0.0]),
        own_dropout=own_dropout,
    )


def ending_of_checkpoint(name: str, folder: Path, pooling: str | None, unrecorded: str | None) -> Ending:
    """Return a checkpoint's Ending. `pooling` replaces the recorded pooling, with a warning if this drops modules.

    Raises UserError if the folder records no pooling, and both `pooling` and `unrecorded` are None.
    """
    ending = recorded_modules(folder, pooling)
    if ending is not None:
        if ending.dropped:
            log.warning("%s: pooling=%s drops the modules after the recorded pooling (%s); pooling=null keeps them",
                        name, pooling, ", ".join(ending.dropped))  # fmt: skip
        return ending
    if (pooling or unrecorded) is None:
        instead = f"set `pooling`={'|'.join((*POOLERS, OWN))}"
        raise UserError("it records no pooling", key="name", value=name, instead=instead)
    return Ending(str(pooling or unrecorded))


def configure(
    config: PretrainedConfig,
    pooling: str,
    *,
    name: str,
    dropout: float | None,
    num_layers: int | None,
    bidirectional: bool,
) -> dict[str, float]:
    """Change the configuration. Return its previous dropout, {configuration key: probability}.

    Raises UserError for an encoder-decoder, for more layers than the model has, for dropout in a model without dropout,
    for CLS pooling of a causal decoder, and for `bidirectional` with an encoder.
    """
    if config.is_encoder_decoder:
        raise UserError(
            f"{config.model_type} is an encoder-decoder, and cse does not train these",
            key="name",
            value=name,
            instead="use an encoder (model=roberta) or a decoder (model=qwen3_embedding)",
        )
    if config.model_type in ARCHITECTURES and config.is_decoder:  # cse trains and saves it as an encoder
        config.is_decoder = False
    if num_layers is not None:
        if not 1 <= num_layers <= config.num_hidden_layers:
            raise UserError(f"{name} allows 1 to {config.num_hidden_layers}", key="num_layers", value=num_layers)
        config.num_hidden_layers = num_layers
        if kinds := config.to_dict().get("layer_types"):  # the attention of each layer
            config.layer_types = kinds[:num_layers]
    own = architecture.dropout_of(config)
    if dropout is not None:
        if dropout > 0 and not own:
            raise UserError(
                f"the layers of {config.model_type} have no dropout, but the augmentation needs a dropout of {dropout}",
                key="name",
                value=name,
                instead="use `lora.dropout`, or an augmentation that changes the text",
            )
        config.update(dict.fromkeys(own, dropout))
    if architecture.is_decoder(config):
        config.use_cache = False  # the cache of keys and values is for generation
        if bidirectional:
            config.is_causal = False
        if pooling == "cls" and architecture.is_causal(config):
            raise UserError(
                f"{name} is a decoder: its first token attends to nothing else",
                key="pooling",
                value=pooling,
                instead="use `pooling`=last or mean, or `bidirectional`=true",
            )
    elif bidirectional:
        why = f"it is for decoders: the tokens of {name} already attend to each other"
        raise UserError(why, key="bidirectional", value="true")
    return own


def read_weights(
    name: str, folder: Path, settings: Mapping, *, head: Head, has_all_layers: bool
) -> tuple[PreTrainedModel, nn.Module | None]:
    """Return (transformer, head). The requested head is the masked-language-model head, the pooler, or None.

    settings: config, dtype and attn_implementation, for from_pretrained. has_all_layers: whether the configuration has
    as many layers as the checkpoint.
    Raises UserError for a head that the architecture lacks, and for an incomplete checkpoint (integrity.py).
    """
    from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModel, AutoModelForMaskedLM

    from cse.model import integrity

    config = settings["config"]
    has_pooler = architecture.has_optional_pooler(config)
    if head == "pooler" and not has_pooler:
        raise UserError(f"{config.model_type} has no pooler", key="pooling", value=OWN)
    if head == "mlm" and type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise UserError(f"{name}: {config.model_type} has no masked-language-model head: set objective.mlm_weight=0")
    kind: Any = AutoModelForMaskedLM if head == "mlm" else AutoModel
    whole, keys = kind.from_pretrained(
        folder,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
        trust_remote_code=False,
        **settings,
        **({"add_pooling_layer": head == "pooler"} if has_pooler and head != "mlm" else {}),
    )
    integrity.check_weights(name, folder, whole, keys, fewer_layers=not has_all_layers)
    backbone, missing = whole.base_model, keys["missing_keys"]
    if head != "mlm":
        return backbone, own_pooler(name, backbone, missing) if head == "pooler" else None
    if has_pooler:
        backbone.pooler = None
    if new := [key for key in missing if not key.startswith(f"{whole.base_model_prefix}.")]:
        log.warning("%s has no weights for its language-model head (%s): they are initialised randomly", name, new[0])
    return backbone, architecture.mlm_head(whole)


def own_pooler(name: str, backbone: Any, missing: Collection[str]) -> nn.Module:
    """Remove the pooler from the backbone and return it. missing: the names of weights that the checkpoint lacks.

    Raises UserError if the checkpoint has no pooler, or only the identity matrix that cse.model.export writes.
    """
    (linear,) = [module for module in backbone.pooler.modules() if isinstance(module, nn.Linear)]
    is_idle = torch.equal(linear.weight, torch.eye(len(linear.weight), dtype=linear.weight.dtype))
    if is_idle or any(key.startswith("pooler.") for key in missing):
        instead = "leave this setting out if the folder records its pooling; use cls for SimCSE without its head"
        raise UserError(f"{name} has no pooler of its own", key="pooling", value=OWN, instead=instead)
    backbone.pooler = None
    return nn.Sequential(linear, nn.Tanh())
