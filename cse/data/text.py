"""The sources of training text: any local file or folder, a hub dataset, or a function that yields rows.

`Text` has the settings of a text. `Text.find` opens the source, and returns Found. `Text.read` returns the rows as
TextRows (cse.data.rows), from the cache if they were read before. The methods of Text are in this order.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from copy import copy as shallow_copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Self

import numpy as np
from annotated_types import MinLen

from cse.data.cache import CachedColumns, cache_columns
from cse.data.columns import Columns, Row, ScoreColumn, cells_of_row, check_columns, column_of, names_of
from cse.data.corpora import check_available, is_published
from cse.data.function import RowsFunction, check_row, copies_in, keywords_of, rows_by, version_of
from cse.data.listing import files_of, is_on_hub
from cse.data.noise import Noise, with_noise
from cse.data.readers import check_unchanged, checksums_of, header_of, read_rows, records_of
from cse.data.rows import TextRows, compact
from cse.data.text_needs import CorpusNeed, TextNeed, names_typed
from cse.data.usable import Empty, RowNotes, usable_numbers
from cse.errors import UserError, naming
from cse.files import sha256
from cse.needs import FileNeed, Need, Part, Place, Settings
from cse.progress import showing, track
from cse.ranges import Cache, Count, Encoding, Ends, File, Mark, Name, Natural, PositiveShare, Seed
from cse.sources import hub
from cse.sources.catalogue import DATASETS

log = logging.getLogger(__name__)

FIRST = 100  # rows in which unread columns of numbers are looked for
CACHE_VERSION = 3  # in each cache's key: increase it if the readers, `fault` or the splits of documents change


@dataclass(frozen=True)
class Found:
    """A source of text that exists and is not read yet.

    rows: an iterator over the rows. digest: identifies the rows before they are read. place: the file, folder or
    dataset. checksums: the SHA-256 of each local file.
    """

    rows: Iterator[Row]
    digest: str
    place: str | None = None
    checksums: dict[str, str] = field(default_factory=dict)


class Text(Part):
    """The settings of a text. conf/data/text.yaml explains all settings except `rows`. cse.lab.run reads `preview`.

    rows: a function that yields the rows, instead of `path`. `identity` is then in the key of the rows' cache. If
    `name` is no published corpus, the function's settings and the digest of the function's file are in the key too.
    """

    def __init__(
        self,
        name: Name,
        cache_dir: Cache,
        # where the text is, and which of its columns are read
        path: File | None = None,
        columns: Annotated[list[Name], MinLen(1)] | None = None,
        scores: Name | None = None,
        score_range: Ends | None = (0.0, 1.0),
        # how the path is read
        split: Name = "train",
        subset: Name | None = None,
        encoding: Encoding = "utf-8",
        # a function instead of a path
        rows: RowsFunction | None = None,
        identity: Name | None = None,
        # which rows are used, and how
        limit: Count | PositiveShare | None = None,
        limit_seed: Seed | None = None,
        noise: Noise | None = None,
        preview: Annotated[Natural, Mark.LOGGING, Mark.ONCE] = 0,
        empty: Empty | None = "keep",
    ):
        if path is not None and name in DATASETS:  # the catalogue's licence and revision are another text's
            why = f"a published corpus has this name: give the text of `path`={path} another name"
            raise UserError(why, key="name", value=name)
        if rows and columns and len(columns) > 1 and name in DATASETS and len(DATASETS[name].columns) < 2:
            why = f"data={name} has one column: leave `columns` null"
            raise UserError(why, key="columns", value=f"[{','.join(columns)}]")
        named = [] if columns is None else list(columns)
        if repeated := [column for column in named if named.count(column) > 1]:
            raise UserError(f"it names {repeated[0]} twice", key="columns", value=named)
        if scores in named:
            why = f"`columns`={named} has this column too, but a column is either text or scores"
            raise UserError(why, key="scores", value=scores)
        self.name, self.cache = name, Path(cache_dir) / "text"
        self.path, self.split, self.subset, self.encoding = path, split, subset, encoding
        self.columns = named or None
        self.column_names = named or ["text"]
        ends = None if score_range is None else (score_range[0], score_range[1])
        self.scores = None if scores is None else ScoreColumn(scores, ends)
        self.function, self.identity = rows, identity
        self.copies = {} if rows is None else copies_in(keywords_of(rows))
        self.limit, self.limit_seed, self.empty = limit, limit_seed, empty
        self.noise = noise if noise and (noise["delete"] or noise["insert"] or noise["swap"]) else None

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the need for a published corpus, or for the file, folder or hub dataset in the settings."""
        name, path, function = str(settings.get("name")), settings.get("path"), settings.get("rows") or {}
        copies = copies_in(function)
        for dataset, about in DATASETS.items():
            if f"data={name}" in about.reads:
                if about.fetch == "part":
                    return [SampleNeed(f"{dataset}:{function['language']}", settings=settings)]
                return [CorpusNeed(dataset, next(iter(copies.values()), None))]
        if not isinstance(path, str | int):  # the check of the settings refuses a list
            return [FileNeed(place, key) for key, place in copies.items()]
        path = str(path)  # a file named 2026
        repo = repo_of_text(path) if is_on_hub(path) else None
        columns, encoding = names_typed(settings.get("columns")), settings.get("encoding") or "utf-8"
        subset, split = settings.get("subset"), settings.get("split") or "train"
        return [TextNeed(path, "path", columns=columns, encoding=encoding, repo=repo, subset=subset, split=split)]

    @property
    def num_columns(self) -> int:
        """Return the number of columns of text; plain text has one."""
        return len(self.column_names)

    @property
    def columns_to_read(self) -> Columns | None:
        """Return the columns of text and the column of numbers, if any; return None for plain text."""
        if self.columns is None:
            return None
        return [*self.columns, self.scores] if self.scores else self.columns

    @property
    def local_copy(self) -> str | None:
        """Return the path of the corpus's local copy that the function's settings name, or None."""
        return next(iter(self.copies.values()), None)

    @property
    def place(self) -> str | None:
        """Return the file, folder or dataset in the settings."""
        return self.local_copy or self.path

    @property
    def published_counts(self) -> tuple[int, ...]:
        """Return the row counts that the published corpus may have; return () for other text."""
        return DATASETS[self.name].rows if self.name in DATASETS else ()

    def named(self, name: str, cache_dir: Path) -> Self:
        """Return the same text with another name and another cache."""
        text = shallow_copy(self)
        text.name, text.cache = name, cache_dir / "text"
        return text

    # Opening the source

    def find(self) -> Found:
        """Open the source. A published corpus is read only by `read`, because reading it may take hours.

        Raises MissingResource for a source that is not available, UserError for a file without the columns.
        """
        found = self.open_source()
        if self.noise:
            noisy = with_noise(found.rows, self.noise, self.num_columns)
            found = replace(found, rows=noisy, digest=key_of_parts(found.digest, sorted(self.noise.items())))
        if is_published(self.name) and self.local_copy is None and not (self.cache / found.digest).exists():
            check_available(self.name)
        return found

    def open_source(self) -> Found:
        """Return the opened source. Its rows and its digest are still without noise."""
        if self.function is not None:
            return self.of_function(self.function, self.local_copy)
        if self.path is None:
            raise UserError("`path` is not set: data=text needs `path`=FILE, FOLDER or a hub dataset's name")
        return self._of_hub(self.path) if is_on_hub(self.path) else self._of_files(self.path)

    def of_function(self, function: RowsFunction, copy: str | None) -> Found:
        """Return the source whose rows a function yields. copy: the file or folder that the function reads, if any."""
        with naming(path=next(iter(self.copies), "path")):
            checksums = checksums_of(files_of(Path(copy).expanduser())) if copy else {}
        about = self.identity, self.columns, *checksums.values(), *(self.scores or ())
        if is_published(self.name):  # cse's function: `identity` has its settings, and its errors are bugs
            return Found(self._checked(function, checksums), key_of_parts(*about), copy, checksums)
        own = partial(rows_by, function, f"data={self.name}")
        return Found(self._checked(own, checksums), key_of_parts(*about, *version_of(function)), copy, checksums)

    def _of_files(self, path: str) -> Found:
        """Return the source whose rows are in a file, or in the files of a folder."""
        if self.scores and self.columns is None:
            why = "it needs `columns`=[A,B], the columns of the text"
            raise UserError(why, key="scores", value=self.scores.name)
        if self.split != "train" or self.subset:
            idle = f"`subset`={self.subset}" if self.subset else f"`split`={self.split}"
            raise UserError(
                f"{idle} is for a dataset on the hub, but {path} is on this machine: leave this setting out, "
                "and set `path` to the file to read"
            )
        files = files_of(Path(path).expanduser())
        checksums = checksums_of(files)
        rows_of_file = [read_rows(file, self.columns_to_read, self.encoding) for file in files]
        digest = key_of_parts(*checksums.values(), self.columns, self.encoding, *(self.scores or ()))
        return Found(self._checked(lambda: chain.from_iterable(rows_of_file), checksums), digest, path, checksums)

    def _of_hub(self, name: str) -> Found:
        """Return the source whose rows are in a dataset on the hub."""
        columns = self.columns_to_read or self.column_names

        def check(features: Mapping[str, object]) -> None:
            check_columns(columns, [*features], name)
            cells_of_row({key: cell_like(feature) for key, feature in features.items()}, self.column_names, name)

        table = hub.fetch_split(repo_of_text(name), self.subset, self.split, check)
        check(table.features)  # the hub does not list the columns of every dataset
        rows = (cells_of_row(row, columns, f"{name}, row {number}") for number, row in enumerate(table, 1))
        return Found(rows, key_of_parts(table._fingerprint, self.columns, *(self.scores or ())), name)

    def _checked(self, open_rows: RowsFunction, checksums: dict[str, str]) -> Iterator[Row]:
        """Yield the rows. open_rows() is called when the first row is read.

        Raises UserError for a row that lacks the text of a column. After the last row, raises UserError if a local file
        has changed, or if a published corpus does not have the published number of rows.
        """
        names = [*self.column_names, f"{self.scores.name} (`scores`)"] if self.scores else self.column_names
        count = 0
        for count, row in enumerate(open_rows(), 1):
            check_row(row, names, f"data={self.name}, row {count}")
            yield row
        for file, digest in checksums.items():
            check_unchanged(Path(file), digest, sha256(Path(file)))
        counts = self.published_counts
        if counts and count not in counts:
            raise UserError(
                f"data={self.name} has {count:,} rows, but the published file has {counts[0]:,}: the file is "
                "incomplete or modified. If the file is from the hub, delete the cached copy. To train on the file "
                "anyway: data=text data.path=FILE"
            )

    # Reading the source

    def read(self, found: Found | None = None, required: int | None = None) -> TextRows:
        """Return the rows of the source that `find` opened. The rows come from the cache if it has them.

        required: each row must have a text in the first `required` columns; None: in all. A row may lack a text in a
        later column (TextRows.missing_NC). With `empty`="keep", an empty cell counts as a text.

        Raises the errors of `find`. Raises UserError if the source cannot be read, changes while it is read (then no
        cache is written), has fewer than two rows, or has too many unusable rows (`empty`).
        """
        found = found or self.find()
        cached = self._cached(found)
        if "faults" not in cached.notes:
            raise UserError(f"{self.cache / found.digest} is the cache of an older version of cse: delete it")
        notes = RowNotes.from_json(cached.notes)
        optional = [] if required is None or self.empty == "keep" else self.column_names[required:]
        usable = compact(usable_numbers(notes, self.empty, self.name, optional))
        chosen = usable[chosen_rows(len(usable), self.limit, self.limit_seed)]
        if len(chosen) < 2:
            where = self.path or found.place or self.identity
            count = f"{len(chosen)} usable {'row' if len(chosen) == 1 else 'rows'}"
            after = "" if self.limit is None else f" after `limit`={self.limit}"
            raise UserError(f"data={self.name} ({where}): {count}{after}, but training needs two or more")
        self.warn_of_scores(cached, chosen)
        self.tell_of_unread(found)
        return TextRows(
            name=self.name,
            place=found.place,
            identity=self.identity,
            columns=self.columns,
            scores=self.scores,
            cache=self.cache,
            digest=found.digest,
            content=" ".join(cached.checksums.values()),
            checksums=found.checksums,
            texts=cached.columns[: self.num_columns],
            chosen=chosen,
            left_out=notes.total - len(usable),
            targets_N=self._targets(cached, chosen),
            missing_NC=self._missing(notes, optional, chosen),
        )

    def _cached(self, found: Found) -> CachedColumns:
        """Return the cached columns of the source, with RowNotes as JSON. Without a cache, reads the source first."""
        notes = RowNotes()
        rows = track(notes.noting(found.rows, self.column_names), "row", next(iter(self.published_counts), None))
        encoded = (tuple(np.frombuffer(cell.encode(), np.uint8) for cell in row) for row in rows)
        files = [f"text_{name}" for name in self.column_names]
        if self.scores:
            files.append("scores")
        with showing(f"reading {self.name}"):
            return cache_columns(self.cache / found.digest, encoded, files, "uint8", notes.as_json)

    def warn_of_scores(self, cached: CachedColumns, chosen: np.ndarray) -> None:
        """If there are several columns of text, log a warning for each that has only numbers."""
        for name, column in zip(self.column_names, cached.columns, strict=False):
            if self.num_columns > 1 and all(is_number(cell.tobytes()) for cell in column.rows(chosen)):
                log.warning(
                    "data=%s: column %s has only numbers, but is read as text; to read it as scores, set scores=%s, "
                    "and leave it out of columns",
                    *(self.name, name, name),
                )

    def tell_of_unread(self, found: Found) -> None:
        """Log the columns of the first file that are not read. If they may be scores of pairs, say how to read them."""
        if self.function is not None or self.columns is None or not found.checksums:
            return
        file, read = Path(next(iter(found.checksums))), names_of(self.columns_to_read or ())
        header = header_of(file, self.encoding)
        unread = [name for name in header if name not in {column_of(one, header) for one in read}]
        if not unread:
            return
        first = [row for _, row in islice(records_of(file, unread, self.encoding), FIRST)]
        numbers = [name for name in unread if all(is_number(str(row.get(name)).encode()) for row in first)]
        said = ""
        if numbers and self.num_columns == 2 and self.scores is None:
            said = f"; if {numbers[-1]} scores the pairs, objective=cosent learns from it, with scores={numbers[-1]}"
        log.info("data=%s: columns not read: %s%s", self.name, ", ".join(unread), said)

    def _targets(self, cached: CachedColumns, chosen: np.ndarray) -> np.ndarray:
        """Return the scores of the chosen rows, (N,) float32; no scores: (0,). Raises UserError if all are equal."""
        if self.scores is None:
            return np.empty(0, np.float32)
        scores = (float(cell.tobytes()) for cell in cached.columns[-1].rows(chosen))
        targets_N = np.fromiter(scores, np.float32, len(chosen))
        if np.ptp(targets_N) == 0:
            same = self.scores.in_words(float(targets_N[0]))
            why = f"every row has {same}, so there is nothing to learn"
            raise UserError(why, key="scores", value=self.scores.name)
        return targets_N

    def _missing(self, notes: RowNotes, optional: Sequence[str], chosen: np.ndarray) -> np.ndarray | None:
        """Return which cells of the chosen rows have no text in the optional columns, (N, C) bool; None if all cells
        have text. Logs the number of rows without text."""
        missing_NC = np.zeros((len(chosen), self.num_columns), bool)
        for name in optional:
            missing_N = np.isin(chosen, notes.missing(name))
            missing_NC[:, self.column_names.index(name)] = missing_N
            if missing_N.all():
                log.warning("data=%s: no row has a text in %s, so this column gives no negatives", self.name, name)
            elif missing_N.any():
                said = f"{missing_N.sum():,} of {len(chosen):,} rows have no text in {name}, and no negative from it"
                log.info("data=%s: %s", self.name, said)
        return missing_NC if missing_NC.any() else None


@dataclass(frozen=True)
class SampleNeed(CorpusNeed):
    """A sample of rows that cse draws from a published corpus. The sample is stored only in the cache of texts."""

    settings: Settings = field(compare=False, kw_only=True)

    def text(self) -> Text:
        """Return the text with these settings."""
        node = self.settings["rows"]
        function = partial(resolve_name(node["_target_"]), **without_hydras_keys(node))
        return Text(**{**without_hydras_keys(self.settings), "rows": function})

    def find(self) -> Place:
        """See Need."""
        text = self.text()
        return text.cache / text.find().digest

    def fetch(self) -> Place:
        """See Need."""
        text = self.text().read()
        return text.cache / text.digest


def without_hydras_keys(settings: Settings) -> Settings:
    """Return a part's settings without Hydra's own keys, such as `_target_`."""
    return {key: value for key, value in settings.items() if key[0] != "_"}


def is_number(text: bytes) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def repo_of_text(name: str) -> hub.Repo:
    """Return the hub repository that `path` names."""
    return hub.Repo(name, "dataset", f"`path`={name} is not a local file", "give a file or a folder")


def cell_like(feature: object) -> object:
    """Return a cell for a column of a hub dataset, with "..." for each text. feature: the type of the column."""
    from datasets import LargeList, List

    if isinstance(feature, Mapping):
        return {key: cell_like(inside) for key, inside in feature.items()}
    return [cell_like(feature.feature)] if isinstance(feature, (List, LargeList)) else "..."


def chosen_rows(total: int, limit: int | float | None, seed: int | None) -> np.ndarray:
    """Return the row numbers below `total` that `limit` selects, in order: the first or, with a seed, a random sample.

    With the same seed, a smaller limit selects a subset of the rows of a larger limit.
    """
    if limit is None:
        size = total
    elif isinstance(limit, float):
        size = round(limit * total)
    else:
        size = min(limit, total)
    if seed is None:
        return np.arange(size)
    return np.sort(np.random.default_rng(seed).permutation(total)[:size])


def key_of_parts(*parts: object) -> str:
    """Return a key of 32 hexadecimal digits from CACHE_VERSION and the repr of the parts."""
    return hashlib.sha256(repr((CACHE_VERSION, *parts)).encode()).hexdigest()[:32]
