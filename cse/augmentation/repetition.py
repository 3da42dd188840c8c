"""ESimCSE's word repetition (arXiv:2109.04380, Section 3.1): view 0 is the sentence; other views repeat some words.

    dup_len ~ U{0, ..., max(2, int(rate N))},   dup_set ~ dup_len of the N indices, uniformly, without replacement

N is the number of words or pieces. The words or pieces with an index in dup_set are repeated. With dropout alone, both
views of a sentence have the same length, so the encoder can match views by length. Repetition makes the lengths differ.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np

from cse.ranges import BelowOne, Share
from cse.types import Augmentation

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase


class Repetition(Augmentation):
    """Views in which some word pieces, or words split at whitespace, occur twice in succession.

    count   paper: the formula above | released: dup_len is below its maximum and below 10, as in the authors' code. For
            pieces, N includes special tokens, and the maximum is int(rate N). For words, the last word never repeats
    A row of pieces can grow to the model's maximum length, a row of words only to trainer.max_length.
    """

    keeps_first = True

    def __init__(
        self,
        rate: Share,
        unit: Literal["wordpieces", "words"],
        count: Literal["paper", "released"],
        model_dropout: BelowOne | None,
    ):
        self.rate, self.unit, self.count = rate, unit, count
        self.model_dropout = model_dropout
        self.level = "text" if unit == "words" else "tokens"

    def bind(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Read the model's maximum length from the tokenizer. No row of pieces may exceed this length."""
        if self.level == "tokens":
            self.longest = tokenizer.model_max_length

    def views(self, text: str, num_views: int, rng: np.random.Generator) -> list[str | list[str]]:
        """Return num_views copies of a text. In each copy, some random words are repeated."""
        words = text.split(" ") if self.count == "released" else text.split()
        return [" ".join(words[i] for i in self._places(len(words), rng)) for _ in range(num_views)]

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the row's ids, with some tokens repeated. The special tokens at the ends are not repeated."""
        return ids[[0, *(1 + self._places(len(ids) - 2, rng)), len(ids) - 1]]

    def _places(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return the numbers 0..n-1 in order, some of them twice."""
        most, among = max(2, int(self.rate * n)), n
        if self.count == "released" and self.unit == "words":
            most, among = min(10, n, most) - 1, n - 1
        elif self.count == "released":
            most = min(10, int(self.rate * (n + 2))) - 1
        most = max(0, min(most, among, self.longest - n - 2))
        twice = rng.choice(among, rng.integers(most + 1), replace=False)
        return np.sort(np.concatenate([np.arange(n), twice]))
