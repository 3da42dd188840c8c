"""What a sentence-transformers folder records of what follows the transformer's layers, and of what precedes them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from torch import nn
from typing_extensions import TypedDict

from cse.errors import UserError
from cse.model.pooling import POOLERS

T = TypeVar("T")

FAMILIES = ("bert", "roberta", "distilbert", "xlm-roberta", "albert", "camembert")  # as sentence-transformers asks
MODES = {
    "cls": "cls",
    "mean": "mean",
    "lasttoken": "last",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}
ACTIVATIONS = {"Tanh": nn.Tanh, "Identity": nn.Identity, "ReLU": nn.ReLU}


@dataclass(frozen=True)
class Ending:
    """pooling, and then: the trained head, whether vectors get length 1, the most tokens that are read (None: all that
    the model can), the text put before every sentence."""

    pooling: str
    head: nn.Module | None = None
    unit_length: bool = False
    longest: int | None = None
    prefix: str = ""


class Module(TypedDict):
    """An entry of modules.json."""

    type: str
    path: str


class Dense(TypedDict):
    """config.json of a Dense module."""

    in_features: int
    out_features: int
    bias: bool
    activation_function: str


class Lengths(TypedDict, total=False):
    """sentence_bert_config.json."""

    max_seq_length: int | None


class Prompts(TypedDict, total=False):
    """config_sentence_transformers.json."""

    prompts: dict[str, str] | None
    default_prompt_name: str | None


def recorded_modules(folder: Path) -> Ending | None:
    """What a sentence-transformers layout says, None where there is no such layout.

    Raises UserError for a module that cse cannot load, and for a file that is damaged.
    """
    if not (folder / "modules.json").is_file():
        return None
    pooling, head, unit_length, longest = None, None, False, None
    for module in _read(folder / "modules.json", list[Module]):
        kind, place = module["type"].rpartition(".")[2], folder / module["path"]
        if kind == "Pooling":
            pooling = pooling_kind(place / "config.json")
        elif kind == "Dense":
            head = dense_head(place)
        elif kind == "Normalize":
            unit_length = True
        elif kind == "Transformer":
            longest = longest_text(folder)
        else:
            raise UserError(f"{folder}/modules.json: a {kind} module is not one that cse can load")
    if pooling is None:
        raise UserError(f"{folder}/modules.json names no Pooling: say model.pooling={'|'.join(POOLERS)}")
    about = folder / "config_sentence_transformers.json"
    settings = _read(about, Prompts) if about.is_file() else Prompts()
    prefix = (settings.get("prompts") or {}).get(settings.get("default_prompt_name") or "", "")
    return Ending(pooling, head, unit_length, longest, prefix)


def longest_text(folder: Path) -> int | None:
    """The most tokens that are read; None where no file says."""
    files = [path for family in FAMILIES if (path := folder / f"sentence_{family}_config.json").is_file()]
    return _read(files[0], Lengths).get("max_seq_length") if files else None


def pooling_kind(file: Path) -> str:
    """cls, mean or last from either spelling of a Pooling module's config (booleans up to 5.x, pooling_mode later).

    Raises UserError for another pooling.
    """
    config = _read(file, dict[str, Any])
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    kind = config.get("pooling_mode", chosen[0] if len(chosen) == 1 else None)
    if kind not in MODES:
        raise UserError(f"{file}: pooling {kind or chosen} is not one of {', '.join(POOLERS)}")
    return MODES[kind]


def dense_head(folder: Path) -> nn.Module:
    """A Dense module: linear, then its activation. Raises UserError where it is not whole."""
    from safetensors.torch import load_file

    config = _read(folder / "config.json", Dense)
    try:
        linear = nn.Linear(config["in_features"], config["out_features"], bias=config["bias"])
        weights = load_file(folder / "model.safetensors")
        linear.load_state_dict({name.removeprefix("linear."): value for name, value in weights.items()})
        return nn.Sequential(linear, ACTIVATIONS[config["activation_function"].rpartition(".")[2]]())
    except (OSError, KeyError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{folder} is not a whole Dense module ({reason}): take another copy") from error


def _read(file: Path, kind: type[T]) -> T:
    """A JSON file's content. Raises UserError for a file that is missing, or holds something else."""
    try:
        return TypeAdapter(kind).validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{file} cannot be read ({reason}): take another copy of the checkpoint") from error
