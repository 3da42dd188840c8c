"""What a sentence-transformers folder records of what follows the transformer's layers, and of what precedes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
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


class Recorded:
    """The JSON files and weights beside a checkpoint. source: a folder or a hub name."""

    def __init__(self, source: str):
        self.source = source

    def path(self, file: str) -> str | None:
        """Where a file is, None where there is none."""
        from transformers.utils import cached_file

        quiet = {"_raise_exceptions_for_missing_entries": False, "_raise_exceptions_for_connection_errors": False}
        return cached_file(self.source, file, **quiet)

    def read(self, file: str) -> object:
        """A file's content, None where there is none. Raises UserError for a file that is not JSON."""
        path = self.path(file)
        if path is None:
            return None
        try:
            return json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{self.source}/{file} is not JSON ({error}): take another copy of the checkpoint"
            ) from error

    def mapping(self, file: str) -> Mapping:
        """A file's mapping; empty where there is no file, or another content."""
        content = self.read(file)
        return content if isinstance(content, dict) else {}

    def longest(self) -> int | None:
        """The most tokens that are read. Raises UserError where that is not a number."""
        configs = (self.mapping(f"sentence_{family}_config.json") for family in FAMILIES)
        longest = next((config.get("max_seq_length") for config in configs if config), None)
        if longest is not None and not isinstance(longest, int):
            raise UserError(f"{self.source}: max_seq_length={longest!r} in its sentence_*_config.json is not a number")
        return longest

    def head(self, folder: str) -> nn.Module:
        """A Dense module. Raises UserError where it is not whole."""
        try:
            return dense_head(self.mapping(f"{folder}/config.json"), str(self.path(f"{folder}/model.safetensors")))
        except (OSError, KeyError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UserError(
                f"{self.source}/{folder} is not a whole Dense module ({reason}): take another copy"
            ) from error


def recorded_modules(source: str) -> Ending | None:
    """What a sentence-transformers layout says, None where there is no such layout. source: a folder or a hub name.

    Raises UserError for a module that cse cannot load.
    """
    files = Recorded(source)
    modules = files.read("modules.json")
    if modules is None:
        return None
    if not isinstance(modules, list) or not all(_is_module(module) for module in modules):
        raise UserError(f"{source}/modules.json: it should list modules, each with its type and its path")
    pooling, head, unit_length, longest = None, None, False, None
    for module in modules:
        kind, path = module["type"].rpartition(".")[2], module["path"]
        if kind == "Pooling":
            pooling = pooling_kind(files.mapping(f"{path}/config.json"), source)
        elif kind == "Dense":
            head = files.head(path)
        elif kind == "Normalize":
            unit_length = True
        elif kind == "Transformer":
            longest = files.longest()
        else:
            raise UserError(f"{source}/modules.json: a {kind} module is not one that cse can load")
    if pooling is None:
        raise UserError(f"{source}/modules.json names no Pooling: say model.pooling={'|'.join(POOLERS)}")
    settings = files.mapping("config_sentence_transformers.json")
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict):
        raise UserError(f"{source}/config_sentence_transformers.json: prompts should be a text for each name")
    return Ending(pooling, head, unit_length, longest, prompts.get(settings.get("default_prompt_name"), ""))


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


def _is_module(content: object) -> bool:
    return isinstance(content, dict) and isinstance(content.get("type"), str) and isinstance(content.get("path"), str)
