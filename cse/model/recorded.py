"""Read what a sentence-transformers folder records in addition to the transformer: pooling, head, lengths, prompts.

On a damaged file these functions may raise any error. `cse.model.integrity.loading` turns this error into one message.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from pydantic import with_config
from torch import nn
from typing_extensions import TypedDict

from cse.errors import UserError
from cse.files import Json
from cse.model.pooling import POOLERS
from cse.ranges import STRICT

MODES = {
    "cls": "cls",
    "mean": "mean",
    "lasttoken": "last",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}
AFTER = ("Dense", "LayerNorm", "Dropout")  # the modules of a head, in any order and number
ACTIVATIONS = {kind.__name__: kind for kind in (nn.Tanh, nn.Identity, nn.ReLU, nn.GELU, nn.SiLU, nn.Sigmoid)}
EMBEDDING = "sentence_embedding"
OPTIONS = [f"{part}_{kind}" for part in ("model", "config", "tokenizer", "processor") for kind in ("args", "kwargs")]
UNREAD = ("processing_kwargs", *OPTIONS)
"""Keys of sentence-transformers' files that change the vectors. cse does not read these keys."""
KEPT = ("prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim")
"""Keys of sentence-transformers' files that an export writes again."""
PROMPT = "default"  # the name under which an export writes a prefix
ANY = "load it with its own library, and score it with cse.evaluate"
OTHERS = {
    **dict.fromkeys(("StaticEmbedding", "WordEmbeddings", "BoW"), "averages word vectors, and has no transformer"),
    **dict.fromkeys(("Router", "Asym"), "has one encoder for queries and another for documents"),
    "CLIPModel": "encodes images and text",
}
"""Modules that may come first instead of Transformer, and what each does."""


@with_config(STRICT)
class Prefixes(TypedDict):
    """Two prefixes. query: the prefix of queries, and of texts in the data's first column. document: the prefix of
    documents, and of texts in the other columns."""

    query: str
    document: str


@dataclass(frozen=True)
class Ending:
    """The steps of a checkpoint after the transformer.

    head: the trained head. unit_length: whether vectors are scaled to length 1. longest: the largest number of tokens
    of a text; None: not recorded. lowercase: whether texts are lower-cased. settings: the keys of KEPT, and
    `include_prompt` of the pooling. transformer: the folder of the weights, inside the checkpoint's folder. dropped:
    the modules and settings (KEY=VALUE) that are not used, because another pooling replaces the recorded pooling."""

    pooling: str
    head: nn.Sequential | None = None
    unit_length: bool = False
    longest: int | None = None
    lowercase: bool = False
    settings: Json = field(default_factory=dict)
    transformer: str = ""
    dropped: Sequence[str] = ()

    @property
    def prefix(self) -> str:
        """The default prompt. sentence-transformers puts it before every text. "" if there is none."""
        return (self.settings.get("prompts") or {}).get(self.settings.get("default_prompt_name")) or ""


def prompts_of(recorded: Json, prefix: str) -> Json:
    """Return `prompts` and `default_prompt_name` of an export: the recorded prompts, and the prefix as the default.

    `encode_query` and `encode_document` of sentence-transformers (5 and later) never use the default prompt. They use
    the prompts `query` and `document`, or no prompt if these are not written. So if there is a prefix, an export also
    writes these two prompts.
    """
    given, default = recorded.get("prompts") or {}, recorded.get("default_prompt_name")
    written = given.get(PROMPT) if default == PROMPT else None  # an export writes the prefix under several names
    named = {name: text for name, text in given.items() if written is None or text != written}
    if not prefix:
        return {"prompts": named, "default_prompt_name": None}
    if not any(named.values()):  # sentence-transformers itself writes empty prompts
        named = {}
    if named.get(default) != prefix:
        default = PROMPT
    documents = next((named[name] for name in ("passage", "corpus") if name in named), prefix)
    return {
        "prompts": {"query": prefix, "document": documents, **named, default: prefix},
        "default_prompt_name": default,
    }


def recorded_modules(folder: Path, pooling: str | None = None) -> Ending | None:
    """Return the steps after the transformer that a folder of sentence-transformers records; None for other layouts.

    pooling: replaces the recorded pooling. If it is given, the recorded head is dropped, because the head was trained
    for the recorded pooling. Raises UserError for a module, an order of modules or a pooling that cse does not have.
    """
    if not (folder / "modules.json").is_file():
        file = folder / "config.json"
        if file.is_file() and b'"model2vec"' in file.read_bytes():
            raise UserError(f"{folder} is a model2vec folder: it averages word vectors, and has no transformer: {ANY}")
        return None
    modules = [
        (class_of_module(one["type"]), one["path"]) for one in json.loads((folder / "modules.json").read_bytes())
    ]
    kinds = [kind for kind, _ in modules]
    if kinds[:1] != ["Transformer"] or (pooling is None and not is_known(kinds)):
        reason = f", which {OTHERS[kinds[0]]}" if kinds and kinds[0] in OTHERS else ""
        raise UserError(
            f"{folder}/modules.json: {', '.join(kinds) or 'no modules'}{reason}: cse loads a Transformer, then a "
            f"Pooling, then {', '.join(AFTER)} in any number and order, and last a Normalize or none; {ANY}"
        )
    inside = modules[0][1]
    settings: Json = {}
    for file in (*(folder / inside).glob("sentence_*_config.json"), *folder.glob("config_sentence_transformers.json")):
        settings |= json.loads(file.read_bytes())
    unread = [f"{key}={settings[key]}" for key in UNREAD if settings.get(key)]
    if unread and pooling is None:
        raise UserError(f"{folder} records {unread[0]}, which cse does not read: remove this key from its config")
    kept = {key: settings[key] for key in KEPT if settings.get(key) is not None}
    read, heads = pooling, []
    if pooling is None:
        poolings = [folder / path / "config.json" for kind, path in modules if kind == "Pooling"]
        read = pooling_kind(poolings[0])
        if json.loads(poolings[0].read_bytes()).get("include_prompt") is False:
            kept["include_prompt"] = False
        if "WordWeights" in kinds:
            check_reads_mask(folder / modules[1][1] / "config.json", read)
            read = "mask"
        heads = [head_of(kind, folder / path) for kind, path in modules if kind in AFTER]
    return Ending(
        str(read),
        nn.Sequential(*heads) if heads else None,
        unit_length=any(reads_embedding(folder / path) for kind, path in modules if kind == "Normalize"),
        longest=settings.get("max_seq_length"),
        lowercase=bool(settings.get("do_lower_case")),
        settings=kept,
        transformer=inside,
        dropped=[]
        if pooling is None
        else [kind for kind in kinds[1:] if kind not in ("Pooling", "Normalize")] + unread,
    )


def is_known(kinds: Sequence[str]) -> bool:
    """Return whether cse reads these modules, in this order."""
    start = ["Transformer", *["WordWeights"] * ("WordWeights" in kinds), "Pooling"]
    end = ["Normalize"] * (kinds[-1:] == ["Normalize"])
    middle = kinds[len(start) : len(kinds) - len(end)]
    return list(kinds) == [*start, *middle, *end] and {*middle} <= {*AFTER}


def class_of_module(module: str) -> str:
    """Return the last part of a sentence-transformers class's name, such as Pooling; any other name unchanged."""
    return module.rpartition(".")[2] if module.startswith("sentence_transformers.") else module


def pooling_kind(file: Path) -> str:
    """Return cls, mean or last, from the config of a Pooling module. Raises UserError for another pooling.

    Versions of sentence-transformers up to 5.x write booleans, later versions pooling_mode.
    """
    config = json.loads(file.read_bytes())
    named = {key: value for key, value in config.items() if key.startswith("pooling_mode_")}
    chosen = [key for key, value in named.items() if value is True]
    modes = config.get("pooling_mode", chosen if named else "mean")  # sentence-transformers' default is the mean
    kind = modes[0] if isinstance(modes, list) and len(modes) == 1 else modes
    if str(kind) not in MODES:
        raise UserError(f"{file}: pooling {kind} is not one of {', '.join(POOLERS)}")
    return MODES[str(kind)]


def check_reads_mask(file: Path, pooling: str) -> None:
    """Raise UserError unless the word weights are 1 for one token and 0 for all others (cse.model.export), and mean
    pooling follows them. With CLS pooling sentence-transformers would return zeros."""
    config = json.loads(file.read_bytes())
    if config["unknown_word_weight"] != 0 or list(config["word_weights"].values()) != [1.0] or pooling != "mean":
        raise UserError(
            f"{file}: cse reads word weights only before mean pooling, with 1 for a mask token and 0 for all others"
        )


def reads_embedding(folder: Path) -> bool:
    """Return True. Raises UserError if a Normalize module scales vectors other than the embedding."""
    file = folder / "config.json"  # older releases do not write it
    config = json.loads(file.read_bytes()) if file.is_file() else {}
    if names := {config.get(key) or EMBEDDING for key in ("module_input_name", "module_output_name")} - {EMBEDDING}:
        raise UserError(f"{file}: cse normalises {EMBEDDING}, but this module normalises {', '.join(sorted(names))}")
    return True


def head_of(kind: str, folder: Path) -> nn.Module:
    """Return one module after the pooling. A Dense module becomes a linear layer and its activation.

    Raises UserError for a kind of Dense module that cse does not have, and for weights that are not finite.
    """
    config = json.loads((folder / "config.json").read_bytes())
    if kind == "Dropout":
        return nn.Dropout(config["dropout"])
    weights = weights_in(folder)
    if kind == "LayerNorm":
        norm = nn.LayerNorm(config["dimension"])
        norm.load_state_dict({name.removeprefix("norm."): value for name, value in weights.items()})
        return norm
    if config.get("use_residual"):
        raise UserError(f"{folder}/config.json: a Dense module has use_residual, and cse does not support that")
    names = {config.get(key) or EMBEDDING for key in ("module_input_name", "module_output_name")}
    activation = config.get("activation_function", "Tanh").rpartition(".")[2]
    if activation not in ACTIVATIONS or names != {EMBEDDING}:
        raise UserError(
            f"{folder}/config.json: cse loads a Dense module from {EMBEDDING} to {EMBEDDING} with "
            f"{', '.join(ACTIVATIONS)}, but this one has {activation}, {', '.join(sorted(names))}"
        )
    linear = nn.utils.skip_init(nn.Linear, config["in_features"], config["out_features"], bias=config.get("bias", True))
    linear.load_state_dict({name.removeprefix("linear."): value for name, value in weights.items()})
    return nn.Sequential(linear, ACTIVATIONS[activation]())


def weights_in(folder: Path) -> dict[str, torch.Tensor]:
    """Return the weights of a module: model.safetensors or pytorch_model.bin. Raises UserError for NaN or infinity."""
    from safetensors.torch import load_file

    file = folder / "model.safetensors"
    if file.is_file():
        weights = load_file(file)
    else:
        file = folder / "pytorch_model.bin"
        weights = torch.load(file, map_location="cpu", weights_only=True)
    if not all(value.isfinite().all() for value in weights.values()):
        raise UserError(f"{file} holds NaN or infinity: it is damaged")
    return weights


def check_width(name: str, head: nn.Module | None, width: int) -> None:
    """Raise UserError if a module of the head does not fit the width of its input. name: the encoder's name."""
    for module in head.modules() if head is not None else ():
        if isinstance(module, nn.Linear):
            takes, makes = module.in_features, module.out_features
        elif isinstance(module, nn.LayerNorm):
            takes = makes = module.normalized_shape[0]
        else:
            continue
        if takes != width:
            why = f"a module of its head needs vectors of width {takes}, not {width}"
            raise UserError(why, key="name", value=name)
        width = makes
