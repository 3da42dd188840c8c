"""Rows of text from a user's file: .txt, .csv, .tsv, .jsonl (each also .gz), .parquet, or a folder of them.

Every reader yields tuples of str, one item a column. Whatever a library says about a file that it cannot read becomes
one UserError with the file, the line (for Parquet the row) and what to do.
"""

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cse.errors import MissingResource, UserError, first_line

KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
MAX_CELL_CHARACTERS = 10_000_000  # characters: far more than a document, far less than a file behind a quote left open
SURROGATE = re.compile("[\ud800-\udfff]")
EMPTY = " "  # what SimCSE's code makes of an empty cell
ADVICE: dict[type[Exception], str] = {
    UnicodeDecodeError: "convert the file, set data.encoding, or let its name end as its kind does (.gz, .parquet)",
    csv.Error: "a quoted cell must be closed, and a quote inside it doubled",
    json.JSONDecodeError: "every line must be a JSON object",
}

Rows = Iterator[tuple[str, ...]]


def files_of(path: Path) -> list[Path]:
    """The file, or the readable files of a folder in order of name.

    Raises MissingResource where nothing is at `path`, UserError where there is no file to read or one is empty.
    """
    if not path.exists():
        raise MissingResource(f"data.path={path}: there is no such file or folder")
    inside = path.rglob("*") if path.is_dir() else [path]
    files = sorted(file for file in inside if file.is_file() and (kind(file) in KINDS or file == path))
    if not files:
        raise UserError(f"data.path={path}: no {', '.join(KINDS)} file (or .gz of one) is in this folder")
    for file in files:
        if kind(file) not in KINDS:
            raise UserError(f"data.path={file}: the ending is not one of {', '.join(KINDS)}, with or without .gz")
        if file.stat().st_size == 0:
            raise UserError(f"data.path={file}: the file is empty")
    return files


def kind(file: Path) -> str:
    """The ending that says how to read a file, without .gz."""
    return Path(file.stem).suffix if file.suffix == ".gz" else file.suffix


def read_rows(file: Path, columns: list[str] | None, encoding: str) -> Rows:
    """The rows of one file. Blank lines of .txt are skipped; an empty cell becomes " ", as in SimCSE's code.

    Raises UserError at once for columns that the file does not have, and while rows are read for a damaged one.
    """
    if kind(file) == ".txt":
        if columns is not None:
            raise UserError(f"data.columns={columns}: {file} is plain text and has no columns")
        return ((line,) for _, line in lines_of(file, encoding) if line)
    header = columns_of(file, encoding)
    there = ", ".join(name if name.isprintable() else repr(name) for name in header)
    if columns is None:
        raise UserError(
            f"data.columns is not set: {file} has columns {there}; name one, two or three of them: data.columns=[A,B]"
        )
    for name in columns:
        if header.count(name) != 1:
            raise UserError(f"data.columns={columns}: {file} has {header.count(name)} columns {name}; it has {there}")
    return _cells(file, columns, encoding)


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


def lines_of(file: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """(line number, text without its end) of a plain or gzipped file: every line of text is read here.

    encoding: one that keeps ASCII as it is. Raises UserError for a file that cannot be read (of a damaged .gz it names
    the last line that came), and at the first line that is not in the encoding.
    """
    number = 0
    opened = gzip.open if file.suffix == ".gz" else open
    with reading(file, lambda: f"line {number}"), opened(file, "rb") as lines:
        for number, line in enumerate(lines, 1):
            yield number, line.decode(encoding).strip("\r\n\ufeff" if number == 1 else "\r\n")


def columns_of(file: Path, encoding: str) -> list[str]:
    """The column names that a file announces. Raises UserError where it announces none."""
    if kind(file) == ".parquet":
        import pyarrow.parquet as pq

        with reading(file):
            return pq.read_schema(file).names
    first = next(_objects(file, encoding) if kind(file) == ".jsonl" else _table(file, encoding), None)
    if first is None:
        raise UserError(f"{file} is empty")
    return list(first[1])


def _cells(file: Path, columns: list[str], encoding: str) -> Rows:
    """The cells of these columns, row by row."""
    for place, row in _records(file, columns, encoding):
        if missing := [name for name in columns if name not in row]:
            raise UserError(f"{file}, {place}: the object has no {', '.join(missing)}")
        yield texts_of(row, columns, str(file), place)


def _records(file: Path, columns: list[str], encoding: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """(where it is in the file, its cells by column) of each row."""
    if kind(file) == ".parquet":
        yield from ((f"row {number}", row) for number, row in enumerate(_parquet(file, columns), 1))
    elif kind(file) == ".jsonl":
        yield from ((f"line {number}", row) for number, row in _objects(file, encoding))
    else:
        table = _table(file, encoding)
        _, header = next(table)
        for number, row in table:
            if len(row) != len(header):
                raise UserError(f"{file}, line {number}: {len(row)} fields, but the header has {len(header)}")
            yield f"line {number}", dict(zip(header, row, strict=True))


def _table(file: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """(the line that it begins on, cells) of each row of a .csv or .tsv file, its header first.

    Quotes are parsed strictly: a quote that is opened and not closed would otherwise swallow all rows after it.
    """
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    lines = (line + "\n" for _, line in lines_of(file, encoding))
    reader = csv.reader(lines, delimiter=DELIMITERS[kind(file)], strict=True)
    begin = 1
    with reading(file, lambda: f"line {begin}"):
        for row in reader:
            yield begin, row
            begin = reader.line_num + 1


def _objects(file: Path, encoding: str) -> Iterator[tuple[int, dict[str, object]]]:
    """(its line, its cells) of each object of a .jsonl file."""
    for number, line in lines_of(file, encoding):
        if line.strip():
            with reading(file, lambda: f"line {number}"):  # noqa: B023 (called in the block)
                row = json.loads(line)
            if not isinstance(row, dict):
                raise UserError(f"{file}, line {number}: not a JSON object; every line must be one")
            yield number, row


def _parquet(file: Path, columns: list[str]) -> Iterator[dict[str, object]]:
    """Each row of a Parquet file."""
    import pyarrow.parquet as pq

    number = 0
    with reading(file, lambda: f"after row {number}"), pq.ParquetFile(file) as table:
        for batch in table.iter_batches(columns=columns):
            rows = batch.to_pylist()
            yield from rows
            number += len(rows)


def texts_of(row: Mapping[str, object], columns: list[str], source: str, place: str) -> tuple[str, ...]:
    """Cells of a row as text, " " for an empty one. source, place: the file and where in it, for messages.

    Raises UserError for anything but text (a number, a list, an object), and for half a surrogate pair.
    """
    cells = []
    for name in columns:
        cell = EMPTY if row[name] is None or row[name] == "" else row[name]
        if not isinstance(cell, str):
            raise UserError(f"{source}, {place}: {name} holds {repr(cell)[:40]}, not text")
        if SURROGATE.search(cell):
            raise UserError(f"{source}, {place}: {name} holds half a character: {cell.encode(errors='replace')[:40]!r}")
        cells.append(cell)
    return tuple(cells)
