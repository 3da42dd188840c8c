"""The words KEY=VALUE of jobs, as Hydra's grammar reads them, and the folders' names that are made of them."""

import glob
import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cse.lab.settings.keys import key_of
from cse.lab.settings.spelling import overrides_of, unquoted

SLUG = 80  # most characters of a folder's name before its hash


def merged(words: Sequence[str]) -> list[str]:
    """Each key once; the last one wins, so that the command line overrides a case."""
    return list({key_of(word): word for word in words}.values())


def is_axis(word: str) -> bool:
    """Whether it gives a key several values: a,b, range(...), interval(...) or glob(...)."""
    return overrides_of([word])[0].is_sweep_override()


def expanded(words: Sequence[str]) -> list[list[str]]:
    """Hydra's own product of all `key=a,b` and `key=range(...)`; if a key is given twice, the last one counts."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    return BasicSweeper.split_arguments(overrides_of(words), None)[0]


def first_values(words: Sequence[str]) -> list[str]:
    """The words with each axis at its first value, or at the lower end of its interval."""
    ranges: dict[str, Any] = {one.key_or_group: one.value() for one in overrides_of(words) if one.is_interval_sweep()}
    return expanded([f"{key}={ranges[key].start}" if (key := key_of(word)) in ranges else word for word in words])[0]


def root_of(word: str) -> str:
    """`trainer` of `trainer.lr=1e-5`."""
    return key_of(word).partition(".")[0]


def short_name(shown: Sequence[str], decisive: Iterable[str], first: str = "") -> str:
    """A folder's name: `first`, the words `shown` in short, and a hash of the decisive ones."""
    lasts = [key_of(word).split(".")[-1] for word in shown]
    parts = [first] if first else []
    for last, word in zip(lasts, shown, strict=True):
        value = unquoted(word).rpartition("/")[2].strip("[]{}'\"") or "none"  # the last part of a path is enough
        parts.append(f"{last if lasts.count(last) == 1 else key_of(word)}_{value}")
    text = re.sub(r"[^\w.+-]+", "_", "-".join(parts)) or "run"
    return f"{text[:SLUG]}-{digest(decisive)}"


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
