"""Check that a checkpoint is complete, and that AutoModel loads a text encoder from the checkpoint.

If files are missing, transformers draws random weights, or makes a tokenizer of five special tokens. Without a check
the scores would be wrong, and no warning would say so.
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
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from cse.errors import MissingResource, RunError, UserError, in_short
from cse.model.tokenizer import id_bound
from cse.sources.encoder import no_tokenizer

log = logging.getLogger(__name__)

LONGEST = 512  # tokens at test time, if no length is recorded; documents are truncated, sentences are shorter
TOKENS, PADDED = 5, 12  # tokens of the trial text, and of its padded row; no library's chunk size divides 5
TOLERANCE = 1e-2  # relative; float32's rounding is a thousandth of this
BUFFERS = re.compile(r"(position_ids|token_type_ids|inv_freq)$")  # computed tensors that older transformers saved


@contextmanager
def loading(name: str, hint: str = "") -> Iterator[None]:
    """Turn any library's error in the block into a MissingResource. The block reads a checkpoint.

    hint: another possible cause, for the message. Errors of cse pass unchanged.
    """
    try:
        yield
    except (UserError, RunError):
        raise
    except Exception as error:  # transformers, tokenizers, safetensors and json have different errors for a bad file
        why = f"it could not be loaded ({in_short(error)})"
        instead = f"{hint}copy or download it again, or use another encoder (model=minilm)"
        raise MissingResource(why, key="name", value=name, instead=instead) from error


def check_files(folder: Path) -> None:
    """Raise UserError for an adapter beside the weights. By default transformers would load the adapter and freeze all
    weights, and packed layers would skip the adapter."""
    if (folder / "adapter_config.json").is_file():
        raise UserError(
            f"{folder}/adapter_config.json: cse reads no adapter beside the weights: merge it into the weights "
            "(peft's merge_and_unload), or move this file to another folder"
        )


def check_weights(name: str, folder: Path, model: PreTrainedModel, keys: Mapping, *, fewer_layers: bool) -> None:
    """Raise UserError unless a checkpoint has all tensors of `model`, as finite floats, and no other tensors.

    name: the name of the model, for messages. model: loaded with ignore_mismatched_sizes. keys: from_pretrained's
    loading info. fewer_layers: whether layers of the checkpoint are left out on purpose. A head or a pooler may be
    missing or unused. A caller that needs one checks it.
    """
    prefix, stack = f"{model.base_model_prefix}.", dict(model.base_model.named_children())
    own = [key for key in sorted(keys["missing_keys"]) if key.startswith(prefix) or model is model.base_model]
    others = [key for key in sorted(keys["unexpected_keys"]) if not (fewer_layers or BUFFERS.search(key))]
    problems = {
        "no": [key for key in own if not key.removeprefix(prefix).startswith("pooler.")],
        "another shape of": [f"{key} {tuple(has)} for {tuple(asked)}" for key, has, asked in keys["mismatched_keys"]],
        "more than its config.json has:": [
            key for key in others if key.removeprefix(prefix).partition(".")[0] in stack
        ],
        "integers (cse does not read quantised weights) in": whole_numbers(folder),
        "NaN or infinity in": [key for key, value in model.named_parameters() if not value.float().sum().isfinite()],
    }
    if found := [f"{problem} {found[0]} ({len(found)} in all)" for problem, found in problems.items() if found]:
        why = f"it has {', and '.join(found)}: it is damaged, or belongs to another model"
        raise UserError(why, key="name", value=name, instead="copy or download it again")


def whole_numbers(folder: Path) -> list[str]:
    """Return the names of weights stored as integers. Transformers would convert these weights to floats."""
    found = []
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            kinds = {key: file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118 (a file is no dict)
        found += [key for key, kind in kinds.items() if kind[0] in "IU" and not BUFFERS.search(key)]
    return found


def check_tokenizer(name: str, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Raise UserError for a tokenizer that is not fast, has only special tokens, has more tokens than the model embeds,
    or has no token for padding."""
    kind, vocabulary = type(tokenizer).__name__, tokenizer.get_vocab()
    (weight_VD,) = model.get_input_embeddings().parameters()
    tokens, rows = id_bound(tokenizer), len(weight_VD)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        why = f"cse needs a fast tokenizer (with a tokenizer.json), and {kind} is not fast"
        raise UserError(why, key="name", value=name)
    if not set(vocabulary) - set(tokenizer.all_special_tokens):
        raise no_tokenizer(name)
    if tokens > rows:
        why = f"its tokenizer has {tokens:,} tokens, but the model has embeddings for only {rows:,}"
        raise UserError(why, key="name", value=name)
    if not (tokenizer.pad_token or tokenizer.eos_token or tokenizer.bos_token or tokenizer.unk_token):
        raise UserError(
            "its tokenizer has no padding token, and no EOS, BOS or unknown token to use instead",
            key="name",
            value=name,
            instead="set pad_token in tokenizer_config.json",
        )


def tokenizer_settings(folder: Path) -> dict[str, object]:
    """Return the content of tokenizer_config.json; {} if the file does not exist."""
    file = folder / "tokenizer_config.json"
    return json.loads(file.read_bytes()) if file.is_file() else {}


def longest_text(name: str, recorded: int | None, tokenizer: PreTrainedTokenizerBase, positions: int | None) -> int:
    """Return the largest number of tokens of a text at test time, including special tokens.

    recorded: max_seq_length of sentence-transformers, or None. positions: the largest number of tokens that the encoder
    can read; None: no limit. Raises UserError if only special tokens fit.
    """
    longest = int(min(recorded or min(tokenizer.model_max_length, LONGEST), positions or math.inf))
    if longest <= tokenizer.num_special_tokens_to_add():
        raise UserError(
            f"its limit of {longest} tokens leaves no room for text (model_max_length of tokenizer_config.json, "
            "max_seq_length of sentence_bert_config.json)",
            key="name",
            value=name,
        )
    return longest


def check_forward(name: str, backbone: PreTrainedModel) -> None:
    """Raise UserError if a model does not return 5 hidden states for 5 ids. Warn if padding changes the hidden states.

    Flash attention is not tested: the weights are on the CPU here.
    """
    config = backbone.config
    if config._attn_implementation not in ("sdpa", "eager"):
        return
    ids_1T = torch.tensor([[i for i in range(TOKENS + 1) if i != config.pad_token_id][:TOKENS]])
    padded_1P = pad(ids_1T, (0, PADDED - TOKENS), value=config.pad_token_id or 0)
    mask_1P = pad(torch.ones_like(ids_1T), (0, PADDED - TOKENS))
    try:
        with torch.no_grad():
            backbone.eval()
            alone_1TD = backbone(input_ids=ids_1T, attention_mask=torch.ones_like(ids_1T)).last_hidden_state
            among_1PD = backbone(input_ids=padded_1P, attention_mask=mask_1P).last_hidden_state
        change = (among_1PD[:, :TOKENS] - alone_1TD.view(1, TOKENS, config.hidden_size)).norm() / alone_1TD.norm()
    except Exception as error:  # architectures raise anything
        why = f"{config.model_type} is not an encoder of text ({in_short(error)})"
        raise UserError(why, key="name", value=name) from error
    if change > TOLERANCE and alone_1TD.dtype == torch.float32:
        log.warning("%s: padding changes the vectors of %s, so scores depend on the batches", name,
                    config.model_type)  # fmt: skip


def check_bidirectional(backbone: PreTrainedModel) -> None:
    """Raise UserError if a decoder's first token ignores later tokens: transformers cannot make it bidirectional."""
    pair = torch.tensor([[3, 5], [3, 7]])
    with torch.no_grad():
        first_2D = backbone.eval()(input_ids=pair, attention_mask=torch.ones_like(pair)).last_hidden_state[:, 0]
    if torch.equal(first_2D[0], first_2D[1]):
        why = f"transformers cannot make {backbone.config.model_type} bidirectional"
        raise UserError(why, key="bidirectional", value="true")
