"""EDA, Easy Data Augmentation (arXiv:1901.11196): four edits of a sentence's words, as in the authors' code eda_nlp.

SR  synonym replacement   RI  random insertion   RS  random swap   RD  random deletion
One of these edits, chosen uniformly, makes a view. SR, RI and RS make n = max(1, floor(alpha * number of words))
changes. RD deletes each word with probability alpha.
"""

import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from cse.augmentation.wordnet import digest_wordnet, find_wordnet, synonyms
from cse.needs import Need, Settings
from cse.ranges import BelowOne, Cache, Folder, Share
from cse.sources.fetch import DatasetNeed
from cse.types import Augmentation, Rows

# The authors' 127 words, NLTK's English stop words at that time. Only SR skips them.
STOP_WORDS = frozenset(
    """i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves what which who whom this that these those am is are was were be
    been being have has had having do does did doing a an the and but if or because as until while of at by for with
    about against between into through during before after above below to from up down in out on off over under again
    further then once here there when where why how all any both each few more most other some such no nor not only
    own same so than too very s t can will just don should now""".split()  # noqa: SIM905 (a list of 127 strings is no easier to read)
)

log = logging.getLogger(__name__)

FIRST = 1000  # rows whose letters are checked
Lookup = Callable[[str], tuple[str, ...]]


def replace_synonyms(words: list[str], n: int, synonyms: Lookup, rng: np.random.Generator) -> list[str]:
    """SR: replace n distinct words that have synonyms and are no stop words. All occurrences of these words change."""
    edited, replaced = list(words), 0
    distinct = list(dict.fromkeys(word for word in words if word.lower() not in STOP_WORDS))
    for index in rng.permutation(len(distinct)):
        options = synonyms(distinct[index])
        if options:
            choice = options[rng.integers(len(options))]
            edited = [choice if word == distinct[index] else word for word in edited]
            replaced += 1
        if replaced == n:
            break
    return edited


def insert(words: list[str], n: int, synonyms: Lookup, rng: np.random.Generator) -> list[str]:
    """RI: n times, insert a synonym of a random word before a random word.

    If a word has no synonyms, another word is drawn, up to nine words in all. The authors' code stops at the 10th draw,
    even if the 10th word has synonyms.
    """
    edited = list(words)
    for _ in range(n):
        for _ in range(9):
            options = synonyms(edited[rng.integers(len(edited))])
            if options:
                edited.insert(rng.integers(len(edited)), options[rng.integers(len(options))])
                break
    return edited


def swap(words: list[str], n: int, rng: np.random.Generator) -> list[str]:
    """RS: n times, swap two random words. If three draws of the second all give the first word, nothing is swapped."""
    edited = list(words)
    for _ in range(n):
        first = rng.integers(len(edited))
        for _ in range(3):
            second = rng.integers(len(edited))
            if second != first:
                edited[first], edited[second] = edited[second], edited[first]
                break
    return edited


def delete(words: list[str], p: float, rng: np.random.Generator) -> list[str]:
    """RD: delete each word with probability p. If no word would remain, keep a random word."""
    remaining = [word for word, draw in zip(words, rng.random(len(words)), strict=True) if draw > p]
    return remaining or [words[rng.integers(len(words))]]


class Eda(Augmentation):
    """Views of a text, each edited independently.

    ops    one: one random edit of the four, as in the authors' code | all: SR, then RI, then RS, then RD
    clean  reference: only lower-case ASCII letters, as in the authors' code | none: text is split at whitespace, for
           cased models; a word with a comma then has no synonym
    wordnet_dir, cache_dir   see `find_wordnet` in cse.augmentation.wordnet
    """

    level = "text"

    def __init__(
        self,
        alpha: Share,
        ops: Literal["one", "all"],
        clean: Literal["reference", "none"],
        model_dropout: BelowOne | None,
        wordnet_dir: Folder | None,
        cache_dir: Cache,
    ):
        self.alpha, self.ops, self.clean = alpha, ops, clean
        self.model_dropout = model_dropout
        self.wordnet = find_wordnet(wordnet_dir, Path(cache_dir))
        self.synonyms: Lookup = partial(synonyms, self.wordnet)

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the need for WordNet."""
        return [DatasetNeed("wordnet", settings.get("wordnet_dir"))]

    def inputs(self) -> dict[str, str]:
        """Return {"WordNet": digest of WordNet's files}."""
        return {"WordNet": digest_wordnet(self.wordnet)}

    def usable_rows(self, text: Rows) -> np.ndarray:
        """Return every row's index. Logs a warning if the first rows have letters that the authors' cleaning drops."""
        first = [text.text(i) for i in range(min(FIRST, len(text)))]
        lossy = sum(any(letter.isalpha() and not letter.isascii() for letter in one) for one in first)
        if lossy and self.clean == "reference":
            log.warning("augmentation.clean=reference drops every letter except a to z. %d of the first %d rows have "
                        "other letters; augmentation.clean=none keeps them", lossy, len(first))  # fmt: skip
        return super().usable_rows(text)

    def views(self, text: str, num_views: int, rng: np.random.Generator) -> list[str | list[str]]:
        """Return num_views edited copies of a text. A copy of a text without words is not edited."""
        words = (clean(text) if self.clean == "reference" else text).split()
        return [" ".join(self._edit(words, rng)) if words else text for _ in range(num_views)]

    def _edit(self, words: list[str], rng: np.random.Generator) -> list[str]:
        n = max(1, int(self.alpha * len(words)))
        operations: list[Callable[[list[str]], list[str]]] = [
            lambda words: replace_synonyms(words, n, self.synonyms, rng),
            lambda words: insert(words, n, self.synonyms, rng),
            lambda words: swap(words, n, rng),
            lambda words: delete(words, self.alpha, rng),
        ]
        for operation in operations if self.ops == "all" else [operations[rng.integers(4)]]:
            words = " ".join(operation(words)).split()  # a synonym may be several words
        return words


def clean(text: str) -> str:
    """Clean a text as the authors do: lower case, no apostrophes, and a space for each character that is not a to z."""
    text = text.lower().replace("'", "").replace("’", "")
    return re.sub("[^a-z]", " ", text)
