"""What a line of several jobs makes of its axes: the words of each job, and the name of the folder that each gives.

What decides the name of a job's folder: the keys that decide its numbers (names_a_job of cse.lab.settings.keys.Role)
and the axes of its line are hashed, those of its case too, in any order. Two lines that mean the same job so give the
same folder, and a job that is done there is not run again. Before the hash, for the eye: the case, the axes, and of a
sweep's line the other words that decide.
"""

import glob
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from cse.errors import UserError
from cse.lab.settings.grammar import parse_word
from cse.lab.settings.words import Word, merged

SLUG = 80  # most characters of a folder's name before its hash


def grid(words: Iterable[Word]) -> list[list[Word]]:
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


def short_name(shown: Sequence[Word], hashed: Iterable[str], first: str = "") -> str:
    """A folder's name: `first`, the words `shown` in short, and the hash of others."""
    lasts = [word.key.split(".")[-1] for word in shown]
    parts = [first] if first else []
    for last, word in zip(lasts, shown, strict=True):
        value = word.value.rpartition("/")[2].strip("[]{}'\"") or "none"  # the last part of a path is enough
        parts.append(f"{last if lasts.count(last) == 1 else word.key}_{value}")
    text = re.sub(r"[^\w.+-]+", "_", "-".join(parts)) or "run"
    return f"{text[:SLUG]}-{digest(hashed)}"


def name_in(folder: Path, name: str, case: str = "") -> str:
    """The name of what `folder` has with the hash of this name, else the name itself: only the hash decides.

    What is before it is for the eye, and another line may have shown other words. case: of a sweep,
    whose jobs may share a hash with those of other cases.
    """
    hashed = name.rpartition("-")[2]
    same = [one.name for one in folder.glob(f"{glob.escape(case)}-*{hashed}" if case else f"*-{hashed}")]
    return name if name in same or not same else min(same)


def digest(words: Iterable[str]) -> str:
    """Eight hexadecimal digits that identify words in any order."""
    return hashlib.sha1(" ".join(sorted(words)).encode()).hexdigest()[:8]
