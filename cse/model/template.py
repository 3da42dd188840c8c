"""A template around every text. PromptBERT (arXiv:2201.04337) pools the template's mask token, PromptEOL
(arXiv:2307.16645) the template's last token.

    This sentence of "[X]" means [MASK].        h_i is the last layer at [MASK]
    This sentence : "[X]" means in one word:"   h_i is the last layer at the last token

The tokenizer puts the ids of the template around the ids of a text, like special tokens. In a long row only the text is
truncated. The template is in tokenizer.json, so every program that loads an export uses the template. A text is
tokenised without the template, as in PromptBERT's train.py. With BERT's tokenizer, tokenising both together gives the
same ids.

Shapes: B rows, T tokens in a row, t tokens in a template, L possible lengths of a text, D the encoder's width.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cse.errors import UserError
from cse.model.architecture import first_position
from cse.model.packing import ARCHITECTURES
from cse.model.pooling import mean
from cse.types import Tokens

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

log = logging.getLogger(__name__)

TEXT, MASK = "[X]", "[MASK]"  # the place of the text; the tokenizer's mask token, which may have another name
HEAD, TAIL = "[TEMPLATE_HEAD]", "[TEMPLATE_TAIL]"  # the names of the template's ids in tokenizer.json
TYPES = "token_type_ids"
BEFORE, AFTER = "[BEFORE]", "[AFTER]"  # the names of the special tokens around the template


@dataclass(frozen=True)
class Around:
    """The ids before and after every text: a tokenizer's special tokens and, next to the text, the template.

    types: the token types before, in and after the text, if a token has a type other than 0 (XLNet's <cls> has 2), or
    else None.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[tuple[int, ...], int, tuple[int, ...]] | None = None

    def is_like(self, other: "Around") -> bool:
        """Return whether self and `other` differ, but one row could begin and end with the ids of both."""
        begin = zip(self.before, other.before, strict=False)
        end = zip(reversed(self.after), reversed(other.after), strict=False)
        return self != other and all(a == b for a, b in (*begin, *end))

    def text(self, ids: list[int]) -> list[int]:
        """Return the ids of a row's text."""
        return ids[len(self.before) : len(ids) - len(self.after)]


def templates_of(
    hf: "PreTrainedTokenizerBase",
    config: "PretrainedConfig",
    pooling: str,
    *,
    first: str | None,
    second: str | None,
    denoise: str | None,
) -> "tuple[list[Around], Denoising | None]":
    """Put the first template into the tokenizer. Return (templates, denoising). Arguments: see load_encoder.

    templates: the templates of the first view and of the other views, or [] if all views share a template. denoising:
    the Denoising, or None. Raises UserError for templates that the encoder cannot read."""
    if first is not None:
        put(hf, first)
    every = [around(hf), *([second_around(hf, second)] if second is not None else [])]
    if pooling == "mask" and any(hf.mask_token_id not in (*one.before, *one.after) for one in every):
        raise UserError(f"it reads the {MASK} of `template`, but `template` has none", key="pooling", value="mask")
    own = every if second is not None else []
    if denoise is None:
        return own, None
    if pooling != "mask" or config.model_type not in ARCHITECTURES:
        raise UserError(
            f"it needs `pooling`=mask and a model of type {' or '.join(ARCHITECTURES)}, but `pooling` is {pooling} and "
            f"the type {config.model_type}",
            key="denoise",
            value=denoise,
            instead="use `denoise`=null, or another model or pooling",
        )
    if every[0].is_like(every[-1]):
        why = "`denoise` cannot distinguish rows of this template from rows of `template`"
        raise UserError(why, key="second_template", value=repr(second))
    return own, Denoising(every, hf.mask_token_id, 0 if denoise == "released" else first_position(config))


def around(hf: "PreTrainedTokenizerBase") -> Around:
    """Return the ids that a fast tokenizer puts around a text."""
    row = hf(known_text(hf), return_token_type_ids=True)
    ids: list[int] = row["input_ids"]
    places = [i for i, part in enumerate(row.sequence_ids(0)) if part is not None]
    types: list[int] = row[TYPES]
    first, last = places[0], places[-1]
    parts = tuple(types[:first]), types[first], tuple(types[last + 1 :])
    is_given = TYPES in hf.model_input_names and any(types)
    return Around(tuple(ids[:first]), tuple(ids[last + 1 :]), parts if is_given else None)


def known_text(hf: "PreTrainedTokenizerBase") -> str:
    """Return a text with at least one token: `a`, or a word of the vocabulary if `a` has no token."""
    return next(text for text in chain(["a"], own_words(hf)) if hf(text, add_special_tokens=False)["input_ids"])


def own_words(hf: "PreTrainedTokenizerBase") -> Iterator[str]:
    """Yield the ordinary tokens of the vocabulary, as text."""
    special = set(hf.all_special_tokens)
    return (hf.convert_tokens_to_string([token]).strip() for token in hf.get_vocab() if token not in special)


def add_ends(hf: "PreTrainedTokenizerBase", asked: Mapping[str, object]) -> bool:
    """Make the tokenizer add the BOS and EOS tokens that tokenizer_config.json asks for, if tokenizer.json lacks them.

    transformers 5 adds neither token. asked: the content of tokenizer_config.json. Return whether a token was added."""
    own = around(hf)
    first = hf.bos_token_id if asked.get("add_bos_token") and hf.bos_token_id not in own.before else None
    last = hf.eos_token_id if asked.get("add_eos_token") and hf.eos_token_id not in own.after else None
    if own.types is not None or (first is None and last is None):
        return False
    said = " and ".join(["BOS"] * (first is not None) + ["EOS"] * (last is not None))
    log.info("tokenizer  the %s token of tokenizer_config.json is added: tokenizer.json lacks it", said)
    before = own.before if first is None else (first, *own.before)
    after = own.after if last is None else (*own.after, last)
    surround(hf, {BEFORE: before, "$A": (), AFTER: after})
    return True


def settle_types(hf: "PreTrainedTokenizerBase", reads: bool, is_decoder: bool) -> None:
    """Make the tokenizer return token types if the model reads them and some token has a type other than 0.

    XLNet was trained with type 2 at <cls>, but transformers 5 leaves this type out. For other decoders, make the
    tokenizer return no types, because GPT would read type 0 as the id of a word.
    """
    names = [name for name in hf.model_input_names if name != TYPES]
    if reads and any(hf(known_text(hf), return_token_type_ids=True)[TYPES]):
        names.append(TYPES)
    elif not is_decoder:
        return
    hf.model_input_names = hf.init_kwargs["model_input_names"] = names  # the tokenizer saves init_kwargs


def surround(hf: "PreTrainedTokenizerBase", parts: Mapping[str, Sequence[int]]) -> None:
    """Make the tokenizer put ids around every text. parts: {name: ids} in order; $A stands for the text."""
    from tokenizers.processors import TemplateProcessing

    named = {name: list(ids) for name, ids in parts.items() if ids}
    special = [{"id": name, "ids": ids, "tokens": hf.convert_ids_to_tokens(ids)} for name, ids in named.items()]
    single = " ".join(name for name in parts if name in named or name == "$A")
    hf.backend_tokenizer.post_processor = TemplateProcessing(single=single, special_tokens=special)


def pieces(hf: "PreTrainedTokenizerBase") -> dict[str, tuple[int, ...]]:
    """Return the ids that a tokenizer puts around a text, as {name: ids}; {} if they have no names."""
    processor = hf.backend_tokenizer.post_processor
    named = {} if processor is None else json.loads(processor.__getstate__()).get("special_tokens", {})
    return {name: tuple(one["ids"]) for name, one in named.items()}


def length(hf: "PreTrainedTokenizerBase") -> int:
    """Return the number of ids of a tokenizer's template; 0 without a template."""
    return sum(len(ids) for name, ids in pieces(hf).items() if name in (HEAD, TAIL))


def ids_of(hf: "PreTrainedTokenizerBase", key: str, template: str) -> tuple[list[int], list[int]]:
    """Return the ids of a template before and after the text. Raises UserError with `key` for a bad template."""
    if template.count(TEXT) != 1:
        raise UserError(f"it needs {TEXT} exactly once, in place of the text", key=key, value=repr(template))
    if MASK in template and hf.mask_token is None:
        raise UserError("this encoder's tokenizer has no mask token", key=key, value=repr(template))
    head, tail = template.replace(MASK, str(hf.mask_token)).split(TEXT)
    # byte-level tokenizers would make a token from a blank before the text; the authors' code trains without it
    return tuple(hf(part, add_special_tokens=False)["input_ids"] for part in (head.rstrip(), tail))


def put(hf: "PreTrainedTokenizerBase", template: str) -> None:
    """Make the tokenizer put the template around every text.

    Raises UserError for a bad template, and if there is already a template.
    """
    if length(hf):
        raise UserError(
            "the tokenizer of this checkpoint already has a template: leave `template` out",
            key="template",
            value=repr(template),
        )
    own = around(hf)
    if own.types is not None:
        why = "cse supports no template for this tokenizer, because its special tokens have their own token type"
        raise UserError(why, key="template", value=repr(template))
    head, tail = ids_of(hf, "template", template)
    surround(hf, {BEFORE: own.before, HEAD: head, "$A": (), TAIL: tail, AFTER: own.after})


def second_around(hf: "PreTrainedTokenizerBase", template: str) -> Around:
    """Return the ids that a second template puts around a text, with the special tokens of the tokenizer."""
    if not length(hf):
        why = "there is no `template` for the first view"
        raise UserError(why, key="second_template", value=repr(template))
    own, (head, tail) = pieces(hf), ids_of(hf, "second_template", template)
    return Around((*own.get(BEFORE, ()), *head), (*tail, *own.get(AFTER, ())))


class Denoising(nn.Module):
    """PromptBERT's denoising (Section 3.3). The bias h^_i is the last layer at [MASK] for a template without text.
    The tokens of the template keep the position ids that they have around the text. The loss gets h_i - h^_i. At test
    time the embedding is h_i.

    As in the authors' code, each length of a text in the batch has its own bias, with its own dropout and gradient.
    Rows of the same length share a bias. templates: the templates of the first view and of the other views. first:
    the position of the first token of a row. The authors' code starts at 0; RoBERTa starts at 2.
    """

    def __init__(self, templates: list[Around], mask_id: int, first: int):
        super().__init__()
        self.templates, self.mask_id, self.first = templates, mask_id, first
        for i, template in enumerate(templates):  # a buffer moves with the encoder; these are not saved
            self.register_buffer(f"ids{i}", torch.tensor([*template.before, *template.after]), persistent=False)

    def forward(self, backbone: "PreTrainedModel", tokens: Tokens) -> Tensor:
        """Return the bias of every row, (B, D)."""
        bias_BD = self.biases(backbone, tokens, 0)
        for i in range(1, len(self.templates)):
            bias_BD = torch.where(self.has(tokens, i)[:, None], self.biases(backbone, tokens, i), bias_BD)
        return bias_BD

    def biases(self, backbone: "PreTrainedModel", tokens: Tokens, i: int) -> Tensor:
        """Return the bias that each row would have in template i, (B, D)."""
        ids_t = self.get_buffer(f"ids{i}")
        texts_L = torch.arange(max(1, tokens.ids_BT.shape[1] - len(ids_t) + 1), device=ids_t.device)
        is_after_t = torch.arange(len(ids_t), device=ids_t.device) >= len(self.templates[i].before)
        places_Lt = self.first + torch.arange(len(ids_t), device=ids_t.device) + texts_L[:, None] * is_after_t
        ids_Lt = ids_t.expand(len(texts_L), -1)
        hidden_LtD = backbone(input_ids=ids_Lt, position_ids=places_Lt).last_hidden_state
        length_B = tokens.mask_BT.sum(1) - len(ids_t)
        return mean(hidden_LtD, ids_Lt == self.mask_id)[length_B.clamp(0, len(texts_L) - 1)]

    def has(self, tokens: Tokens, i: int) -> Tensor:
        """Return whether each row has template i, (B,)."""
        ids_t, before = self.get_buffer(f"ids{i}"), len(self.templates[i].before)
        rows_BT, size = tokens.ids_BT, len(ids_t)
        places_Bt = torch.arange(size, device=ids_t.device).expand(len(rows_BT), -1).clone()
        places_Bt[:, before:] += tokens.mask_BT.sum(1, keepdim=True) - size
        return (rows_BT.gather(1, places_Bt.clamp(0, rows_BT.shape[1] - 1)) == ids_t).all(1)
