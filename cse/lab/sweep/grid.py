"""The values of a line's axes, and every combination of them."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from cse.errors import UserError
from cse.lab.settings.grammar import parse_word
from cse.lab.settings.words import Word, merged


def combinations(words: Iterable[Word]) -> list[list[Word]]:
    """The words of every combination of `key=a,b` and `key=range(...)`. Of a key given twice the last word counts.

    Raises UserError for key=interval(...), whose values no grid lists.
    """
    return [list(row) for row in product(*(one_by_one(word) for word in merged(words)))]


def one_by_one(word: Word) -> list[Word]:
    """A word for each value, as Hydra writes it: 1e-05 for 1e-5."""
    override = parse_word(word.text)
    if override.is_interval_sweep():
        raise UserError(f"{word}: a range needs a search: hydra/sweeper=smac")
    texts = override.sweep_string_iterator() if word.is_axis else [override.get_value_element_as_str()]
    return [replace(word, text=f"{override.get_key_element()}={text}") for text in texts]


def first_values(words: Iterable[Word]) -> list[Word]:
    """The words with each axis at its first value, or at the lower end of its interval."""
    return [at_lower_end(word) if is_interval(word) else one_by_one(word)[0] for word in merged(words)]


def is_interval(word: Word) -> bool:
    """Whether a search chooses any value between two: interval(a,b)."""
    return parse_word(word.text).is_interval_sweep()


def at_lower_end(word: Word) -> Word:
    """The word with the lowest value of its interval."""
    ends: Any = word.parsed
    return replace(word, text=f"{word.key}={ends.start}")
