"""Rows of unequal length in two flat files, memory-mapped: a million sentences cost address space, not memory."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cse.files import checksum, discard, file_lock, written_once

log = logging.getLogger(__name__)

ABOUT = "about.json"

Arrays = Iterable[tuple[np.ndarray, ...]]


class Ragged:
    """Row i is flat[offsets[i]:offsets[i + 1]], a read-only view of the file."""

    def __init__(self, folder: Path, name: str, dtype: str):
        path = folder / f"{name}.flat"
        self.flat = np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)
        self.offsets = np.memmap(folder / f"{name}.offsets", np.int64, "r")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.flat[self.offsets[i] : self.offsets[i + 1]]


class Cache(NamedTuple):
    """One Ragged a column, and what was noted while the rows were read."""

    columns: list[Ragged]
    notes: dict[str, int]


def cached(
    folder: Path,
    rows: Arrays,
    names: list[str],
    dtype: str,
    notes: Callable[[], Mapping[str, int]] = dict,
) -> Cache:
    """The columns kept in `folder`; `rows` is consumed only where no whole cache is there.

    Written under a temporary name and renamed when complete, so a killed run leaves no half cache; a cache whose
    checksums fail is written again. notes: called when the rows are consumed, kept with them. Raises RunError for a
    full disk, and whatever reading `rows` raises.
    """
    if folder.exists() and damage(folder, names):
        with file_lock(folder):  # another process may have found the same, and have written it again since
            if folder.exists() and (reason := damage(folder, names)):
                log.warning("the cache %s is damaged (%s): writing it again", folder, reason)
                discard(folder)
    written_once(
        folder, lambda temporary: _write(temporary, rows, names, dtype, notes), "free space or set paths.cache"
    )
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    return Cache([Ragged(folder, name, about["dtype"]) for name in names], about["notes"])


def damage(folder: Path, names: list[str]) -> str | None:
    """What is wrong with a cache, None for a whole one. Every byte is read: about a second for a gigabyte."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        wrong = [file for file in files_of(names) if checksum(folder / file) != about["checksums"][file]]
        complete = isinstance(about["notes"], dict) and isinstance(np.dtype(about["dtype"]), np.dtype)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    if wrong:
        return f"{', '.join(wrong)} changed since it was written"
    return None if complete else f"{ABOUT} is incomplete"


def files_of(names: list[str]) -> list[str]:
    """The names of the files that hold columns."""
    return [f"{name}.{part}" for name in names for part in ("flat", "offsets")]


def _write(folder: Path, rows: Arrays, names: list[str], dtype: str, notes: Callable[[], Mapping[str, int]]) -> None:
    """Fill an empty folder, row after row, so that memory holds one row."""
    ends = np.zeros(len(names), np.int64)
    with ExitStack() as stack:
        flats = [stack.enter_context(open(folder / f"{name}.flat", "wb")) for name in names]
        offsets = [stack.enter_context(open(folder / f"{name}.offsets", "wb")) for name in names]
        for file in offsets:
            file.write(ends[:1].tobytes())
        for row in rows:
            for column, value in enumerate(row):
                flats[column].write(value.astype(dtype, copy=False).tobytes())
                ends[column] += len(value)
                offsets[column].write(ends[column].tobytes())
    checksums = {file: checksum(folder / file) for file in files_of(names)}
    about = {"dtype": dtype, "checksums": checksums, "notes": dict(notes())}
    (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8")
