"""What a sentence-transformers folder records of what follows the transformer's layers, and of what precedes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from cse.errors import UserError
from cse.model.pooling import POOLERS

FAMILIES = ("bert", "roberta", "distilbert", "xlm-roberta", "albert", "camembert")  # as sentence-transformers asks
MODES = {
    "cls": "cls",
    "mean": "mean",
    "lasttoken": "last",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}


@dataclass(frozen=True)
class Ending:
    """pooling, and then: the trained head, whether vectors get length 1, the most tokens that are read (None: all that
    the model can), the text put before every sentence."""

    pooling: str
    head: nn.Module | None = None
    unit_length: bool = False
    longest: int | None = None
    prefix: str = ""


def recorded_modules(source: str) -> Ending | None:
    """What a sentence-transformers layout says, None where there is no such layout. source: a folder or a hub name.

    Raises UserError for a module that cse cannot load.
    """
    from transformers.utils import cached_file

    def read(file: str) -> dict | list | None:
        path = cached_file(
            source,
            file,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        return None if path is None else json.loads(Path(path).read_text())

    modules = read("modules.json")
    if modules is None:
        return None
    pooling, head, unit_length, longest = None, None, False, None
    for module in modules:
        kind, path = module["type"].rpartition(".")[2], module["path"]
        if kind == "Pooling":
            pooling = pooling_kind(_mapping(read(f"{path}/config.json")), source)
        elif kind == "Dense":
            weights = str(cached_file(source, f"{path}/model.safetensors"))
            head = dense_head(_mapping(read(f"{path}/config.json")), weights)
        elif kind == "Normalize":
            unit_length = True
        elif kind == "Transformer":
            configs = (read(f"sentence_{family}_config.json") for family in FAMILIES)
            longest = next((_mapping(config).get("max_seq_length") for config in configs if config), None)
        else:
            raise UserError(f"{source}/modules.json: a {kind} module is not one that cse can load")
    if pooling is None:
        raise UserError(f"{source}/modules.json names no Pooling: say model.pooling={'|'.join(POOLERS)}")
    settings = _mapping(read("config_sentence_transformers.json"))
    prefix = settings.get("prompts", {}).get(settings.get("default_prompt_name"), "")
    return Ending(pooling, head, unit_length, longest, prefix)


def pooling_kind(config: Mapping, source: str) -> str:
    """cls, mean or last from either spelling of a Pooling module's config (booleans up to 5.x, pooling_mode later).

    Raises UserError for another pooling.
    """
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    kind = config.get("pooling_mode", chosen[0] if len(chosen) == 1 else None)
    if kind not in MODES:
        raise UserError(f"{source}/1_Pooling/config.json: pooling {kind or chosen} is not one of {', '.join(POOLERS)}")
    return MODES[kind]


def dense_head(config: Mapping, weights: str) -> nn.Module:
    """A sentence-transformers Dense module: linear, then its activation. weights: its safetensors file."""
    from safetensors.torch import load_file

    activations = {"Tanh": nn.Tanh, "Identity": nn.Identity, "ReLU": nn.ReLU}
    linear = nn.Linear(config["in_features"], config["out_features"], bias=config["bias"])
    linear.load_state_dict({name.removeprefix("linear."): value for name, value in load_file(weights).items()})
    return nn.Sequential(linear, activations[config["activation_function"].rpartition(".")[2]]())


def _mapping(content: dict | list | None) -> Mapping:
    return content if isinstance(content, dict) else {}
