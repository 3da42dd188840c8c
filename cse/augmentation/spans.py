"""DeCLUTR's span sampling (arXiv:2006.03659v1, section 3.1.1): anchors across a document, positives around each anchor.

    anchor length   = floor(Beta(4, 2) (lmax - lmin) + lmin)     skewed to long spans, which represent the document
    positive length = floor(Beta(2, 4) (lmax - lmin) + lmin)     skewed to short spans, which share less text

A document has n units (words or word pieces), A anchors, and P positives per anchor. A span is (start, end), end
exclusive. Its length is from lmin to lmax. Each anchor is in its own block of lmax units. No two anchors are in
neighbouring blocks, so at least lmax units are between two anchors.
"""

import json
import logging
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, assert_never

import numpy as np

from cse.equation import Known, at_least, equation
from cse.errors import UserError
from cse.model.template import known_text
from cse.model.tokenizer import rules_of
from cse.progress import showing
from cse.ranges import BelowOne, Count
from cse.types import Augmentation, Rows

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase

log = logging.getLogger(__name__)

Span = tuple[int, int]
Rng = np.random.Generator | np.random.RandomState
Strategy = Literal["all", "adjacent", "subsuming"]
AnchorStart = Literal["jitter", "block_start"]


def long_enough(num_units: int, known: Known) -> str:
    """Require a document with enough units for the anchors."""
    needed = units_needed(known["anchors"], known["max_length"])
    spans = f"{known['anchors']} anchors of up to {known['max_length']} units"
    return "" if num_units >= needed else f"at least {needed} (for {spans})"


@equation(num_units=long_enough, max_length=at_least("min_length"))
def sample_spans(
    num_units: Count,
    anchors: Count,
    positives: Count,
    strategy: Strategy,
    rng: Rng,
    min_length: Count = 32,
    max_length: Count = 512,
    anchor_start: AnchorStart = "jitter",
    adjacent_bug: bool = False,
) -> tuple[list[Span], list[Span]]:
    """Return ([A anchors], [A*P positives, in the order of the anchors]).

    rng: a numpy Generator or RandomState. The draws have the order of the authors' code: beta, block, start; then beta
    and start for each positive. So RandomState(seed) gives the spans of the authors' code after np.random.seed(seed).
    Raises ValueError if num_units < 2 A lmax.

    For example:

        >>> rng = np.random.RandomState(0)
        >>> sample_spans(2000, anchors=1, positives=2, strategy="all", rng=rng)
        ([(595, 1003)], [(838, 909), (840, 1132)])
    """
    blocks = list(range(0, num_units - max_length + 1, max_length))  # the tail n mod lmax never holds an anchor
    anchor_spans: list[Span] = []
    positive_spans: list[Span] = []
    for remaining in range(anchors, 0, -1):
        length = _length(rng, 4, 2, min_length, max_length)
        if len(blocks) // remaining < remaining:  # a block at an end has one neighbour only, so blocks never run out
            index = rng.choice([0, len(blocks) - 1])
        else:
            index = _integer(rng, 0, len(blocks))
        start = blocks[index]
        if anchor_start == "jitter":
            start = _integer(rng, start, start + max_length - length + 1)
        del blocks[max(0, index - 1) : index + 2]
        anchor = int(start), int(start) + length
        anchor_spans.append(anchor)
        options = strategy, min_length, max_length, adjacent_bug
        positive_spans += [_positive(num_units, anchor, rng, *options) for _ in range(positives)]
    return anchor_spans, positive_spans


def units_needed(anchors: int, max_length: int) -> int:
    """Return the fewest units that a document may have: each anchor needs its own block and a neighbouring block."""
    return 2 * anchors * max_length


def _positive(
    num_units: int, anchor: Span, rng: Rng, strategy: Strategy, min_length: int, max_length: int, adjacent_bug: bool
) -> Span:
    anchor_start, anchor_end = anchor
    if strategy == "subsuming":
        length = _length(rng, 2, 4, min_length, anchor_end - anchor_start)
        start = _integer(rng, anchor_start, anchor_end - length + 1)
    elif strategy == "adjacent":
        # The authors also limit the length to max(units before the anchor, units after it). That limit has no effect:
        # one side always has max_length units. The authors' `before > 0` never starts a span at the document's start.
        length = _length(rng, 2, 4, min_length, max_length)
        before = anchor_start - length
        starts = [before] if (before > 0 if adjacent_bug else before >= 0) else []
        starts += [anchor_end] if anchor_end + length <= num_units else []
        start = int(rng.choice(starts))
    elif strategy == "all":
        length = _length(rng, 2, 4, min_length, max_length)
        start = _integer(rng, max(0, anchor_start - length), min(anchor_end, num_units - length) + 1)
    else:
        assert_never(strategy)
    return start, start + length


def _length(rng: Rng, a: float, b: float, shortest: int, longest: int) -> int:
    return int(rng.beta(a, b) * (longest - shortest) + shortest)


def _integer(rng: Rng, low: int, high: int) -> int:
    """Return a uniform integer in low .. high - 1. `rng` is a numpy Generator or RandomState."""
    return int((rng.integers if isinstance(rng, np.random.Generator) else rng.randint)(low, high))


class Spans(Augmentation):
    """Views of a document, as texts: view 0 is its A anchors, view 1 its A*P positives.

    strategy      all | adjacent | subsuming
    unit          words (split at whitespace, the paper) | wordpieces (the authors' later code; needs `bind`). A span
                  of word pieces begins and ends between words, so the span's tokens are tokens of the document. In the
                  authors' code a span begins anywhere
    on_short      for a document of fewer than 2 A lmax units: error | skip (not in `usable_rows`) | shrink (lower lmax
                  to n // 2A, but not below lmin)
    anchor_start  jitter (anywhere in its block) | block_start (the authors' code at the time of v1)
    adjacent_bug  as in the authors' code: no adjacent positive begins at the start of the document
    """

    level = "text"
    max_views = 2  # anchors and positives

    def __init__(
        self,
        anchors: Count,
        positives: Count,
        strategy: Strategy,
        min_length: Count,
        max_length: Count,
        unit: Literal["words", "wordpieces"],
        on_short: Literal["error", "skip", "shrink"],
        anchor_start: AnchorStart,
        adjacent_bug: bool,
        model_dropout: BelowOne | None,
    ):
        # With `adjacent_bug` and min_length = max_length, an adjacent positive may fit nowhere in the document.
        self.smallest_max_length = min_length + 1 if adjacent_bug else min_length
        if max_length < self.smallest_max_length:
            raise UserError(
                f"it must be at most `max_length`={max_length} or, with `adjacent_bug`=true, below `max_length`",
                key="min_length",
                value=min_length,
            )
        self.anchors, self.positives, self.strategy = anchors, positives, strategy
        self.min_length, self.max_length = min_length, max_length
        self.unit, self.on_short = unit, on_short
        self.anchor_start, self.adjacent_bug = anchor_start, adjacent_bug
        self.model_dropout = model_dropout
        self._tokenizer: PreTrainedTokenizerBase

    def bind(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Take the encoder's Hugging Face tokenizer. Only unit=wordpieces uses it."""
        self._tokenizer = tokenizer
        if self.unit == "wordpieces":
            word = known_text(tokenizer)
            alone = self._ids(word)
            self._keeps_blank = self._ids(f"{word} {word}")[len(alone) :] != alone  # byte-level BPE keeps the blank
            self._cuts_at_signs = self._ids(f"{word}.")[len(alone) :] == self._ids(".")

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]

    def usable_rows(self, text: Rows) -> np.ndarray:
        """Return the indices of the documents that are long enough for `views`. Logs the number of these documents.

        Raises UserError if a document is short and on_short is "error", or if no document is usable.
        """
        with showing("spans"):
            lengths_N = text.measured(lambda document: len(self._units(document)[0]), self._key_of_units())
        needed = units_needed(self.anchors, self.max_length)
        short, rows = int((lengths_N < needed).sum()), np.flatnonzero(lengths_N >= self._least())
        if (short and self.on_short == "error") or len(rows) == 0:
            for_most = int(np.quantile(lengths_N, 0.1)) // (2 * self.anchors)
            instead = f"with augmentation.max_length={for_most}, nine of ten documents are long enough"
            if for_most < self.min_length:
                instead = "for single sentences, use objective=simcse"
            raise UserError(
                f"{short} of {len(lengths_N)} documents have fewer than {needed} {self.unit} (the shortest: "
                f"{lengths_N.min()}), and {self.anchors} anchors of up to {self.max_length} need that many: "
                f"augmentation.on_short=skip leaves these documents out, on_short=shrink takes shorter spans; {instead}"
            )
        log.info("spans: %d documents, %d of them short, %d usable", len(lengths_N), short, len(rows))
        return rows

    def _key_of_units(self) -> str:
        """Return the setting and the tokenizer's rules that determine the units of a document, as text."""
        if self.unit == "words":
            return self.unit
        return f"{self.unit} {json.dumps(rules_of(self._tokenizer), sort_keys=True)}"

    def views(self, text: str, num_views: int, rng: np.random.Generator) -> list[str | list[str]]:
        """Return [the A anchors, the A*P positives] as texts. The positives are in the order of the anchors.

        An objective with one view reads only the anchors.

        Raises UserError if the document is not usable.
        """
        units, begins = self._units(text)
        max_length = self.max_length
        if self.on_short == "shrink" and len(units) >= self._least():
            max_length = min(max_length, len(units) // (2 * self.anchors))
        if len(units) < units_needed(self.anchors, max_length):
            raise UserError(
                f"a document of {len(units)} {self.unit} is too short: {self.anchors} anchors of up to {max_length} "
                f"need {units_needed(self.anchors, max_length)} or more: use augmentation.on_short=skip, or a lower "
                "augmentation.max_length"
            )
        anchors, positives = sample_spans(
            len(units),
            self.anchors,
            self.positives,
            self.strategy,
            rng,
            min_length=self.min_length,
            max_length=max_length,
            anchor_start=self.anchor_start,
            adjacent_bug=self.adjacent_bug,
        )
        return [[self._join(units, begins, span) for span in spans] for spans in (anchors, positives)]

    def _least(self) -> int:
        """Return the smallest number of units of a usable document."""
        return units_needed(self.anchors, self.smallest_max_length if self.on_short == "shrink" else self.max_length)

    def _units(self, text: str) -> tuple[list[str], list[bool]]:
        """Return ([a unit of the document, with the blank before the unit], [whether the unit begins a word])."""
        words = text.split()
        if self.unit == "words":
            return [f" {word}" for word in words], [True] * len(words)
        # after a space, byte-level BPE splits the first word as it does inside a sentence
        whole = "".join(f" {word}" for word in words)
        row = self._tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        ends = [end for _, end in row["offset_mapping"]]
        units = [whole[start:end] for start, end in pairwise((0, *ends))]
        numbers = [-1, *row.word_ids(0)]  # numbers of the tokenizer's words; signs are words too
        cuts = [self._cuts_at_signs and one != other for one, other in pairwise(numbers)]
        return units, [cut or unit.startswith(" ") for cut, unit in zip(cuts, units, strict=True)]

    def _join(self, units: list[str], begins: list[bool], span: Span) -> str:
        """Return the text of a span. Both ends move back to the start of a word. If no word would remain, the end moves
        forward instead. Neither end moves by more than the span's length, because some scripts have no blanks."""
        start, end = span
        length, begins = end - start, [*begins, True]
        start = next((i for i in range(start, max(-1, start - length), -1) if begins[i]), start)
        ahead = range(end, min(len(begins), end + length))
        end = next((i for i in (*range(end, start, -1), *ahead) if begins[i]), end)
        joined = "".join(units[start:end])
        return joined if self.unit == "wordpieces" and self._keeps_blank else joined.strip()
