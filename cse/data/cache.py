"""Caches: folders with memory-mapped rows. Checksums are verified whenever a cache is opened.

`read_once` reads each file in a folder once, and keeps the results.
"""

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cse.files import Json, cannot_write, checksum, file_lock, read_json, write_text, written_once
from cse.progress import showing, track

log = logging.getLogger(__name__)

ABOUT = "about.json"
READ_VERSION = 1  # increase it if the result of a function `read`, an argument of `read_once`, changes
SETTLED = 2  # seconds: the coarsest resolution of a file system's times
ROWS_PER_BLOCK = 65536  # the offsets of this many rows are in memory at once, as Python integers


def cached_folder(folder: Path, write: Callable[[Path], Json]) -> Json:
    """Return {**write(temporary folder), "checksums": {file name: CRC-32}}. An intact cache is not written again.

    `write` writes the cache's files, and returns a JSON object, which the cache keeps too. The complete temporary
    folder is renamed to `folder`, so a killed run leaves no partial cache. A cache with a wrong checksum is written
    again. Raises RunError for a full disk, UserError for a cache that belongs to another user, and every error of
    `write`.
    """

    def fill(temporary: Path) -> None:
        about = write(temporary)
        checksums = {file.name: checksum(file) for file in sorted(temporary.iterdir())}
        (temporary / ABOUT).write_text(json.dumps(about | {"checksums": checksums}), encoding="utf-8")

    if not (folder.exists() and is_whole(folder)):
        with file_lock(folder):  # another process may have written the cache while this one waited
            if folder.exists() and not is_whole(folder):
                log.warning("the cache %s is damaged: writing it again", folder)
                try:
                    shutil.rmtree(folder)
                except OSError as error:
                    raise cannot_write(folder, error) from error
            written_once(folder, fill)
    return json.loads((folder / ABOUT).read_text(encoding="utf-8"))


def read_once(cache: Path, folder: Path, paths: Sequence[Path], read: Callable[[Path], str], what: str) -> list[str]:
    """Return read(path) for each of `paths`. A file whose size and times have not changed is not read again.

    The results are kept in `cache`, the folder of all caches. The times are mtime, which a program can set back, and
    ctime, which no program can set. A file that has changed in the last SETTLED seconds may change again without a new
    time, so its result is not kept. An empty result means that the file could not be read. An empty result is not kept
    either, because the next start may be able to read the file. what: the word for a file, for the progress bar.
    """
    key = hashlib.sha256(f"{READ_VERSION} {what} {folder.absolute()}".encode()).hexdigest()[:32]
    kept = cache / "files" / f"{key}.json"
    before = read_json(kept)
    now = time.time_ns()

    def of_file(path: Path) -> tuple[list[int], str]:
        """Return the file's size and times, and the result of `read`."""
        try:
            found = os.stat(path)
        except OSError:
            return [0, now, now], read(path)
        state = [found.st_size, found.st_mtime_ns, found.st_ctime_ns]
        kept_state, kept_result = before.get(str(path), (None, ""))
        return state, kept_result if kept_state == state else read(path)

    with ThreadPoolExecutor() as pool, showing(f"{what}s"):
        entries = list(track(pool.map(of_file, paths), what, len(paths)))
    settled = {}
    for path, (state, result) in zip(map(str, paths), entries, strict=True):
        if result and max(state[1:]) < now - SETTLED * 10**9:
            settled[path] = [state, result]
    if any(before.get(path) != entry for path, entry in settled.items()):
        write_text(kept, json.dumps(before | settled))
    return [result for _, result in entries]


def is_whole(folder: Path) -> bool:
    """Return whether every file of a cache matches its checksum. Reads every byte: one second per gigabyte."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return all(checksum(folder / name) == value for name, value in about["checksums"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


class Ragged:
    """Rows of unequal length in two memory-mapped files. A million sentences need address space, not memory.

    Row i is flat[offsets[i]:offsets[i + 1]], a read-only view of the file.
    """

    def __init__(self, folder: Path, name: str, dtype: str):
        path = folder / f"{name}.flat"
        self.flat = np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)
        self.offsets = np.memmap(folder / f"{name}.offsets", np.int64, "r")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.flat[self.offsets[i] : self.offsets[i + 1]]

    def take(self, numbers_N: np.ndarray) -> list[np.ndarray]:
        """Return many rows at once, ten times as fast as row by row: slicing a memmap is slow."""
        flat = np.asarray(self.flat)
        ends = zip(self.offsets[numbers_N].tolist(), self.offsets[numbers_N + 1].tolist(), strict=True)
        return [flat[first:last] for first, last in ends]

    def rows(self, numbers_N: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the rows with these numbers, one by one."""
        for start in range(0, len(numbers_N), ROWS_PER_BLOCK):
            yield from self.take(numbers_N[start : start + ROWS_PER_BLOCK])


class CachedColumns(NamedTuple):
    """Cached columns: a Ragged per column, the result of `notes` (see cache_columns), and {file name: CRC-32}."""

    columns: list[Ragged]
    notes: Json
    checksums: dict[str, str]


def cache_columns(
    folder: Path, rows: Iterable[tuple[np.ndarray, ...]], names: list[str], dtype: str, notes: Callable[[], Json] = dict
) -> CachedColumns:
    """Return the columns in the cache `folder`. Reads `rows` only if there is no intact cache (see cached_folder).

    Only one row at a time is in memory. notes: called after the last row is read; the result is saved with the rows.
    Raises every error that reading `rows` raises.
    """

    def write(temporary: Path) -> Json:
        ends = np.zeros(len(names), np.int64)
        with ExitStack() as stack:
            flats = [stack.enter_context(open(temporary / f"{name}.flat", "wb")) for name in names]
            offsets = [stack.enter_context(open(temporary / f"{name}.offsets", "wb")) for name in names]
            for file in offsets:
                file.write(ends[:1].tobytes())
            for row in rows:
                for column, value in enumerate(row):
                    flats[column].write(value.astype(dtype, copy=False).tobytes())
                    ends[column] += len(value)
                    offsets[column].write(ends[column].tobytes())
        return {"dtype": dtype, "notes": notes()}

    about = cached_folder(folder, write)
    return CachedColumns([Ragged(folder, name, about["dtype"]) for name in names], about["notes"], about["checksums"])
