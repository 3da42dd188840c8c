"""The rows of a text, read: they lie in the cache, memory-mapped, and so do their tokens."""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cse.data.cache import Ragged, cache_columns
from cse.data.corpora import is_published, published
from cse.data.score_column import ScoreColumn
from cse.data.usable import Notes, fault
from cse.progress import showing, track

if TYPE_CHECKING:  # importing torch takes seconds
    from cse.model.tokenizer import Tokenizer

log = logging.getLogger(__name__)

ROWS_PER_BLOCK = 65536  # their offsets are held as Python integers
TEXTS_PER_CALL = 1000  # per call of the tokenizer: keeps its threads busy and takes little memory


@dataclass(frozen=True, eq=False)
class TextRows:
    """The rows in use of a text, of one or more columns; cse.data.text.Text makes it.

    name: the text's. place: the file, folder or dataset that was named; identity: what its rows follow from, without
    one. columns: their names; None for plain text, which has one. scores: the column of numbers beside them.
    cache: the folder of all texts. digest: of what was read, and the rows' folder there; content: the checksums of its
    files. checksums: SHA-256 of the local files.
    texts: every row, by column; chosen: the numbers of the rows in use; left_out: how many were unusable. targets_N:
    the numbers beside the rows in use. token_ids: every row's, by column, if `tokenized` has made them.
    """

    name: str
    place: str | None
    identity: str | None
    columns: list[str] | None
    scores: ScoreColumn | None
    cache: Path
    digest: str
    content: str
    checksums: dict[str, str]
    texts: list[Ragged]
    chosen: np.ndarray
    left_out: int
    targets_N: np.ndarray
    token_ids: list[Ragged] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def column_names(self) -> list[str]:
        """The names of its columns; "text" for the one of plain text."""
        return self.columns or ["text"]

    @property
    def num_columns(self) -> int:
        """Columns of a row; plain text has one."""
        return len(self.column_names)

    def number(self, i: int) -> int:
        """The number of row i among all rows, from 1: its line, in a file without blank lines or header."""
        return int(self.chosen[i]) + 1

    def text(self, i: int, column: int = 0) -> str:
        """The text of row i in that column."""
        return self.texts[column][self.chosen[i]].tobytes().decode()

    def texts_of(self, rows_B: np.ndarray, column: int = 0) -> list[str]:
        """The texts of these rows in that column."""
        return [text.tobytes().decode() for text in self.texts[column].rows(self.chosen[rows_B])]

    def ids_of(self, rows_B: np.ndarray, column: int = 0) -> list[np.ndarray]:
        """The ids of these rows in that column, special tokens included: an integer array for each."""
        return self.token_ids[column].rows(self.chosen[rows_B])

    def cells(self) -> Iterator[bytes]:
        """The text of every column of the rows in use, as UTF-8; a million take half a second."""
        for column in self.texts:
            for start in range(0, len(self), ROWS_PER_BLOCK):
                yield from (cell.tobytes() for cell in column.rows(self.chosen[start : start + ROWS_PER_BLOCK]))

    def provenance(self) -> dict[str, object]:
        """What the run learns from, JSON-ready: source, rows used, SHA-256 of the published or of each local file."""
        about = {"name": self.name, "rows": len(self), "left_out": self.left_out, "digest": self.digest}
        sums: object = self.checksums or None
        if is_published(self.name):
            if self.place is None:
                return about | published(self.name)
            sums = sums if len(self.checksums) > 1 else next(iter(self.checksums.values()))
        return about | {"source": self.place or self.identity, "sha256": sums}

    def inputs(self) -> dict[str, str]:
        """What a resumed run compares: the SHA-256 of each local file, or the checksums of the rows."""
        return self.checksums or {f"data={self.name} ({self.place or self.identity})": self.content}

    def tokenized(self, tokenizer: "Tokenizer", max_length: int) -> "TextRows":
        """The same rows with `token_ids`: the ids of every column, special tokens included, cut to max_length.

        Logs how many rows have a text without a token that the vocabulary knows, as emojis in an English one.
        """
        key = hashlib.sha256(f"{self.digest} {tokenizer.key()} {max_length}".encode()).hexdigest()[:32]
        dtype = "uint16" if tokenizer.id_bound <= 2**16 else "int32"
        folder = self.cache / f"{key}.ids"
        if not folder.exists():
            log.info("tokenising %s rows of %s, once (kept in %s)", f"{len(self.texts[0]):,}", self.name, folder)
        found: Notes = {"unknown": []}
        with showing(f"tokenising {self.name}"):
            names = [f"ids_{name}" for name in self.column_names]
            kept = cache_columns(folder, self._token_rows(tokenizer, max_length, found), names, dtype, found)
        if len(unknown := np.intersect1d(self.chosen, kept.notes["unknown"])):
            said = f"{len(unknown):,} of {len(self):,} rows have a text without one token that the vocabulary knows"
            log.warning("data=%s: %s, the first: row %d", self.name, said, unknown[0] + 1)
        return replace(self, token_ids=kept.columns)

    def _token_rows(self, tokenizer: "Tokenizer", max_length: int, found: Notes) -> Iterator[tuple[np.ndarray, ...]]:
        """The ids of every row, a cell for each column; notes those without a known token as `unknown`."""
        is_special = np.zeros(tokenizer.id_bound, bool)
        is_special[tokenizer.hf.all_special_ids] = True  # the unknown token, too
        begin, after = tokenizer.before_text(), tokenizer.after_text()
        for start in track(range(0, len(self.texts[0]), TEXTS_PER_CALL), "thousand"):
            block = range(start, min(start + TEXTS_PER_CALL, len(self.texts[0])))
            cells = [[text[i].tobytes().decode() for i in block] for text in self.texts]
            ids = [tokenizer(column, max_length) for column in cells]
            for i, row in enumerate(zip(*ids, strict=True)):
                unknown = [c for c, one in enumerate(row) if is_special[one[begin : len(one) - after]].all()]
                if any(fault(cells[c][i]) is None for c in unknown):  # else it is counted already
                    found["unknown"].append(start + i)
                yield row
