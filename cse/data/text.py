"""Training text: any local file or hub dataset, read and tokenised once and memory-mapped from then on."""

import hashlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import MinLen

from cse.data.cache import Ragged, cached
from cse.data.corpora import CorpusNeed, check_available, is_published, published
from cse.data.function import Rows, check_row, rows_by, version_of
from cse.data.noise import Noise, with_noise
from cse.data.readers import (
    Columns,
    TextNeed,
    check_unchanged,
    checked,
    files_of,
    is_on_hub,
    names_typed,
    read_rows,
    reading,
    texts_of,
)
from cse.data.score_column import ScoreColumn
from cse.data.usable import Empty, Notes, fault, note_faults, usable_rows
from cse.errors import UserError
from cse.files import sha256
from cse.needs import FileNeed, Need, Part, Place, Settings
from cse.progress import showing, track
from cse.ranges import Cache, Count, Encoding, Ends, File, Mark, Name, Natural, PositiveShare, Seed
from cse.sources import hub
from cse.sources.catalogue import DATASETS

if TYPE_CHECKING:  # importing torch takes seconds
    from cse.model.tokenizer import Tokenizer

log = logging.getLogger(__name__)

VERSION = 3  # of what the readers, `fault` and `tokenize` make of the same bytes: change it with them, for the caches
ROWS_PER_BLOCK = 65536  # their offsets are held as Python integers
TEXTS_PER_CALL = 1000  # per call of the tokenizer: keeps its threads busy and takes little memory


class Text(Part):
    """Rows of one or more columns of text; conf/data/text.yaml explains every setting but `rows`.

    rows: instead of path, a function that yields the rows of a corpus; `identity` is then the key of their cache, with
    the function's file and settings if it is no published one. `find` looks for the source and `prepare` reads it;
    `len`, `text(i)` and `ids_of(rows)` work after that.
    """

    def __init__(
        self,
        name: Name,
        cache_dir: Cache,
        path: File | None = None,
        columns: Annotated[list[Name], MinLen(1)] | None = None,
        scores: Name | None = None,
        score_range: Ends | None = (0.0, 1.0),
        split: Name = "train",
        subset: Name | None = None,
        encoding: Encoding = "utf-8",
        rows: Rows | None = None,
        identity: Name | None = None,
        limit: Count | PositiveShare | None = None,
        limit_seed: Seed | None = None,
        noise: Noise | None = None,
        preview: Annotated[Natural, Mark.LOGGING, Mark.ONCE] = 0,
        empty: Empty | None = "keep",
    ):
        if path is not None and name in DATASETS:  # its licence and revision would be those of another text
            raise UserError(f"data.name={name} is a published corpus: give the text of data.path={path} another name")
        if rows and columns and len(columns) > 1 and name in DATASETS and len(DATASETS[name].columns) < 2:
            raise UserError(f"data.columns=[{','.join(columns)}]: data={name} has one column: leave data.columns null")
        if repeated := [one for one in columns or [] if (columns or []).count(one) > 1]:
            raise UserError(f"data.columns={list(columns or [])} names {repeated[0]} twice")
        self.name = name
        self.cache = Path(cache_dir) / "text"
        if scores in (columns or []):
            raise UserError(f"data.scores={scores}: data.columns={list(columns or [])} names it as text")
        self.columns = list(columns) if columns is not None else None
        self.column_names = self.columns or ["text"]
        self.scores = None if scores is None else ScoreColumn(scores, score_range and (score_range[0], score_range[1]))
        self.to_read: Columns | None = self.columns and [*self.columns, *([self.scores] if self.scores else [])]
        self.path, self.split, self.subset, self.encoding = path, split, subset, encoding
        self.rows, self.identity = rows, identity
        given = rows.keywords if isinstance(rows, partial) else {}
        self.copy: str | None = given.get("file") or given.get("folder")  # of a corpus
        self.limit, self.limit_seed, self.empty = limit, limit_seed, empty
        self.noise = noise if noise and (noise["delete"] or noise["insert"] or noise["swap"]) else None
        self.chosen, self.left_out = np.empty(0, np.int64), 0
        self.texts: list[Ragged] = []
        self.targets_N = np.empty(0, np.float32)  # of the rows in use, by their number
        self.token_ids: list[Ragged] = []
        self.source: Iterable[tuple[str, ...]] | None = None
        self.digest = ""
        self.checksums: dict[str, str] = {}  # sha256 of local files
        self.content = ""  # the checksums of the rows in the cache

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """A published corpus, or the file, folder or dataset of the hub that the settings name."""
        name, path, rows = str(settings.get("name")), settings.get("path"), settings.get("rows") or {}
        own = {f"data.rows.{key}": rows[key] for key in ("file", "folder") if rows.get(key)}
        for dataset, about in DATASETS.items():
            if f"data={name}" in about.reads:
                if about.fetch == "part":
                    return [SampleNeed(f"{dataset}:{rows['language']}", settings=settings)]
                return [CorpusNeed(dataset, next(iter(own.values()), None))]
        if path is None:
            return [FileNeed(str(place), key) for key, place in own.items()]
        repo = repo_of_text(path) if is_on_hub(path) else None
        columns, encoding = names_typed(settings.get("columns")), settings.get("encoding") or "utf-8"
        subset, split = settings.get("subset"), settings.get("split") or "train"
        return [TextNeed(path, "data.path", columns=columns, encoding=encoding, repo=repo, subset=subset, split=split)]

    def find(self) -> None:
        """Find the source without reading any published corpus: that is `prepare`, and may take hours.

        Raises MissingResource for a source that is not available, UserError for a file without these columns.
        """
        source, self.digest = self._source()
        if self.noise:
            source = with_noise(source, self.noise, self.num_columns)
            self.digest = digest_of(self.digest, sorted(self.noise.items()))
        self.source = source
        if is_published(self.name) and self.copy is None and not (self.cache / self.digest).exists():
            check_available(self.name)

    def prepare(self) -> None:
        """Read the source, or its cache.

        Raises what `find` does, and UserError for a source that cannot be read, that changes while it is read (no cache
        is left then), that has fewer than two rows, or too many unusable ones (`empty`).
        """
        if self.source is None:
            self.find()
        source, self.source = self.source or (), None  # can be read only once, and must not be sent to workers
        found: Notes = {}
        rows = track(note_faults(source, self.column_names, found), "row", next(iter(self.published_rows), None))
        encoded = (tuple(np.frombuffer(cell.encode(), np.uint8) for cell in row) for row in rows)
        files = [*(f"text_{name}" for name in self.column_names), *(["scores"] if self.scores else [])]
        with showing(f"reading {self.name}"):
            columns, notes, kept = cached(self.cache / self.digest, encoded, files, "uint8", found)
        self.texts = columns[: self.num_columns]
        self.content = " ".join(kept.values())
        if "faults" not in notes:
            raise UserError(f"{self.cache / self.digest} is a cache of an older version: delete it")
        usable = usable_rows(notes, self.empty, self.name)
        self.left_out = len(self.texts[0]) - len(usable)
        self.chosen = usable[chosen_rows(len(usable), self.limit, self.limit_seed)]
        if self.scores:
            self.targets_N = np.array([float(columns[-1][row].tobytes()) for row in self.chosen.tolist()], np.float32)
        if len(self) < 2:
            raise UserError(
                f"data={self.name} ({self.path or self.identity}): {len(self)} rows; two or more are needed"
            )
        if self.scores and np.ptp(self.targets_N) == 0:
            same = self.scores.in_words(float(self.targets_N[0]))
            raise UserError(f"data.scores={self.scores.name}: every row has {same}, so there is nothing to learn")

    def tokenize(self, tokenizer: "Tokenizer", max_length: int) -> None:
        """Make `ids_of` available: the ids of every column, special tokens included, cut to max_length.

        Logs how many rows have a text of which the vocabulary knows no token, as emojis in an English one.
        """
        key = hashlib.sha256(f"{self.digest} {tokenizer.key()} {max_length}".encode()).hexdigest()[:32]
        dtype = "uint16" if tokenizer.id_bound <= 2**16 else "int32"
        folder = self.cache / f"{key}.ids"
        if not folder.exists():
            log.info("tokenising %s rows of %s, once (kept in %s)", f"{len(self.texts[0]):,}", self.name, folder)

        found: Notes = {"unknown": []}
        is_special = np.zeros(tokenizer.id_bound, bool)
        is_special[tokenizer.hf.all_special_ids] = True  # the unknown token, too
        begin, after = tokenizer.before_text(), tokenizer.after_text()

        def tokenised(start: int) -> list[list[np.ndarray]]:
            """The ids of a block of rows, column by column; notes those without a known token."""
            block = range(start, min(start + TEXTS_PER_CALL, len(self.texts[0])))
            cells = [[text[i].tobytes().decode() for i in block] for text in self.texts]
            columns = [tokenizer(column, max_length) for column in cells]
            for i, *rows in zip(range(len(block)), *columns, strict=True):
                unknown = [c for c, ids in enumerate(rows) if is_special[ids[begin : len(ids) - after]].all()]
                if any(fault(cells[c][i]) is None for c in unknown):  # else it is counted already
                    found["unknown"].append(start + i)
            return columns

        starts = track(range(0, len(self.texts[0]), TEXTS_PER_CALL), "thousand")
        rows = (row for start in starts for row in zip(*tokenised(start), strict=True))
        with showing(f"tokenising {self.name}"):
            kept = cached(folder, rows, [f"ids_{name}" for name in self.column_names], dtype, found)
        self.token_ids = kept.columns
        if len(unknown := np.intersect1d(self.chosen, kept.notes["unknown"])):
            said = f"{len(unknown):,} of {len(self):,} rows have a text without one token that the vocabulary knows"
            log.warning("data=%s: %s, the first: row %d", self.name, said, unknown[0] + 1)

    def provenance(self) -> dict[str, object]:
        """What the run learns from, JSON-ready: source, rows used, SHA-256 of the published or of each local file."""
        about = {"name": self.name, "rows": len(self), "left_out": self.left_out, "digest": self.digest}
        sums: object = self.checksums or None
        if is_published(self.name):
            if self.copy is None:
                return about | published(self.name)
            sums = sums if len(self.checksums) > 1 else next(iter(self.checksums.values()))
        return about | {"source": self.copy or self.path or self.identity, "sha256": sums}

    def inputs(self) -> dict[str, str]:
        """What a resumed run compares: the SHA-256 of each local file, or the checksums of the rows."""
        return self.checksums or {f"data={self.name} ({self.path or self.identity})": self.content}

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def published_rows(self) -> tuple[int, ...]:
        """How many rows the published corpus has, or its copies have; () for other text."""
        return DATASETS[self.name].rows if self.name in DATASETS else ()

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

    def _source(self) -> tuple[Iterable[tuple[str, ...]], str]:
        """The rows, not read yet, and a digest of what they will be."""
        if self.rows is not None:
            if self.copy:
                self._hash(files_of(Path(self.copy).expanduser(), "data.rows.file"))
            about = self.identity, self.columns, *self.checksums.values(), *(self.scores or ())
            if is_published(self.name):  # of ours: its identity has its settings, and an error needs its traceback
                return self._checked(self.rows), digest_of(*about)
            own = partial(rows_by, self.rows, f"data={self.name}")
            return self._checked(own), digest_of(*about, *version_of(self.rows))
        if self.path is None:
            raise UserError("data.path is not set: data=text needs data.path=FILE, FOLDER or a hub dataset's name")
        if is_on_hub(self.path):
            return self._hub()
        if self.scores and self.columns is None:
            raise UserError(f"data.scores={self.scores.name} needs data.columns=[A,B], the columns of text beside it")
        if self.split != "train" or self.subset:
            idle = f"data.subset={self.subset}" if self.subset else f"data.split={self.split}"
            raise UserError(
                f"{idle} is of a dataset on the hub; {self.path} is of this machine, and read whole: name the file"
            )
        files = files_of(Path(self.path).expanduser())
        self._hash(files)
        parts = [read_rows(file, self.to_read, self.encoding) for file in files]
        digest = digest_of(*self.checksums.values(), self.columns, self.encoding, *(self.scores or ()))
        return self._checked(lambda: chain.from_iterable(parts)), digest

    def _hash(self, files: Iterable[Path]) -> None:
        """Record the checksums that the files have before they are read."""
        for file in files:
            with reading(file):
                self.checksums[str(file)] = sha256(file)

    def _checked(self, rows: Rows) -> Iterator[tuple[str, ...]]:
        """The rows, opened only when the first is read.

        Raises UserError for a row that has not a text for each column, and after the last row if a local file has
        changed, or if a published corpus has not as many rows as were published.
        """
        count, names = 0, [*self.column_names, *([f"{self.scores.name} (data.scores)"] if self.scores else [])]
        for count, row in enumerate(rows(), 1):
            check_row(row, names, f"data={self.name}, row {count}")
            yield row
        for file, digest in self.checksums.items():
            check_unchanged(Path(file), digest, sha256(Path(file)))
        whole = self.published_rows
        if whole and count not in whole:
            raise UserError(
                f"data={self.name} has {count:,} rows, but the published file has {whole[0]:,}: take a whole copy (of "
                "the hub's, delete the one in its cache), or train on it as text of your own, data=text data.path=FILE"
            )

    def _hub(self) -> tuple[Iterable[tuple[str, ...]], str]:
        assert self.path is not None
        table = hub.dataset(repo_of_text(self.path), self.subset, self.split)
        columns = checked(self.to_read or self.column_names, table.column_names, self.path)
        path = self.path
        rows = (texts_of(row, columns, f"{path}, row {number}") for number, row in enumerate(table, 1))
        return rows, digest_of(table._fingerprint, self.columns, *(self.scores or ()))


@dataclass(frozen=True)
class SampleNeed(CorpusNeed):
    """Rows that are drawn from a published corpus, which is kept nowhere else than in the cache of the text."""

    settings: Settings = field(compare=False, kw_only=True)

    def text(self) -> Text:
        """The text with these settings."""
        rows = dict(self.settings["rows"])
        made = partial(resolve_name(rows.pop("_target_")), **{key: rows[key] for key in rows if key[0] != "_"})
        own = {key: value for key, value in self.settings.items() if key[0] != "_"}
        return Text(**{**own, "rows": made})

    def find(self) -> Place:
        """See Need."""
        text = self.text()
        text.find()
        return text.cache / text.digest

    def fetch(self) -> Place:
        """See Need."""
        self.text().prepare()
        return self.find()


def repo_of_text(name: str) -> hub.Repo:
    """The repository that data.path names."""
    return hub.Repo(name, "dataset", f"data.path={name} is no local file", "give a file or a folder")


def chosen_rows(rows: int, limit: int | float | None, seed: int | None) -> np.ndarray:
    """The row numbers that `limit` selects, in order: the first ones, or with a seed a random choice.

    With the same seed, a smaller limit selects a subset of what a larger one does.
    """
    size = rows if limit is None else round(limit * rows) if isinstance(limit, float) else min(limit, rows)
    if seed is None:
        return np.arange(size)
    return np.sort(np.random.default_rng(seed).permutation(rows)[:size])


def digest_of(*parts: object) -> str:
    """A key of 32 hexadecimal digits, made of VERSION and the parts' repr."""
    return hashlib.sha256(repr((VERSION, *parts)).encode()).hexdigest()[:32]
