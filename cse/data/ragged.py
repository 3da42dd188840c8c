"""Rows of unequal length in two flat files, memory-mapped: a million sentences cost address space, not memory."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cse.data.cache import cached_folder
from cse.types import Json

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
    """The columns kept in `folder`; `rows` is consumed only where no whole cache is there (see cached_folder).

    notes: called when the rows are consumed, kept with them. Raises whatever reading `rows` raises.
    """

    def write(temporary: Path) -> Json:
        write_columns(temporary, rows, names, dtype)
        return {"dtype": dtype, "notes": dict(notes())}

    def read(folder: Path, about: Json) -> Cache:
        return Cache([Ragged(folder, name, about["dtype"]) for name in names], dict(about["notes"]))

    return cached_folder(folder, write, read)


def write_columns(folder: Path, rows: Arrays, names: list[str], dtype: str) -> None:
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
