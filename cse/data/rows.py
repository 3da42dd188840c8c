"""The rows of a text after they are read: memory-mapped files in the cache."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cse.data.cache import Ragged, cache_columns
from cse.data.columns import ScoreColumn
from cse.data.corpora import is_published, published
from cse.progress import track


def compact(numbers_N: np.ndarray) -> np.ndarray:
    """Return row numbers as int32 if int32 can hold the largest number: int32 takes half the memory of int64."""
    return numbers_N.astype(np.int32) if numbers_N.max(initial=0) < 2**31 - 1 else numbers_N


@dataclass(frozen=True, eq=False)
class TextRows:
    """The rows in use of a text: the usable rows that data.limit selects. cse.data.text.Text makes this object."""

    name: str  # the text's name

    # where the rows come from
    place: str | None  # the file, folder or dataset that the settings name
    identity: str | None  # the name of the rows if they have no place
    checksums: dict[str, str]  # the SHA-256 of each local file

    # the columns of the rows
    columns: list[str] | None  # the names of the columns; None for plain text, which has one column
    scores: ScoreColumn | None  # the column of scores

    # all rows, in the cache
    cache: Path  # the folder of all cached texts
    digest: str  # a digest of the source; it names the folder of these rows in the cache
    content: str  # the checksums of the files in this folder
    texts: list[Ragged]  # the texts of each column

    # the rows in use
    chosen: np.ndarray  # the numbers of the rows in use, from 0; int32 if the largest number fits
    left_out: int  # how many rows are unusable
    targets_N: np.ndarray  # the scores; empty without a column of scores
    missing_NC: np.ndarray | None = None  # which cells have no text; None: every cell has text

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def column_names(self) -> list[str]:
        """Return the names of the columns; ["text"] for plain text."""
        return self.columns or ["text"]

    @property
    def num_columns(self) -> int:
        """Return the number of columns; plain text has one."""
        return len(self.column_names)

    def number(self, i: int) -> int:
        """Return the number of row i among all rows, from 1. Blank lines and the header of a file do not count."""
        return int(self.chosen[i]) + 1

    def text(self, i: int, column: int = 0) -> str:
        """Return the text of row i in this column."""
        return self.texts[column][self.chosen[i]].tobytes().decode()

    def lacks(self, i: int, column: int) -> bool:
        """Return whether row i has no text in this column."""
        return self.missing_NC is not None and bool(self.missing_NC[i, column])

    def texts_of(self, rows_B: np.ndarray, column: int = 0) -> list[str]:
        """Return the texts of these rows in this column."""
        return [text.tobytes().decode() for text in self.texts[column].take(self.chosen[rows_B])]

    def cells(self) -> Iterator[bytes]:
        """Yield every text of the rows in use as UTF-8, column after column. A million texts take half a second."""
        for column in self.texts:
            yield from (cell.tobytes() for cell in column.rows(self.chosen))

    def provenance(self) -> dict[str, object]:
        """Return facts about the rows as JSON types: their number, source, and the SHA-256 of the files."""
        about = {"name": self.name, "rows": len(self), "left_out": self.left_out, "digest": self.digest}
        sums: object = self.checksums or None
        if is_published(self.name):
            if self.place is None:
                return about | published(self.name)
            sums = sums if len(self.checksums) > 1 else next(iter(self.checksums.values()))
        return about | {"source": self.place or self.identity, "sha256": sums}

    def inputs(self) -> dict[str, str]:
        """Return {local file: SHA-256}, or {name of the data: checksum of the rows}. A resume checks for changes."""
        return self.checksums or {f"data={self.name} ({self.place or self.identity})": self.content}

    def measured(self, number_of: Callable[[str], int], key: str) -> np.ndarray:
        """Return number_of(text) for the text in the first column of each row in use, (N,) int64.

        The cache keeps the numbers for these rows and `key`, which names everything else that determines a number.
        """
        read = hashlib.sha256(f"{self.digest} {self.content} {key} ".encode())
        read.update(self.chosen_bytes())
        texts = (self.text(row) for row in track(range(len(self)), "row"))
        numbers = ((np.array([number_of(text)]),) for text in texts)
        (kept,) = cache_columns(self.cache / f"{read.hexdigest()[:32]}.numbers", numbers, ["numbers"], "int64").columns
        return np.array(kept.flat)

    def chosen_bytes(self) -> memoryview:
        """Return the numbers of the rows in use as bytes, for the keys of caches: in int64, as in older caches."""
        return self.chosen.astype(np.int64).data
