"""Check that a checkpoint is whole: its tensors are all there, of the right shape and finite, and its tokenizer works.

transformers fills missing tensors with random weights, and makes a tokenizer of five special tokens where its files are
missing. Both would be scored without a warning.
"""

import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from pickle import UnpicklingError

from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cse.errors import MissingResource, RunError, UserError

log = logging.getLogger(__name__)

MAX_NAMES = 3  # in a message
BUFFERS = re.compile(r"(position_ids|token_type_ids|inv_freq)$")  # computed values that older transformers saved
ATTENTION = re.compile(r"attn_implementation|FlashAttention")
HEADS = re.compile(
    r"cls\.|lm_head\.|pooler\.|classifier\.|pre_classifier\.|score\.|qa_outputs\.|vocab_|predictions\.|sop_classifier\.|"
    r"(generator|discriminator|lm|mask)_(predictions|lm_head)\.|generator_lm_head\.|head\.|decoder\.|pred_layer\."
)


@contextmanager
def loading(name: str, advice: str) -> Iterator[None]:
    """Turn what libraries raise in the block, while they read a checkpoint, into one MissingResource.

    Its message ends with `advice`. Errors of ours pass as they are.
    """
    try:
        yield
    except (UserError, RunError):
        raise
    except UnpicklingError as error:
        raise UserError(
            f"model.name={name}: its .bin file holds more than weights and is not opened; save it as safetensors"
        ) from error
    except SafetensorError as error:
        what = "its .safetensors file is empty or damaged"
        raise MissingResource(f"model.name={name}: {what} ({error}); copy or download it again") from error
    except Exception as error:  # transformers, tokenizers, safetensors and json each raise their own for a bad file
        reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        if "connect" in reason and not Path(name).is_dir():
            reason = "it is in no local cache, and the hub cannot be reached"
        how = " with this model.attention" if ATTENTION.search(reason) else ""
        raise MissingResource(f"model.name={name} could not be loaded{how}: {reason}; {advice}") from error


def check_weights(source: str, model: PreTrainedModel, keys: Mapping, *, fewer_layers: bool, head_is_new: bool) -> None:
    """Compare a checkpoint's tensors with those of the model made from its configuration.

    model: loaded with ignore_mismatched_sizes, or transformers raises before all are known; keys: its loading info.
    fewer_layers: the checkpoint's other layers are left out on purpose. head_is_new: accept a missing head on top of
    the base model; a missing pooler is always accepted, for its use is the caller's question. Heads that the checkpoint
    has beyond the model are not used, and accepted. Raises UserError with the names of tensors that are missing, have
    another shape, belong to layers that the configuration does not have, or hold NaN or infinity.
    """
    check_kinds(source)
    prefix = f"{model.base_model_prefix}."
    missing = [
        key
        for key in sorted(keys["missing_keys"])
        if (key.startswith(prefix) or not head_is_new) and not key.removeprefix(prefix).startswith("pooler.")
    ]
    shapes = [f"{key} {tuple(stored)} for {tuple(own)}" for key, stored, own in keys["mismatched_keys"]]
    others = [key for key in sorted(keys["unexpected_keys"]) if not BUFFERS.search(key)]
    stack = dict(model.base_model.named_children())
    beyond = [key for key in others if key.removeprefix(prefix).partition(".")[0] in stack and not fewer_layers]
    problems = {"has no": missing, "has another shape of": shapes, "has, beyond its configuration,": beyond}
    if found := [f"{problem} {some(names)}" for problem, names in problems.items() if names]:
        raise UserError(
            f"model.name={source} {', and '.join(found)}: it is damaged, or its config.json is another model's"
        )
    if unused := [key for key in others if key not in beyond and not HEADS.match(key.removeprefix(prefix))]:
        log.warning("%s has %s, which nothing uses", source, some(unused))
    check_finite(source, [model])


def check_kinds(source: str) -> None:
    """Raise UserError with the names of weights stored as integers: transformers would read them as floats."""
    for path in sorted(Path(source).glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            kinds = {key: file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118 (a file is no dict)
        whole = [key for key, kind in kinds.items() if kind[0] in "IUB" and kind != "BF16" and not BUFFERS.search(key)]
        if whole:
            raise UserError(f"model.name={source} has whole numbers in {some(whole)}: quantised weights are not read")


def check_finite(source: str, modules: Iterable[nn.Module]) -> None:
    """Raise UserError with the names of weights that hold NaN or infinity."""
    named = chain.from_iterable(module.named_parameters() for module in modules)
    broken = [name for name, value in named if not math.isfinite(value.detach().float().sum().item())]
    if broken:
        raise UserError(f"model.name={source} has NaN or infinity in {some(broken)}: take another copy")


def check_tokenizer(source: str, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Raise UserError for a tokenizer with special tokens only, or with more tokens than the model embeds."""
    vocabulary = tokenizer.get_vocab()
    if not set(vocabulary) - set(tokenizer.all_special_tokens):
        raise UserError(
            f"model.name={source} has no tokenizer files (tokenizer.json, vocab.txt, ...): copy them beside its weights"
        )
    (weight_VD,) = model.get_input_embeddings().parameters()
    rows = len(weight_VD)
    if max(vocabulary.values()) >= rows:
        raise UserError(
            f"model.name={source}: its tokenizer has {max(vocabulary.values()) + 1:,} tokens, but the model embeds "
            f"{rows:,}: they are of different models"
        )


def some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
