"""The rows of a text after reading. Rows and their tokens are memory-mapped files in the cache."""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cse.data.cache import Ragged, cache_columns
from cse.data.columns import ScoreColumn
from cse.data.corpora import is_published, published
from cse.data.usable import fault
from cse.progress import showing, track

if TYPE_CHECKING:  # importing torch takes seconds
    from cse.model.tokenizer import Tokenizer

log = logging.getLogger(__name__)

ROWS_PER_BLOCK = 65536  # the offsets of a block are Python integers in memory
TEXTS_PER_CALL = 1000  # per call of the tokenizer: keeps its threads busy and needs little memory


@dataclass(frozen=True, eq=False)
class TextRows:
    """The rows in use of a text with one or more columns. cse.data.text.Text makes it."""

    name: str  # the text's name

    # where the rows come from
    place: str | None  # the file, folder or dataset that the settings name
    identity: str | None  # names the rows where there is no place
    checksums: dict[str, str]  # the SHA-256 of each local file

    # their columns
    columns: list[str] | None  # the columns' names; None for plain text, which has one column
    scores: ScoreColumn | None  # the column of scores

    # all rows, in the cache
    cache: Path  # the folder of all texts
    digest: str  # a digest of the source, and the name of the rows' folder in the cache
    content: str  # the checksums of the files in that folder
    texts: list[Ragged]  # the texts of each column

    # the rows in use
    chosen: np.ndarray  # the numbers of these rows
    left_out: int  # how many rows are unusable
    targets_N: np.ndarray  # the scores; empty without a column of scores
    missing_NC: np.ndarray | None = None  # which cells have no text; None: all have one
    token_ids: list[Ragged] = field(default_factory=list)  # of all rows, by column, once `tokenized` has made them

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def column_names(self) -> list[str]:
        """The names of its columns; "text" for plain text."""
        return self.columns or ["text"]

    @property
    def num_columns(self) -> int:
        """The number of columns; plain text has one."""
        return len(self.column_names)

    def number(self, i: int) -> int:
        """The number of row i among all rows, from 1.

        In a file without blank lines or header, this is the number of the line.
        """
        return int(self.chosen[i]) + 1

    def text(self, i: int, column: int = 0) -> str:
        """The text of row i in that column."""
        return self.texts[column][self.chosen[i]].tobytes().decode()

    def lacks(self, i: int, column: int) -> bool:
        """Whether row i has no text in that column."""
        return self.missing_NC is not None and bool(self.missing_NC[i, column])

    def texts_of(self, rows_B: np.ndarray, column: int = 0) -> list[str]:
        """The texts of these rows in that column."""
        return [text.tobytes().decode() for text in self.texts[column].take(self.chosen[rows_B])]

    def ids_of(self, rows_B: np.ndarray, column: int = 0) -> list[np.ndarray]:
        """The ids of these rows in that column, including special tokens: an integer array for each."""
        return self.token_ids[column].take(self.chosen[rows_B])

    def cells(self) -> Iterator[bytes]:
        """The text of every column of the rows in use, as UTF-8. A million texts take half a second."""
        for column in self.texts:
            for start in range(0, len(self), ROWS_PER_BLOCK):
                yield from (cell.tobytes() for cell in column.take(self.chosen[start : start + ROWS_PER_BLOCK]))

    def provenance(self) -> dict[str, object]:
        """The training data, JSON-ready: source, rows in use, SHA-256 of the published file or of each local file."""
        about = {"name": self.name, "rows": len(self), "left_out": self.left_out, "digest": self.digest}
        sums: object = self.checksums or None
        if is_published(self.name):
            if self.place is None:
                return about | published(self.name)
            sums = sums if len(self.checksums) > 1 else next(iter(self.checksums.values()))
        return about | {"source": self.place or self.identity, "sha256": sums}

    def inputs(self) -> dict[str, str]:
        """The digests that a resumed run compares: the SHA-256 of each local file, or the checksums of the rows."""
        return self.checksums or {f"data={self.name} ({self.place or self.identity})": self.content}

    def tokenized(self, tokenizer: "Tokenizer", max_length: int) -> "TextRows":
        """The same rows with `token_ids`: the ids of every column, including special tokens, truncated to max_length.

        Logs how many rows have a text without any known token, such as emojis with an English vocabulary.
        """
        key = hashlib.sha256(f"{self.digest} {tokenizer.key()} {max_length}".encode()).hexdigest()[:32]
        dtype = "uint16" if tokenizer.id_bound <= 2**16 else "int32"
        folder = self.cache / f"{key}.ids"
        if not folder.exists():
            log.info("tokenising %s rows of %s (only once, kept in %s)", f"{len(self.texts[0]):,}", self.name, folder)
        names = [f"ids_{name}" for name in self.column_names]
        unknown_rows: list[int] = []
        token_rows = self._token_rows(tokenizer, max_length, unknown_rows)
        with showing(f"tokenising {self.name}"):
            kept = cache_columns(folder, token_rows, names, dtype, lambda: {"unknown": unknown_rows})
        if len(unknown := np.intersect1d(self.chosen, kept.notes["unknown"])):
            said = f"{len(unknown):,} of {len(self):,} rows have a text without any token of the vocabulary"
            log.warning("data=%s: %s, the first: row %d", self.name, said, unknown[0] + 1)
        return replace(self, token_ids=kept.columns)

    def _token_rows(
        self, tokenizer: "Tokenizer", max_length: int, unknown_rows: list[int]
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """The ids of every row, an array for each column.

        unknown_rows: receives the numbers of the rows in which a text has no known token.
        """
        is_special = np.zeros(tokenizer.id_bound, bool)
        is_special[tokenizer.hf.all_special_ids] = True  # the unknown token, too
        begin = [tokenizer.before_text(column) for column in range(self.num_columns)]
        after = tokenizer.after_text()
        for start in track(range(0, len(self.texts[0]), TEXTS_PER_CALL), "thousand"):
            block = range(start, min(start + TEXTS_PER_CALL, len(self.texts[0])))
            cells = [[text[i].tobytes().decode() for i in block] for text in self.texts]
            ids_of_column = [tokenizer(tokenizer.of_column(texts, c), max_length) for c, texts in enumerate(cells)]
            for i, row in enumerate(zip(*ids_of_column, strict=True)):
                unknown = [c for c, ids in enumerate(row) if is_special[ids[begin[c] : len(ids) - after]].all()]
                if any(fault(cells[c][i]) is None for c in unknown):  # unusable cells are already noted
                    unknown_rows.append(start + i)
                yield row
