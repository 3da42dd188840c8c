"""Rows of text from a user's file: .txt, .csv, .tsv, .jsonl (each also .gz), .parquet, or a folder of them.

Every reader yields tuples of str, one item a column. Whatever a library says about a file that it cannot read becomes
one UserError with the file, the line (for Parquet the row) and what to do.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cse.errors import MissingResource, UserError

KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
MAX_CELL_CHARACTERS = 10_000_000  # characters: far more than a document, far less than a file behind a quote left open
EMPTY = " "  # what SimCSE's code makes of an empty cell

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
    if missing := [name for name in columns if name not in header]:
        raise UserError(f"data.columns={columns}: {file} has no column {', '.join(missing)}; it has {there}")
    if repeated := [name for name in columns if header.count(name) > 1]:
        raise UserError(f"data.columns={columns}: {file} has more than one column {', '.join(repeated)}")
    return {".jsonl": _jsonl, ".parquet": _parquet}.get(kind(file), _csv)(file, columns, encoding)


def lines_of(file: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """(line number, text without its end) of a plain or gzipped file. encoding: one that keeps ASCII as it is.

    Raises UserError for a file that cannot be read, and at the first line that is not in the encoding.
    """
    number = 0
    try:
        with reading(file), gzip.open(file) if file.suffix == ".gz" else open(file, "rb") as lines:
            for number, line in enumerate(lines, 1):
                yield number, line.decode(encoding).strip("\r\n\ufeff" if number == 1 else "\r\n")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UserError(
            f"{file}, line {number}: byte 0x{byte:02x} is not {encoding}: convert the file, set data.encoding, or let "
            "its name end as its kind does (.gz, .parquet)"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(
            f"{file}, after line {number}: the gzip file is damaged ({error}); copy or compress it again"
        ) from error


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """A block that reads the file. Raises UserError where the system refuses: no permission, a disk that fails."""
    try:
        yield
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror or error}") from error


def columns_of(file: Path, encoding: str) -> list[str]:
    """The column names that a file announces. Raises UserError where it announces none."""
    if kind(file) == ".parquet":
        import pyarrow.parquet as pq

        with _parquet_errors(file, "its header"):
            return pq.read_schema(file).names
    number, first = next(lines_of(file, encoding), (0, ""))
    if not number:
        raise UserError(f"{file} is empty")
    if kind(file) == ".jsonl":
        return list(_json_object(file, 1, first))
    return next(_table(file, encoding))[1]


def _table(file: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """(the line that it begins on, cells) of each row of a .csv or .tsv file, its header first.

    Quotes are parsed strictly: a quote that is opened and not closed would otherwise swallow all rows after it.
    """
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    lines = (line + "\n" for _, line in lines_of(file, encoding))
    reader = csv.reader(lines, delimiter=DELIMITERS[kind(file)], strict=True)
    begin = 1
    try:
        for row in reader:
            yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{file}, line {begin}: {error}: a quoted cell must be closed, and a quote inside it doubled"
        ) from error


def _csv(file: Path, columns: list[str], encoding: str) -> Rows:
    table = _table(file, encoding)
    _, header = next(table)
    places = [header.index(name) for name in columns]
    for line, row in table:
        if len(row) != len(header):
            raise UserError(f"{file}, line {line}: {len(row)} fields, but the header has {len(header)}")
        yield tuple(row[place] or EMPTY for place in places)


def _jsonl(file: Path, columns: list[str], encoding: str) -> Rows:
    for number, line in lines_of(file, encoding):
        if line.strip():
            row = _json_object(file, number, line)
            if missing := [name for name in columns if name not in row]:
                raise UserError(f"{file}, line {number}: the object has no {', '.join(missing)}")
            yield tuple(text_of(row[name], f"{file}, line {number}: {name}") for name in columns)


def _json_object(file: Path, number: int, line: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{file}, line {number}: not JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets thousands deep
        raise UserError(f"{file}, line {number}: not JSON that can be read ({error})") from error
    if not isinstance(row, dict):
        raise UserError(f"{file}, line {number}: not a JSON object; every line must be one")
    return row


def _parquet(file: Path, columns: list[str], encoding: str) -> Rows:
    import pyarrow.parquet as pq

    number = 0
    with _parquet_errors(file, "its header"):
        batches = pq.ParquetFile(file).iter_batches(columns=columns)
    while True:
        with _parquet_errors(file, f"after row {number}"):
            batch = next(batches, None)
            if batch is None:
                return
            cells = [batch.column(name).to_pylist() for name in columns]
        for row in zip(*cells, strict=True):
            number += 1
            places = (f"{file}, row {number}: {name}" for name in columns)
            yield tuple(text_of(cell, place) for cell, place in zip(row, places, strict=True))


@contextmanager
def _parquet_errors(file: Path, place: str) -> Iterator[None]:
    """pyarrow's errors as one sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserError(f"{file} is not a whole Parquet file ({place}: {reason}); copy or write it again") from error


def text_of(value: object, place: str) -> str:
    """A cell of a typed format, " " for an empty one. place: the file, the row and the column, for messages.

    Raises UserError for anything but text (a number, a list, an object), and for half a surrogate pair.
    """
    if value is None or value == "":
        return EMPTY
    if not isinstance(value, str):
        raise UserError(f"{place} holds {repr(value)[:40]}, not text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{place} holds half a character (\\u{ord(value[error.start]):04x})") from error
    return value
