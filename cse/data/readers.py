"""Rows of text from a user's file: .txt, .csv, .tsv, .jsonl (each also .gz), .parquet, or a folder of them.

Every reader yields tuples of str, one item a column. Whatever a library says about a file that it cannot read becomes
one UserError with the file, the line (for Parquet the row) and what to do.
"""

import csv
import gzip
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cse.data.scores import ScoreColumn
from cse.errors import MissingResource, UserError, first_line

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
MAX_TEXT = 2**20  # bytes of a line of .txt, or of a cell: a longer one is unusable, and read as an empty one
MAX_LINE = 10_000_000  # bytes of a line of another format: far more than a document, far less than a file without lines
MAX_CELL_CHARACTERS = MAX_LINE  # of a .csv, whose cells may have many lines: what a quote left open swallows
PARQUET_ROWS = 64  # read at once: a dictionary can give each of them the same text of megabytes
SURROGATE = re.compile("[\ud800-\udfff]")
EMPTY = " "  # what SimCSE's code makes of an empty cell
ADVICE: dict[type[Exception], str] = {
    UnicodeDecodeError: "convert the file, set data.encoding, or let its name end as its kind does (.gz, .parquet)",
    csv.Error: "a quoted cell must be closed, and a quote inside it doubled",
    json.JSONDecodeError: "every line must be a JSON object",
}

Rows = Iterator[tuple[str, ...]]

Columns = Sequence[str | ScoreColumn]
"""The columns to read, in this order: text, by name, or numbers."""


def files_of(path: Path, key: str = "data.path") -> list[Path]:
    """The file, or the readable files of a folder in order of name. key: the setting that names it.

    Raises MissingResource where nothing is at `path`, UserError where there is no file to read or one is empty.
    """
    if not path.exists():
        raise MissingResource(f"{key}={path}: there is no such file or folder")
    inside = path.rglob("*") if path.is_dir() else [path]
    files = sorted(file for file in inside if file.is_file() and (kind(file) in KINDS or file == path))
    if not files:
        raise UserError(f"{key}={path}: no {', '.join(KINDS)} file (or .gz of one) is in this folder")
    for file in files:
        if kind(file) not in KINDS:
            raise UserError(f"{key}={file}: the ending is not one of {', '.join(KINDS)}, with or without .gz")
        if file.stat().st_size == 0:
            raise UserError(f"{key}={file}: the file is empty")
    return files


def kind(file: Path) -> str:
    """The ending that says how to read a file, without .gz."""
    return Path(file.stem).suffix if file.suffix == ".gz" else file.suffix


def read_rows(file: Path, columns: Columns | None, encoding: str, digest: str | None = None) -> Rows:
    """The rows of one file. Blank lines of .txt are skipped; an empty cell becomes " ", as in SimCSE's code.

    A text longer than MAX_TEXT becomes " " too. digest: the SHA-256 that the file must have as it is read (None: any).
    Raises UserError at once for columns that the file does not have, and while rows are read for a damaged one and for
    one that has changed.
    """
    if kind(file) == ".txt":
        if columns is not None:
            raise UserError(f"data.columns={names_of(columns)}: {file} is plain text and has no columns")
        return ((EMPTY if line is None else line,) for _, line in lines_of(file, encoding, digest) if line != "")
    header = columns_of(file, encoding)
    there = ", ".join(name if name.isprintable() else repr(name) for name in header)
    if columns is None:
        raise UserError(
            f"data.columns is not set: {file} has columns {there}; name one, two or three of them: data.columns=[A,B]"
        )
    for name in names_of(columns):
        if header.count(name) != 1:
            texts = [column for column in columns if isinstance(column, str)]
            key = f"data.columns={texts}" if name in texts else f"data.scores={name}"
            raise UserError(f"{key}: {file} has {header.count(name)} columns {name}; it has {there}")
    return _cells(file, columns, encoding, digest)


@contextmanager
def reading(file: Path, place: Callable[[], str] | None = None) -> Iterator[None]:
    """A block that reads the file: whatever a library raises in it is a UserError. place: how far it has come."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the errors of gzip, zlib, csv, json and pyarrow have no base class in common
        where = f"{file}, {place()}" if place else str(file)
        advice = ADVICE.get(type(error), "copy or write the file again")
        raise UserError(f"{where}: cannot be read ({first_line(error)}): {advice}") from error


class Hashing(io.RawIOBase):
    """A file's bytes, and the SHA-256 of those that have been read."""

    def __init__(self, file: io.RawIOBase):
        self.file, self.sha256 = file, hashlib.sha256()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer) -> int:
        """As io.RawIOBase."""
        count = self.file.readinto(buffer) or 0
        self.sha256.update(memoryview(buffer)[:count])
        return count


def check_unchanged(file: Path, digest: str | None, found: str) -> None:
    """Raise UserError where the SHA-256 of what was read is not the file's before it was read (None: unknown)."""
    if digest not in (None, found):
        raise UserError(f"{file} has changed while it was read: wait until it is written, and start again")


def lines_of(file: Path, encoding: str, digest: str | None = None) -> Iterator[tuple[int, str | None]]:
    """(line number, text without its end) of a plain or gzipped file: every line of text is read here.

    None stands for a line that is too long, of which no more than MAX_TEXT bytes are held (MAX_LINE, where text is a
    part of the line). encoding: one that keeps ASCII as it is. digest: see read_rows. Raises UserError for a file that
    cannot be read (of a damaged .gz it names the last line that came), at the first line that is not in the encoding,
    and at the end of a file that has changed.
    """
    number, longest = 0, MAX_TEXT if kind(file) == ".txt" else MAX_LINE
    with reading(file, lambda: f"line {number}"), open(file, "rb", buffering=0) as raw:
        hashing = Hashing(raw)
        content = io.BufferedReader(hashing, 1 << 17)
        lines = gzip.GzipFile(fileobj=content) if file.suffix == ".gz" else content
        while line := lines.readline(longest + 2):  # its end is not of its text
            number += 1
            text = line.rstrip(b"\r\n")
            if len(text) <= longest:
                yield number, text.decode(encoding).strip("\r\n\ufeff" if number == 1 else "\r\n")
                continue
            while line and not line.endswith(b"\n"):
                line = lines.readline(MAX_TEXT)
            yield number, None
        check_unchanged(file, digest, hashing.sha256.hexdigest())


def columns_of(file: Path, encoding: str) -> list[str]:
    """The column names that a file announces. Raises UserError where it announces none."""
    if kind(file) == ".parquet":
        import pyarrow.parquet as pq

        with reading(file):
            return pq.read_schema(file).names
    first = next(_objects(file, encoding) if kind(file) == ".jsonl" else _table(file, encoding), None)
    if first is None:
        raise UserError(f"{file} is empty")
    number, header = first
    if header is None:
        raise UserError(
            f"{file}, line {number}: no object that tells the columns; it is longer than {MAX_LINE:,} bytes"
        )
    return list(header)


def names_of(columns: Columns) -> list[str]:
    """The names of columns."""
    return [column if isinstance(column, str) else column.name for column in columns]


def _cells(file: Path, columns: Columns, encoding: str, digest: str | None) -> Rows:
    """The cells of these columns, row by row."""
    names = names_of(columns)
    for place, row in _records(file, names, encoding, digest):
        if missing := [name for name in names if name not in row]:
            raise UserError(f"{file}, {place}: the object has no {', '.join(missing)}")
        yield texts_of(row, columns, str(file), place)


def _records(
    file: Path, columns: list[str], encoding: str, digest: str | None
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """(where it is in the file, its cells by column) of each row; of an object whose line is too long, empty ones."""
    if kind(file) == ".parquet":
        yield from ((f"row {number}", row) for number, row in enumerate(_parquet(file, columns, digest), 1))
    elif kind(file) == ".jsonl":
        nothing = dict.fromkeys(columns, EMPTY)
        yield from (
            (f"line {number}", nothing if row is None else row) for number, row in _objects(file, encoding, digest)
        )
    else:
        table = _table(file, encoding, digest)
        _, header = next(table)
        for number, row in table:
            if len(row) != len(header):
                raise UserError(f"{file}, line {number}: {len(row)} fields, but the header has {len(header)}")
            yield f"line {number}", dict(zip(header, row, strict=True))


def _table(file: Path, encoding: str, digest: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """(the line that it begins on, cells) of each row of a .csv or .tsv file, its header first.

    Quotes are parsed strictly: a quote that is opened and not closed would otherwise swallow all rows after it.
    """
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    reader = csv.reader(_whole_lines(file, encoding, digest), delimiter=DELIMITERS[kind(file)], strict=True)
    begin = 1
    with reading(file, lambda: f"line {begin}"):
        for row in reader:
            yield begin, row
            begin = reader.line_num + 1


def _whole_lines(file: Path, encoding: str, digest: str | None) -> Iterator[str]:
    """The lines of a table, each with its end. Raises UserError for one after which no row can be told from another."""
    for number, line in lines_of(file, encoding, digest):
        if line is None:
            raise UserError(
                f"{file}, line {number}: longer than {MAX_LINE:,} bytes; every row must be on lines of its own"
            )
        yield line + "\n"


def _objects(file: Path, encoding: str, digest: str | None = None) -> Iterator[tuple[int, dict[str, object] | None]]:
    """(its line, its cells) of each object of a .jsonl file; None for one that is too long."""
    for number, line in lines_of(file, encoding, digest):
        if line is None:
            yield number, None
        elif line.strip():
            with reading(file, lambda: f"line {number}"):  # noqa: B023 (called in the block)
                row = json.loads(line)
            if not isinstance(row, dict):
                raise UserError(f"{file}, line {number}: not a JSON object; every line must be one")
            yield number, row


def _parquet(file: Path, columns: list[str], digest: str | None) -> Iterator[dict[str, object]]:
    """Each row of a Parquet file."""
    import pyarrow.parquet as pq

    number = 0
    with reading(file, lambda: f"after row {number}"), open(file, "rb") as content:
        table = pq.ParquetFile(content)
        check_lengths(file, table.metadata)
        for batch in table.iter_batches(PARQUET_ROWS, columns=columns):
            rows = batch.to_pylist()
            yield from rows
            number += len(rows)
        content.seek(0)
        check_unchanged(file, digest, hashlib.file_digest(content, "sha256").hexdigest())


def check_lengths(file: Path, about: "FileMetaData") -> None:
    """Raise UserError where the texts of a column are too long in the mean, by what a Parquet file says of itself.

    A few kilobytes can hold a text of gigabytes, and pyarrow holds all of it.
    """
    for group in map(about.row_group, range(about.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.total_uncompressed_size > MAX_TEXT * (group.num_rows + 1):
                raise UserError(
                    f"{file}: the {group.num_rows:,} texts of {column.path_in_schema} have "
                    f"{column.total_uncompressed_size:,} bytes; a row can have {MAX_TEXT:,}"
                )


def texts_of(row: Mapping[str, object], columns: Columns, source: str, place: str) -> tuple[str, ...]:
    """Cells of a row as text, " " for one that is empty or too long. source, place: the file and where, for messages.

    Raises UserError for anything but text (a number, a list, an object), and for half a surrogate pair; in a column of
    scores, for anything but a number.
    """
    cells = []
    for name in columns:
        if isinstance(name, ScoreColumn):
            cells.append(name.cell(row[name.name], f"{source}, {place}"))
            continue
        cell = EMPTY if row[name] is None or row[name] == "" else row[name]
        if not isinstance(cell, str):
            raise UserError(f"{source}, {place}: {name} holds {repr(cell)[:40]}, not text")
        if SURROGATE.search(cell):
            raise UserError(f"{source}, {place}: {name} holds half a character: {cell.encode(errors='replace')[:40]!r}")
        too_long = len(cell) > MAX_TEXT // 4 and len(cell.encode()) > MAX_TEXT
        cells.append(EMPTY if too_long else cell)
    return tuple(cells)
