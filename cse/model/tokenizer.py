"""Turn texts into rows of ids, and rows of ids into one padded batch."""

import hashlib
import json
import logging
from collections.abc import Iterable
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING

import numpy as np
import torch

from cse.errors import UserError
from cse.files import Json
from cse.model import template
from cse.types import Document, Tokens

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase

log = logging.getLogger(__name__)

KEPT_WORDS = 2**19  # words that by_words keeps: about 100 MB
HEAD, HEAD_A_TOKEN = 2_000, 20
"""At first, max(HEAD, HEAD_A_TOKEN * max_length) characters of a long text are tokenised, and more only if needed.
The tokenizer needs 100 bytes of memory for each character, too much for a line of 30 MB."""
GROWTH, MOST = 4, 2**20  # if the characters give too few tokens, GROWTH times as many are read, up to MOST
TRIED = 64  # words that are put after a prefix, to count the prefix's own tokens


class Tokenizer:
    """A fast Hugging Face tokenizer (hf), with the prefixes, templates and lengths of an encoder.

    longest: the largest number of tokens of a text at test time, including special tokens. positions: the largest
    number of tokens that the encoder can read; None: no limit. prefix: a text before every input, for instruction-tuned
    encoders ("query: "). prefixes: the texts before a Query and before a Document, instead of `prefix`.
    documents_follow: whether the columns after the first are documents in training. templates: the templates of the
    first view and of the other views, if they differ. changed: whether cse added rules to hf (lower case, BOS, EOS);
    if so, an export names the class PreTrainedTokenizerFast, because hf's own class drops added rules. If hf has no
    padding token (decoders), its EOS token or another special token is the padding. Padding is always masked.
    """

    def __init__(self, hf: "PreTrainedTokenizerBase", longest: int, prefix: str = "", positions: int | None = None):
        self.hf = hf
        if hf.pad_token_id is None:
            hf.pad_token = hf.eos_token or hf.bos_token or hf.unk_token
        self.longest, self.positions = longest, positions
        self.changed = False
        self.prefix = prefix
        self.prefixes: dict[type[str], str] = {}
        self.documents_follow = False
        self.templates: list[template.Around] = []
        self._words: dict[str, bytes] = {}
        self._said: set[str] = set()

    def __call__(self, texts: Iterable[str], max_length: int) -> list[np.ndarray]:
        """Return one int32 array of ids per text, with special tokens at both ends, truncated to max_length ids."""
        prefixed = self._prefixed(texts)
        room = max(HEAD, HEAD_A_TOKEN * max_length)
        cut = [self._cut(text, room) for text in prefixed]
        rows = self._truncated(cut, max_length)
        for i, text in enumerate(prefixed):  # blanks or one endless word may give too few tokens
            more = room
            while len(rows[i]) < max_length and len(cut[i]) < len(text) and more < MOST:
                more *= GROWTH
                cut[i] = self._cut(text, more)
                (rows[i],) = self._truncated([cut[i]], max_length)
            if len(rows[i]) < max_length and len(cut[i]) < len(text):
                end = "last" if self.hf.truncation_side == "left" else "first"
                said = f"a text of {len(text):,} characters has {len(rows[i])} tokens in its {end} {more:,} characters"
                if said not in self._said:  # training reads the text in each epoch
                    self._said.add(said)
                    log.warning("%s: the rest is not read", said)
        return [np.asarray(ids, dtype=np.int32) for ids in rows]

    def of_column(self, texts: list[str], column: int) -> list[str]:
        """Return a column's texts, as Documents if training puts the document prefix before this column."""
        return [Document(text) for text in texts] if column and self.documents_follow else texts

    def _prefixed(self, texts: Iterable[str]) -> list[str]:
        return [self.prefixes.get(type(text), self.prefix) + text for text in texts]

    def _truncated(self, texts: list[str], max_length: int) -> list[list[int]]:
        return self.hf(texts, truncation=True, max_length=max_length, return_attention_mask=False)["input_ids"]

    def _cut(self, text: str, room: int) -> str:
        """Return at most `room` characters of a text: the first, or the last if the tokenizer truncates on the left.

        The text is cut at a word boundary, if this leaves at least half of `room` characters.
        """
        if len(text) <= room:
            return text
        if self.hf.truncation_side == "left":
            part, words = text[-room:], text[-room:].partition(" ")[2]
        else:
            part, words = text[:room], text[:room].rpartition(" ")[0]
        return words if 2 * len(words) >= room else part

    def by_words(self, texts: Iterable[str], max_length: int) -> list[np.ndarray]:
        """Return the same ids as __call__. Each word is tokenised once, which saves time if texts share words.

        Only the first words of a long text are read. A text is tokenised whole if its tokens may cross blanks, or if
        its first words have too few tokens.
        """
        texts = list(texts)
        if not self._is_local:
            return self(texts, max_length)
        before, after = np.array(self._around.before, np.int32), np.array(self._around.after, np.int32)
        room, most = max_length - len(before) - len(after), max(HEAD, HEAD_A_TOKEN * max_length)
        rows, longer, whole = [], set(), []
        for i, text in enumerate(self._prefixed(texts)):
            start = text[:most]
            words = start.replace(" ", "\0 ", room).split("\0")
            if "\0" in start or " " in words[:-1] or (len(words) <= room and len(start) < len(text)):
                words = []
                whole.append(i)
            elif len(words) > room:  # the last word is the rest of the text
                del words[-1]
                longer.add(i)
            rows.append(words)
        if new := [word for word in set().union(*rows) if word not in self._words]:  # a set difference reads all _words
            if len(self._words) > KEPT_WORDS:
                self._words, new = {}, list(set().union(*rows))
            self._words.update(zip(new, self._plain(new), strict=True))
        made = []
        for i, words in enumerate(rows):
            ids = np.frombuffer(b"".join(map(self._words.__getitem__, words)), np.int32)
            if i in longer and len(ids) < room:  # some words have no token, so more words belong to the row
                whole.append(i)
            made.append(np.concatenate([before, ids[:room], after]))
        if whole:
            for i, ids in zip(whole, self([texts[i] for i in whole], max_length), strict=True):
                made[i] = ids
        return made

    def _plain(self, texts: list[str]) -> list[bytes]:
        """Return the ids of each text, not truncated and without special tokens. Bytes of int32 save memory."""
        core = self.hf.backend_tokenizer
        core.no_truncation()
        core.no_padding()
        return [np.array(one.ids, np.int32).tobytes() for one in core.encode_batch(texts, add_special_tokens=False)]

    @cached_property
    def _is_local(self) -> bool:
        """Whether a word and the blank before it have the same tokens in every text, as in BERT and GPT-2."""
        rules = json.loads(self.hf.backend_tokenizer.to_str())
        cuts, cleans = rules["pre_tokenizer"] or {}, rules["normalizer"] or {}
        berts = (cuts.get("type"), cleans.get("type")) == ("BertPreTokenizer", "BertNormalizer")
        gpt2s = cuts.get("type") == "ByteLevel" and cuts.get("use_regex", True) and not cleans
        added = any(one["rstrip"] or " " in one["content"] for one in rules["added_tokens"])
        return (berts or gpt2s) and not added and self.hf.truncation_side == "right"

    @cached_property
    def _around(self) -> template.Around:
        """The ids before and after the ids of a text. Read this property after the tokenizer has its template."""
        return template.around(self.hf)

    def check_length(self, asked: str, max_length: int) -> None:
        """Raise UserError if max_length exceeds the positions or leaves no token for text. asked: the setting's key."""
        if max_length + self.template_length <= (around := self.before_text() + self.after_text()):
            raise UserError(
                f"{asked}={max_length} leaves no token for the text: special tokens and the prefix take "
                f"{around - self.template_length} tokens"
            )
        most = self.most
        if most is not None and self.positions is not None and max_length > most:
            taken = f", {self.positions - most} of them for its template" if self.template_length else ""
            raise UserError(
                f"{asked}={max_length}: this encoder has positions for {self.positions} tokens{taken}: "
                f"give {asked}={most} at most"
            )

    def longer(self, asked: str, max_length: int | None = None) -> str:
        """Return, as text, how to truncate fewer texts than max_length does. asked: the setting's key. max_length: None
        for the length at test time."""
        if max_length is None:
            max_length = self.longest - self.template_length
        if self.most is not None and max_length >= self.most:
            return "this encoder reads no longer texts"
        wanted = 2 * max_length if self.most is None else min(2 * max_length, self.most)
        return f"{asked}={wanted} truncates fewer texts and needs more time and memory"

    @property
    def most(self) -> int | None:
        """The largest possible trainer.max_length; None: no limit."""
        return None if self.room is None else self.room - self.template_length

    @property
    def room(self) -> int | None:
        """The largest length of a row in the first template if its text must also fit in the second; None: no limit."""
        if self.positions is None:
            return None
        lengths = [len(one.before) + len(one.after) for one in (self._around, *self.templates)]
        return self.positions - max(lengths) + lengths[0]

    @property
    def template_length(self) -> int:
        """The number of ids of the template. trainer.max_length does not include these ids."""
        return template.length(self.hf)

    def after_text(self) -> int:
        """Return the number of ids after a text: ids of the template, and special tokens."""
        return len(self._around.after)

    def in_second_template(self, ids: np.ndarray) -> np.ndarray:
        """Return the ids of a row, with the other views' template in place of the first view's template."""
        first, second = self.templates
        return np.array([*second.before, *first.text(ids.tolist()), *second.after], np.int32)

    def prefix_of(self, column: int) -> str:
        """Return the text that training puts before the texts of a column."""
        (prefix,) = self._prefixed(self.of_column([""], column))
        return prefix

    def before_text(self, column: int = 0) -> int:
        """Return the number of ids before a text of this column: special tokens, template and prefix."""
        prefix = self.prefix_of(column)
        if not prefix:
            return len(self._around.before)
        # a blank at the end of the prefix may belong to the first token of the text; that depends on the text
        words = ["a", "k", "1", *islice(template.own_words(self.hf), TRIED)]
        rows = self.hf([prefix + word for word in words], add_special_tokens=False, return_offsets_mapping=True)
        inside = [
            [ids for ids, (_, end) in zip(*row, strict=True) if end <= len(prefix)]
            for row in zip(rows["input_ids"], rows["offset_mapping"], strict=True)
        ]
        same = (len(set(ids)) == 1 for ids in zip(*inside, strict=False))
        return len(self._around.before) + sum(takewhile(bool, same))

    def template_masks(self, ids_BT: torch.Tensor, mask_BT: torch.Tensor) -> torch.Tensor:
        """Return 1 at the mask tokens of the template, 0 at all other tokens, (B, T).

        A text may also contain mask tokens. So masks of the template before the text are counted from the start of a
        row, and masks after the text from the end. If two templates have different counts, mask tokens of the text are
        also 1.
        """
        is_mask_BT = (ids_BT == self.hf.mask_token_id) * mask_BT
        counts = {
            (one.before.count(self.hf.mask_token_id), one.after.count(self.hf.mask_token_id))
            for one in self.templates or [self._around]
        }
        if len(counts) > 1:
            return is_mask_BT
        ((first, last),) = counts
        number_BT = is_mask_BT.cumsum(1)
        from_end_BT = number_BT[:, -1:] - number_BT
        return is_mask_BT * ((number_BT <= first) | (from_end_BT < last))

    @property
    def has_types(self) -> bool:
        """Whether any token has a type other than 0."""
        return self._around.types is not None

    def types(self, mask_BT: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return {"token_type_ids": the token types of rows with this mask}; {} if all types are 0."""
        if self._around.types is None:
            return {}
        before, text, after = self._around.types
        length_B1 = mask_BT.sum(1, keepdim=True)
        types_BT = torch.full_like(mask_BT, text)
        types_BT[:, : len(before)] = mask_BT.new_tensor(before)
        ends_Ba = (length_B1 + torch.arange(-len(after), 0, device=mask_BT.device)).clamp(min=0)
        return {template.TYPES: types_BT.scatter(1, ends_Ba, mask_BT.new_tensor(after).expand_as(ends_Ba))}

    def collate(self, rows: list[np.ndarray], labels: list[np.ndarray | None] | None = None) -> Tokens:
        """Pad rows of ids to the longest row. labels: for each row, ids to predict and -100 elsewhere, or None."""
        lengths_B = np.fromiter(map(len, rows), np.int64, len(rows))
        real_BT = np.arange(max(1, lengths_B.max())) < lengths_B[:, None]  # an empty text may have no token at all

        def padded(rows: Iterable[np.ndarray], padding: int | None) -> torch.Tensor:
            filled_BT = np.full(real_BT.shape, padding, dtype=np.int64)
            filled_BT[real_BT] = np.concatenate(list(rows))
            return torch.from_numpy(filled_BT)

        targets_BT = None
        if labels is not None:
            nothing = np.full(real_BT.shape[1], -100)
            targets = zip(rows, labels, strict=True)
            targets_BT = padded((nothing[: len(ids)] if one is None else one for ids, one in targets), -100)
        return Tokens(padded(rows, self.hf.pad_token_id), torch.from_numpy(real_BT.astype(np.int64)), targets_BT)

    @cached_property
    def id_bound(self) -> int:
        """See the function `id_bound`."""
        return id_bound(self.hf)

    def key(self) -> str:
        """Return a digest of everything that determines the ids."""
        rules = rules_of(self.hf)
        if self.prefix:
            rules["prefix"] = self.prefix
        if self.documents_follow:
            rules["document"] = self.prefixes[Document]
        if self.hf.truncation_side != "right":
            rules["truncation_side"] = self.hf.truncation_side
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()


def rules_of(hf: "PreTrainedTokenizerBase") -> Json:
    """Return the rules of a tokenizer (its tokenizer.json), without the padding and truncation of its last call."""
    rules: Json = json.loads(hf.backend_tokenizer.to_str())
    return {name: rule for name, rule in rules.items() if name not in ("padding", "truncation")}


def id_bound(hf: "PreTrainedTokenizerBase") -> int:
    """Return the largest id of a vocabulary plus 1. len(hf) is smaller if the ids have gaps."""
    return max(hf.get_vocab().values()) + 1
