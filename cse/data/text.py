"""The sources of training text: any local file or folder, a hub dataset, or a function that yields rows.

`Text` has the settings. `find` opens the source. `read` makes the rows (cse.data.rows), only once for the same content.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import getmodule, isclass, isroutine
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import numpy as np
from annotated_types import MinLen

from cse.data.cache import cache_columns
from cse.data.corpora import CorpusNeed, check_available, is_published
from cse.data.noise import Noise, with_noise
from cse.data.readers import (
    Columns,
    TextNeed,
    cells_of_row,
    check_columns,
    check_unchanged,
    files_of,
    is_on_hub,
    names_typed,
    read_rows,
    reading,
)
from cse.data.rows import TextRows
from cse.data.score_column import ScoreColumn
from cse.data.usable import Empty, Notes, missing_rows, note_faults, usable_rows
from cse.errors import RunError, UserError, class_name, in_short, naming
from cse.files import sha256
from cse.needs import FileNeed, Need, Part, Place, Settings
from cse.progress import showing, track
from cse.ranges import Cache, Count, Encoding, Ends, File, Mark, Name, Natural, PositiveShare, Seed
from cse.sources import hub
from cse.sources.catalogue import DATASETS

log = logging.getLogger(__name__)

VERSION = 3  # a part of each cache's key: increase it if the result of the readers, `fault` or `tokenized` changes


RowsFunction = Callable[[], Iterator[tuple[str, ...]]]


@dataclass(frozen=True)
class Found:
    """A source of text that exists and is not read yet.

    rows: can be read once. digest: a digest of the rows, known before reading. place: the file, folder or dataset.
    checksums: SHA-256 of the local files.
    """

    rows: Iterator[tuple[str, ...]]
    digest: str
    place: str | None = None
    checksums: dict[str, str] = field(default_factory=dict)


class Text(Part):
    """The settings of a text. conf/data/text.yaml explains all except `rows`.

    rows: replaces path: a function that yields the rows of a corpus. Then `identity` is the key of their cache. If the
    corpus is not published, the key also has a digest of the function's file and its settings.
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
        rows: RowsFunction | None = None,
        identity: Name | None = None,
        limit: Count | PositiveShare | None = None,
        limit_seed: Seed | None = None,
        noise: Noise | None = None,
        preview: Annotated[Natural, Mark.LOGGING, Mark.ONCE] = 0,
        empty: Empty | None = "keep",
    ):
        if path is not None and name in DATASETS:  # its licence and revision would be another text's
            why = f"it is a published corpus: give the text of `path`={path} another name"
            raise UserError(why, key="name", value=name)
        if rows and columns and len(columns) > 1 and name in DATASETS and len(DATASETS[name].columns) < 2:
            why = f"data={name} has one column: leave `columns` null"
            raise UserError(why, key="columns", value=f"[{','.join(columns)}]")
        if repeated := [one for one in columns or [] if (columns or []).count(one) > 1]:
            raise UserError(f"it names {repeated[0]} twice", key="columns", value=list(columns or []))
        if scores in (columns or []):
            raise UserError(f"`columns`={list(columns or [])} names it as text", key="scores", value=scores)
        self.name = name
        self.cache = Path(cache_dir) / "text"
        self.path, self.split, self.subset, self.encoding = path, split, subset, encoding
        self.columns = list(columns) if columns is not None else None
        self.column_names = self.columns or ["text"]
        self.scores = None if scores is None else ScoreColumn(scores, score_range and (score_range[0], score_range[1]))
        self.rows, self.identity = rows, identity
        self.limit, self.limit_seed, self.empty = limit, limit_seed, empty
        self.noise = noise if noise and (noise["delete"] or noise["insert"] or noise["swap"]) else None

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """A published corpus, or the file, folder or hub dataset in the settings."""
        name, path, rows = str(settings.get("name")), settings.get("path"), settings.get("rows") or {}
        own = {f"rows.{key}": rows[key] for key in ("file", "folder") if rows.get(key)}
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
        return [TextNeed(path, "path", columns=columns, encoding=encoding, repo=repo, subset=subset, split=split)]

    @property
    def num_columns(self) -> int:
        """The number of columns; plain text has one."""
        return len(self.column_names)

    @property
    def copy(self) -> str | None:
        """The file or folder of a corpus, from the settings of its function."""
        given = self.rows.keywords if isinstance(self.rows, partial) else {}
        return given.get("file") or given.get("folder")

    @property
    def place(self) -> str | None:
        """The file, folder or dataset in the settings."""
        return self.copy or self.path

    @property
    def columns_to_read(self) -> Columns | None:
        """The columns of text and the column of numbers; None for plain text."""
        if self.columns is None:
            return None
        return [*self.columns, self.scores] if self.scores else self.columns

    @property
    def published_rows(self) -> tuple[int, ...]:
        """The numbers of rows that the published corpus or its copies have; () for other text."""
        return DATASETS[self.name].rows if self.name in DATASETS else ()

    def find(self) -> Found:
        """Open the source. A published corpus is not read here: `read` does that, and may take hours.

        Raises MissingResource for a source that is not available, UserError for a file without these columns.
        """
        found = self.open_source()
        if self.noise:
            noisy = with_noise(found.rows, self.noise, self.num_columns)
            found = replace(found, rows=noisy, digest=key_of_parts(found.digest, sorted(self.noise.items())))
        if is_published(self.name) and self.copy is None and not (self.cache / found.digest).exists():
            check_available(self.name)
        return found

    def read(self, found: Found | None = None, required: int | None = None) -> TextRows:
        """Read the source that `find` opened, or its cache.

        required: how many columns must have a text in each row; None: all. A row may lack a text in a later column
        (TextRows.missing_NC), unless `empty` keeps what is there.

        Raises the errors of `find`. Raises UserError if the source cannot be read, changes while it is read (then no
        cache is left), has fewer than two rows, or has too many unusable rows (`empty`).
        """
        found = found or self.find()
        notes: Notes = {}
        published = next(iter(self.published_rows), None)
        rows = track(note_faults(found.rows, self.column_names, notes), "row", published)
        encoded = (tuple(np.frombuffer(cell.encode(), np.uint8) for cell in row) for row in rows)
        files = [f"text_{name}" for name in self.column_names]
        if self.scores:
            files.append("scores")
        with showing(f"reading {self.name}"):
            kept = cache_columns(self.cache / found.digest, encoded, files, "uint8", notes)
        if "faults" not in kept.notes:
            raise UserError(f"{self.cache / found.digest} is a cache of an older version: delete it")
        optional = [] if required is None or self.empty == "keep" else self.column_names[required:]
        usable = usable_rows(kept.notes, self.empty, self.name, optional)
        chosen = usable[chosen_rows(len(usable), self.limit, self.limit_seed)]
        if len(chosen) < 2:
            where = self.path or found.place or self.identity
            raise UserError(f"data={self.name} ({where}): {len(chosen)} rows; two or more are needed")
        targets_N = np.empty(0, np.float32)
        if self.scores:
            targets_N = np.array([float(kept.columns[-1][row].tobytes()) for row in chosen.tolist()], np.float32)
            if np.ptp(targets_N) == 0:
                same = self.scores.in_words(float(targets_N[0]))
                why = f"every row has {same}, so there is nothing to learn"
                raise UserError(why, key="scores", value=self.scores.name)
        texts = kept.columns[: self.num_columns]
        return TextRows(
            name=self.name,
            place=found.place,
            identity=self.identity,
            columns=self.columns,
            scores=self.scores,
            cache=self.cache,
            digest=found.digest,
            content=" ".join(kept.checksums.values()),
            checksums=found.checksums,
            texts=texts,
            chosen=chosen,
            left_out=len(texts[0]) - len(usable),
            targets_N=targets_N,
            missing_NC=self.missing(kept.notes, optional, chosen),
        )

    def missing(self, notes: Notes, optional: Sequence[str], chosen: np.ndarray) -> np.ndarray | None:
        """(N, C) bool: which cells of the chosen rows have no text, in the optional columns; None if all have one. Logs
        how many."""
        missing_NC = np.zeros((len(chosen), self.num_columns), bool)
        for name in optional:
            missing_N = np.isin(chosen, missing_rows(notes, name))
            missing_NC[:, self.column_names.index(name)] = missing_N
            if missing_N.all():
                log.warning("data=%s: no row has a text in %s, which gives no negatives", self.name, name)
            elif missing_N.any():
                said = f"{missing_N.sum():,} of {len(chosen):,} rows have no text in {name}: one negative fewer"
                log.info("data=%s: %s", self.name, said)
        return missing_NC if missing_NC.any() else None

    def open_source(self) -> Found:
        """The opened source: its rows without noise, and their digest."""
        if self.rows is not None:
            return self.of_function(self.rows, self.copy)
        if self.path is None:
            raise UserError("`path` is not set: data=text needs `path`=FILE, FOLDER or a hub dataset's name")
        return self._of_hub(self.path) if is_on_hub(self.path) else self._of_files(self.path)

    def of_function(self, rows: RowsFunction, copy: str | None) -> Found:
        """The rows that a function yields. copy: the file or folder that the function reads, if any."""
        with naming(path="rows.file"):
            checksums = checksums_of(files_of(Path(copy).expanduser())) if copy else {}
        about = self.identity, self.columns, *checksums.values(), *(self.scores or ())
        if is_published(self.name):  # our function: its identity has its settings, and an error needs a traceback
            return Found(self._checked(rows, checksums), key_of_parts(*about), copy, checksums)
        own = partial(rows_by, rows, f"data={self.name}")
        return Found(self._checked(own, checksums), key_of_parts(*about, *version_of(rows)), copy, checksums)

    def _of_files(self, path: str) -> Found:
        """The rows of a file, or of the files of a folder."""
        if self.scores and self.columns is None:
            why = "it needs `columns`=[A,B], the columns of the text"
            raise UserError(why, key="scores", value=self.scores.name)
        if self.split != "train" or self.subset:
            idle = f"`subset`={self.subset}" if self.subset else f"`split`={self.split}"
            raise UserError(
                f"{idle} is for a dataset on the hub, but {path} is on this machine, and read whole: name the file"
            )
        files = files_of(Path(path).expanduser())
        checksums = checksums_of(files)
        parts = [read_rows(file, self.columns_to_read, self.encoding) for file in files]
        digest = key_of_parts(*checksums.values(), self.columns, self.encoding, *(self.scores or ()))
        return Found(self._checked(lambda: chain.from_iterable(parts), checksums), digest, path, checksums)

    def _of_hub(self, name: str) -> Found:
        """The rows of a dataset of the hub."""
        table = hub.fetch_split(repo_of_text(name), self.subset, self.split)
        columns = check_columns(self.columns_to_read or self.column_names, table.column_names, name)
        rows = (cells_of_row(row, columns, f"{name}, row {number}") for number, row in enumerate(table, 1))
        return Found(rows, key_of_parts(table._fingerprint, self.columns, *(self.scores or ())), name)

    def _checked(self, rows: RowsFunction, checksums: dict[str, str]) -> Iterator[tuple[str, ...]]:
        """The rows, opened only when the first is read.

        Raises UserError for a row without a text for each column. After the last row, raises UserError if a local file
        has changed, or if a published corpus does not have the published number of rows.
        """
        names = [*self.column_names, f"{self.scores.name} (`scores`)"] if self.scores else self.column_names
        count = 0
        for count, row in enumerate(rows(), 1):
            check_row(row, names, f"data={self.name}, row {count}")
            yield row
        for file, digest in checksums.items():
            check_unchanged(Path(file), digest, sha256(Path(file)))
        whole = self.published_rows
        if whole and count not in whole:
            raise UserError(
                f"data={self.name} has {count:,} rows, but the published file has {whole[0]:,}: take a complete copy "
                "(of the hub's, delete the cached one), or train on it as text of your own, data=text data.path=FILE"
            )


@dataclass(frozen=True)
class SampleNeed(CorpusNeed):
    """Rows that are drawn from a published corpus. Only the cache of the text keeps them."""

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
        return text.cache / text.find().digest

    def fetch(self) -> Place:
        """See Need."""
        rows = self.text().read()
        return rows.cache / rows.digest


def checksums_of(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of each file before it is read."""
    found = {}
    for file in files:
        with reading(file):
            found[str(file)] = sha256(file)
    return found


def repo_of_text(name: str) -> hub.Repo:
    """The repository of `path`."""
    return hub.Repo(name, "dataset", f"`path`={name} is not a local file", "give a file or a folder")


def chosen_rows(rows: int, limit: int | float | None, seed: int | None) -> np.ndarray:
    """The row numbers that `limit` selects, in order: the first rows, or with a seed a random sample.

    With the same seed, a smaller limit selects a subset of the rows of a larger limit.
    """
    size = rows if limit is None else round(limit * rows) if isinstance(limit, float) else min(limit, rows)
    if seed is None:
        return np.arange(size)
    return np.sort(np.random.default_rng(seed).permutation(rows)[:size])


def key_of_parts(*parts: object) -> str:
    """A key of 32 hexadecimal digits from VERSION and the repr of the parts."""
    return hashlib.sha256(repr((VERSION, *parts)).encode()).hexdigest()[:32]


def made_by(function: RowsFunction) -> Callable[..., object]:
    """The function without its settings, or the class of a callable object."""
    named = function.func if isinstance(function, partial) else function
    return named if isroutine(named) or isclass(named) else type(named)


def version_of(function: RowsFunction) -> tuple[str, str, str]:
    """What determines a function's rows, beside its data: its name, a checksum of its file, and its settings."""
    named = made_by(function)
    given = (function.args, function.keywords) if isinstance(function, partial) else ()
    module = getmodule(named)
    file = vars(module).get("__file__") if module else None  # a built-in of Python has no file
    settings = json.dumps(given, sort_keys=True, default=lambda value: class_name(type(value)))
    return class_name(named), sha256(Path(file)) if file else "", settings


def rows_by(function: RowsFunction, where: str) -> Iterator[tuple[str, ...]]:
    """The unchecked rows of a function of the user's own (data.rows). Any error that it raises becomes a UserError."""
    if not callable(function):
        raise UserError(f"{where}: `rows` is called later: its YAML needs _partial_: true")
    name, count = class_name(made_by(function)), 0
    try:
        made = function()
        if not isinstance(made, Iterable):
            raise UserError(f"{where}: {name} must yield rows, each a tuple of texts, not return {made!r:.40}")
        for row in made:
            yield row
            count += 1
    except (UserError, RunError):
        raise
    except Exception as error:
        raise UserError(f"{where}, after row {count}: {name} raised {in_short(error)}: fix it, or its data") from error


def check_row(row: object, names: Sequence[str], where: str) -> None:
    """Raise UserError unless a row has a text for each column. names: the names of the columns."""
    if not isinstance(row, tuple | list):
        raise UserError(f"{where}: {row!r:.40} is {type(row).__name__}, not a tuple with a text for each column")
    if len(row) != len(names):
        asked = f"`columns`=[{','.join(names)}] asks for {len(names)}"
        raise UserError(f"{where}: a {type(row).__name__} of {len(row)}, but {asked}")
    for name, cell in zip(names, row, strict=True):
        if not isinstance(cell, str):
            raise UserError(f"{where}: {name} is {cell!r:.40}, of type {type(cell).__name__}, not text")
