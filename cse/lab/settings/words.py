"""Word: one KEY=VALUE of a line, with who gave it. It has one form, that of Hydra's grammar (cse.lab.settings.grammar),
from the line that is typed to `run.yaml` and to a command that is shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cse.lab.settings.grammar import is_one_value, key_of, parse_word, spell_word


@dataclass(frozen=True)
class Word:
    """One KEY=VALUE, +KEY=VALUE or ~KEY. text: as Hydra's grammar has it.

    by: who gave it, a person, a sweep, or cse itself, for a function of Python's.
    """

    text: str
    by: Literal["person", "sweep", "cse"] = "person"

    def __str__(self) -> str:
        """As typed."""
        return self.text

    @property
    def key(self) -> str:
        """What it sets: `trainer.lr` of `trainer.lr=1e-5`."""
        return key_of(self.text)

    @property
    def root(self) -> str:
        """The first part of its key: `trainer` of `trainer.lr=1e-5`."""
        return self.key.partition(".")[0]

    @property
    def spelled(self) -> str:
        """`1e-5` of `trainer.lr=1e-5`, with any quotes."""
        return self.text.partition("=")[2]

    @property
    def value(self) -> str:
        """The value as text: without the quotes around it, and as typed if it is no text."""
        found = self.parsed
        return found if isinstance(found, str) else self.spelled

    @property
    def parsed(self) -> object:
        """The value that Hydra reads: text, a number, a list, ...; of an axis, a sweep of Hydra's."""
        return parse_word(self.text).value()

    @property
    def is_axis(self) -> bool:
        """Whether it gives its key several values: a,b, range(...), interval(...) or glob(...)."""
        return parse_word(self.text).is_sweep_override()


RUN_ALONE = Word("hydra.mode=RUN", by="sweep")
"""Hydra's word for one run, whatever a sweep's file says: the last of the words that a sweep gives one of its jobs.

So a job's line, which one may type again, and the lists of words in run.yaml and in a plan say who gave each word.
"""


def recorded_words(texts: Sequence[str]) -> list[Word]:
    """The words that a run or a plan wrote down. Older ones lack the quotes that the grammar wants; what is no word is
    left out."""
    read: list[str] = []
    for text in texts:
        key, _, value = text.partition("=")
        if is_one_value(text):
            read.append(text)
        elif "=" in text and is_one_value(quoted := spell_word(key, value)):
            read.append(quoted)
    return by_whom(read)


def by_whom(texts: Sequence[str]) -> list[Word]:
    """The words, with who gave each: a sweep those up to RUN_ALONE, a person the rest."""
    count = texts.index(RUN_ALONE.text) + 1 if RUN_ALONE.text in texts else 0
    return [*(Word(text, by="sweep") for text in texts[:count]), *map(Word, texts[count:])]


def texts_of(words: Iterable[Word]) -> list[str]:
    """The words as Hydra, run.yaml and a job's process take them."""
    return [word.text for word in words]


def values_of(words: Iterable[Word]) -> dict[str, str]:
    """{key: value as text} of the words; the last one wins."""
    return {word.key: word.value for word in words}


def merged(words: Iterable[Word]) -> list[Word]:
    """Each key once, in the first one's place; the last one wins, so that the command line overrides a case."""
    return list({word.key: word for word in words}.values())


def keys_of_person(words: Iterable[Word]) -> list[str]:
    """The keys that a person typed, and no sweep."""
    return [word.key for word in words if word.by == "person"]
