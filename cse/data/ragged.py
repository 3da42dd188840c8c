"""Rows of unequal length in two flat files, memory-mapped: a million sentences cost address space, not memory."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from cse.errors import UserError
from cse.files import written_once


class Ragged:
    """Row i is flat[offsets[i]:offsets[i + 1]], a read-only view of the file."""

    def __init__(self, folder: Path, name: str, dtype: str, rows: int):
        path = folder / f"{name}.flat"
        self.flat = np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)
        self.offsets = np.memmap(folder / f"{name}.offsets", np.int64, "r")
        if len(self.offsets) != rows + 1 or self.offsets[-1] != len(self.flat):
            raise ValueError(f"{name} has {len(self.offsets) - 1} rows of {rows}")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.flat[self.offsets[i] : self.offsets[i + 1]]


def cached(folder: Path, rows: Iterator[tuple[np.ndarray, ...]], names: list[str], dtype: str) -> list[Ragged]:
    """The columns kept in `folder`; `rows` is consumed only where the folder is not there yet.

    Written beside its place and renamed when whole, so a killed run leaves no half cache. Raises UserError for a
    damaged cache, RunError for a full disk.
    """
    written_once(folder, lambda temporary: _write(temporary, rows, names, dtype), "free space or set paths.cache")
    try:
        about = json.loads((folder / "about.json").read_text())
        return [Ragged(folder, name, about["dtype"], about["rows"]) for name in names]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"the cache {folder} is damaged ({error}): delete that folder and run again") from error


def _write(folder: Path, rows: Iterable[tuple[np.ndarray, ...]], names: list[str], dtype: str) -> None:
    """Fill an empty folder, row after row, so that memory holds one row."""
    count = 0
    ends = np.zeros(len(names), np.int64)
    with ExitStack() as stack:
        flats = [stack.enter_context(open(folder / f"{name}.flat", "wb")) for name in names]
        offsets = [stack.enter_context(open(folder / f"{name}.offsets", "wb")) for name in names]
        for file in offsets:
            file.write(ends[:1].tobytes())
        for row in rows:
            count += 1
            for column, value in enumerate(row):
                flats[column].write(value.astype(dtype, copy=False).tobytes())
                ends[column] += len(value)
                offsets[column].write(ends[column].tobytes())
    (folder / "about.json").write_text(json.dumps({"rows": count, "dtype": dtype, "columns": names}))
