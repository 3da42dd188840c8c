"""Read what a sentence-transformers folder records beside the transformer: pooling, head, lengths, prompt.

For a damaged file the readers raise what they raise; `cse.model.integrity.loading` turns that into one sentence.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from cse.dotted import Json
from cse.errors import UserError
from cse.model.pooling import POOLERS

MODES = {
    "cls": "cls",
    "mean": "mean",
    "lasttoken": "last",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}
MODULES = ("Transformer", "WordWeights", "Pooling", "Dense", "Normalize")  # those that are read, in this order
ACTIVATIONS = {"Tanh": nn.Tanh, "Identity": nn.Identity, "ReLU": nn.ReLU}
EMBEDDING = "sentence_embedding"
OPTIONS = [f"{part}_{kind}" for part in ("model", "config", "tokenizer", "processor") for kind in ("args", "kwargs")]
UNREAD = ("truncate_dim", "processing_kwargs", *OPTIONS)
"""Keys of sentence-transformers' files that change the vectors and that cse does not read."""


@dataclass(frozen=True)
class Ending:
    """pooling; head: the trained one; unit_length: whether vectors are scaled to length 1; longest: the most tokens of
    a text, None for as many as the model reads; prefix: put before every text; lowercase: whether texts are."""

    pooling: str
    head: nn.Sequential | None = None
    unit_length: bool = False
    longest: int | None = None
    prefix: str = ""
    lowercase: bool = False


def recorded_modules(folder: Path) -> Ending | None:
    """What a folder's sentence-transformers layout says; None for a folder without one.

    Raises UserError for a module, an order or a pooling that cse does not have.
    """
    if not (folder / "modules.json").is_file():
        return None
    modules = json.loads((folder / "modules.json").read_bytes())
    place = {kind_of(module["type"]): folder / module["path"] for module in modules}
    if [*place] != [kind for kind in MODULES if kind in place] or len(place) < len(modules) or "Pooling" not in place:
        kinds, known = [module["type"] for module in modules], ", ".join(MODULES)
        raise UserError(
            f"{folder}/modules.json: {kinds}: cse loads sentence-transformers' {known}, once each, in this order"
        )
    settings: Json = {}
    for file in (*folder.glob("sentence_*_config.json"), *folder.glob("config_sentence_transformers.json")):
        settings |= json.loads(file.read_bytes())
    if unread := [f"{key}={settings[key]}" for key in UNREAD if settings.get(key)]:
        raise UserError(f"{folder} records {unread[0]}, which cse does not read: take it out of its config")
    if place.get("Transformer", folder) != folder:
        raise UserError(f"{folder}/modules.json: cse reads weights beside it, and these are in {place['Transformer']}")
    prefix = (settings.get("prompts") or {}).get(settings.get("default_prompt_name"), "")
    pooling = pooling_kind(place["Pooling"] / "config.json", prefix)
    if "WordWeights" in place:
        check_reads_mask(place["WordWeights"] / "config.json", pooling)
        pooling = "mask"
    head = dense_head(place["Dense"]) if "Dense" in place else None
    longest, lowercase = settings.get("max_seq_length"), bool(settings.get("do_lower_case"))
    return Ending(pooling, head, "Normalize" in place, longest, prefix, lowercase)


def kind_of(module: str) -> str:
    """Pooling, of a class of sentence-transformers; the whole name of any other class."""
    return module.rpartition(".")[2] if module.startswith("sentence_transformers.") else module


def pooling_kind(file: Path, prefix: str) -> str:
    """cls, mean or last, from a Pooling module's config in either spelling (booleans up to 5.x, pooling_mode later).

    Raises UserError for another pooling, and for one that leaves out the tokens of the prefix.
    """
    config = json.loads(file.read_bytes())
    if prefix and config.get("include_prompt") is False:
        raise UserError(
            f"{file} pools without the prompt (include_prompt), which cse does not do: take one of them out"
        )
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    kind = config.get("pooling_mode", chosen[0] if len(chosen) == 1 else None)
    if str(kind) not in MODES:
        raise UserError(f"{file}: pooling {kind or chosen} is not one of {', '.join(POOLERS)}")
    return MODES[str(kind)]


def check_reads_mask(file: Path, pooling: str) -> None:
    """Raise UserError unless the word weights are 1 for one token and 0 for all others (cse.model.export), with mean
    pooling after them: with CLS pooling sentence-transformers would return zeros."""
    config = json.loads(file.read_bytes())
    if config["unknown_word_weight"] != 0 or list(config["word_weights"].values()) != [1.0] or pooling != "mean":
        raise UserError(f"{file}: cse reads word weights only as 1 for a mask token and 0 for all others, mean pooled")


def dense_head(folder: Path) -> nn.Sequential:
    """A Dense module: linear, then its activation. Raises UserError for weights that are not finite."""
    from safetensors.torch import load_file

    config = json.loads((folder / "config.json").read_bytes())
    if config.get("use_residual"):
        raise UserError(f"{folder}/config.json: a Dense module with use_residual, which cse does not have")
    names = {config.get(key) or EMBEDDING for key in ("module_input_name", "module_output_name")}
    if (activation := config["activation_function"].rpartition(".")[2]) not in ACTIVATIONS or names != {EMBEDDING}:
        raise UserError(
            f"{folder}/config.json: cse loads a Dense module from {EMBEDDING} to {EMBEDDING} with "
            f"{', '.join(ACTIVATIONS)}, and this has {activation}, {', '.join(sorted(names))}"
        )
    weights = {name.removeprefix("linear."): value for name, value in load_file(folder / "model.safetensors").items()}
    if not all(value.isfinite().all() for value in weights.values()):
        raise UserError(f"{folder}/model.safetensors holds NaN or infinity: it is damaged")
    linear = nn.utils.skip_init(nn.Linear, config["in_features"], config["out_features"], bias=config["bias"])
    linear.load_state_dict(weights)
    return nn.Sequential(linear, ACTIVATIONS[activation]())
