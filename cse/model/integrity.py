"""Check that a checkpoint is whole, and that what AutoModel made of it is an encoder of text.

transformers fills missing tensors with random weights, and makes a tokenizer of five special tokens where its files are
missing. Both would be scored without a warning.
"""

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import safe_open
from torch.nn.functional import pad
from transformers import AutoModel, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from cse.errors import MissingResource, RunError, UserError, in_short
from cse.files import within
from cse.sources.hub import WEIGHTS

log = logging.getLogger(__name__)

MAX_NAMES = 3  # in a message
TOKENS, PADDED = 5, 12  # of the text, and of the row that it is tried in: no library's chunk divides the first
TOLERANCE = 1e-2  # of a vector's length; rounding is a thousandth of this in float32
BUFFERS = re.compile(r"(position_ids|token_type_ids|inv_freq)$")  # computed values that older transformers saved


@contextmanager
def loading(name: str, advice: str) -> Iterator[None]:
    """Turn what libraries raise in the block, while they read a checkpoint, into one MissingResource.

    Its message ends with `advice`. Errors of ours pass as they are.
    """
    try:
        yield
    except (UserError, RunError):
        raise
    except Exception as error:  # transformers, tokenizers, safetensors and json each raise their own for a bad file
        reason = f"could not be loaded ({in_short(error)}); copy or download it again"
        raise MissingResource(f"model.name={name} {reason}; {advice}") from error


def check_files(folder: Path) -> None:
    """Raise UserError where an index of weights names a file in another folder, and for an adapter beside the weights.

    transformers would put the adapter on by itself, frozen with all weights, where packed rows do not pass through it.
    """
    if (folder / "adapter_config.json").is_file():
        raise UserError(
            f"{folder}/adapter_config.json: an adapter beside the weights is not read: merge it into them (peft's "
            "merge_and_unload), or move it away (for an encoder, model.lora trains a new one)"
        )
    for index in sorted(folder.glob("*.index.json")):
        for name in set(json.loads(index.read_bytes())["weight_map"].values()):
            within(folder, name)


def check_size(name: str, folder: Path, config: PretrainedConfig) -> None:
    """Raise UserError for a configuration of more parameters than its weights have bytes, before it takes memory."""
    size = sum(file.stat().st_size for file in folder.iterdir() if file.suffix in WEIGHTS)
    asked = config.num_hidden_layers * config.hidden_size  # at the least: a layer that many are asked of is not made
    if 0 < size >= asked:
        with torch.device("meta"):
            asked = sum(parameter.numel() for parameter in AutoModel.from_config(config).parameters())
    if asked > size > 0:  # without weights the loader says so
        raise UserError(
            f"model.name={name}: its config.json asks for {asked:,} parameters, of {size:,} bytes of weights"
        )


def check_weights(name: str, folder: str, model: PreTrainedModel, keys: Mapping, *, fewer_layers: bool) -> None:
    """Compare a checkpoint's tensors with those of the model made from its configuration.

    name: the model's, for messages; folder: where its files are. model: loaded with ignore_mismatched_sizes, or
    transformers raises before all are known; keys: its loading info.
    fewer_layers: the checkpoint's other layers are left out on purpose. A missing head on top of the base model, and a
    missing pooler, are accepted: their use is the caller's question. Heads that the checkpoint has beyond the model are
    not used, and accepted. Raises UserError with the names of tensors that are missing, have
    another shape, belong to layers that the configuration does not have, or hold whole numbers, NaN or infinity.
    """
    prefix, stack = f"{model.base_model_prefix}.", dict(model.base_model.named_children())
    own = [key for key in sorted(keys["missing_keys"]) if key.startswith(prefix) or model is model.base_model]
    others = [key for key in sorted(keys["unexpected_keys"]) if not (fewer_layers or BUFFERS.search(key))]
    problems = {
        "has no": [key for key in own if not key.removeprefix(prefix).startswith("pooler.")],
        "has another shape of": [
            f"{key} {tuple(has)} for {tuple(asked)}" for key, has, asked in keys["mismatched_keys"]
        ],
        "has, beyond its configuration,": [
            key for key in others if key.removeprefix(prefix).partition(".")[0] in stack
        ],
        "has whole numbers (quantised weights, which are not read) in": whole_numbers(folder),
        "has NaN or infinity in": [
            key for key, value in model.named_parameters() if not math.isfinite(value.detach().float().sum().item())
        ],
    }
    if found := [f"{problem} {some(names)}" for problem, names in problems.items() if names]:
        raise UserError(
            f"model.name={name} {', and '.join(found)}: it is damaged, or its config.json is another model's"
        )


def whole_numbers(folder: str) -> list[str]:
    """The names of weights stored as integers, which transformers would read as floats."""
    found = []
    for path in sorted(Path(folder).glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            kinds = {key: file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118 (a file is no dict)
        found += [key for key, kind in kinds.items() if kind[0] in "IUB" and kind != "BF16" and not BUFFERS.search(key)]
    return found


def check_tokenizer(source: str, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Raise UserError for a tokenizer that is no fast one, has special tokens only, or more than the model embeds."""
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise UserError(
            f"model.name={source}: its {type(tokenizer).__name__} is no fast tokenizer (one with a tokenizer.json), "
            "which cse needs: use another encoder"
        )
    vocabulary = tokenizer.get_vocab()
    if not set(vocabulary) - set(tokenizer.all_special_tokens):
        raise UserError(
            f"model.name={source} has no tokenizer files (tokenizer.json, vocab.txt, ...): copy them beside its weights"
        )
    (weight_VD,) = model.get_input_embeddings().parameters()
    tokens, rows = max(vocabulary.values()) + 1, len(weight_VD)
    if tokens > rows:
        raise UserError(
            f"model.name={source}: its tokenizer has {tokens:,} tokens, but the model embeds {rows:,}: they are of "
            "different models"
        )


def recorded_length(folder: str, recorded: Mapping[str, object], least: int) -> int:
    """The smallest of the lengths in tokens that a checkpoint's files record; None in one of them records nothing.

    recorded: by file and key. least: special tokens and one of a text. Raises UserError for one that is no number of
    tokens, or too small.
    """
    lengths = []
    for place, length in recorded.items():
        if length is None:
            continue
        if not isinstance(length, int | float) or length < least or length % 1 != 0:  # 1e30 stands for none
            raise UserError(f"{folder}/{place} is {length!r}: it must be a whole number of tokens, {least} or more")
        lengths.append(int(length))
    return min(lengths)


def check_forward(name: str, backbone: PreTrainedModel) -> None:
    """Refuse a model that does not make of 5 ids 5 hidden states; warn of one whose vectors padding changes.

    Flash attention is not tried: the weights are on the CPU here.
    """
    config = backbone.config
    if config._attn_implementation not in ("sdpa", "eager"):
        return
    ids_1T = torch.tensor([[i for i in range(TOKENS + 1) if i != config.pad_token_id][:TOKENS]])
    padded_1P = pad(ids_1T, (0, PADDED - TOKENS), value=config.pad_token_id or 0)
    mask_1P = pad(torch.ones_like(ids_1T), (0, PADDED - TOKENS))
    refused = f"model.name={name}: {config.model_type} does not encode {TOKENS} tokens (%s): use another encoder"
    try:
        with torch.no_grad():
            backbone.eval()
            alone_1TD = backbone(input_ids=ids_1T, attention_mask=torch.ones_like(ids_1T)).last_hidden_state
            among_1PD = backbone(input_ids=padded_1P, attention_mask=mask_1P).last_hidden_state
    except Exception as error:  # an architecture raises whatever it likes
        raise UserError(refused % in_short(error)) from error
    if alone_1TD.shape != (1, TOKENS, config.hidden_size):
        raise UserError(refused % f"it makes {tuple(alone_1TD.shape)} of them, with a width of {config.hidden_size}")
    change = (among_1PD[:, :TOKENS] - alone_1TD).norm() / alone_1TD.norm()
    if change > TOLERANCE and alone_1TD.dtype == torch.float32:
        log.warning(
            "model.name=%s: padding changes the vectors of %s (here by %.0f %%): scores depend on the batches",
            *(name, config.model_type, 100 * change),
        )


def some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
