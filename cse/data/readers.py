"""Rows of text from a user's file: .txt, .csv, .tsv, .jsonl (each also .gz), .parquet, or a folder of them.

Every reader yields tuples of str, one item a column, and raises UserError naming the file and the line.
"""

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from cse.errors import MissingResource, UserError

KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")


def files_of(path: Path) -> list[Path]:
    """The file, or the readable files of a folder in order of name. Raises UserError where there is none."""
    if not path.exists():
        raise MissingResource(f"data.path={path}: there is no such file or folder")
    files = sorted(file for file in path.rglob("*") if kind(file) in KINDS) if path.is_dir() else [path]
    if not files:
        raise UserError(f"data.path={path}: no {', '.join(KINDS)} file (or .gz of one) is in this folder")
    for file in files:
        if kind(file) not in KINDS:
            raise UserError(f"data.path={file}: the ending is not one of {', '.join(KINDS)}, with or without .gz")
        if file.stat().st_size == 0:
            raise UserError(f"data.path={file}: the file is empty")
    return files


def kind(file: Path) -> str:
    return Path(file.stem).suffix if file.suffix == ".gz" else file.suffix


def read_rows(file: Path, columns: list[str] | None, encoding: str) -> Iterator[tuple[str, ...]]:
    """The rows of one file. Blank lines of .txt are skipped; an empty cell becomes " ", as in SimCSE's code."""
    if kind(file) == ".txt":
        if columns is not None:
            raise UserError(f"data.columns={columns}: {file} is plain text and has no columns")
        return ((line,) for _, line in lines_of(file, encoding) if line)
    if columns is None:
        raise UserError(f"data.columns is not set: {file} has columns {', '.join(columns_of(file, encoding))}")
    missing = [name for name in columns if name not in columns_of(file, encoding)]
    if missing:
        there = ", ".join(columns_of(file, encoding))
        raise UserError(f"data.columns={columns}: {file} has no column {', '.join(missing)}; it has {there}")
    return {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}[kind(file)](file, columns, encoding)


def lines_of(file: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """(line number, text without its end). Raises UserError at the first line that is not in the encoding."""
    number = 0
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else open(file, "rb") as lines:
            for number, line in enumerate(lines, 1):
                yield number, line.decode(encoding).strip("\r\n\ufeff" if number == 1 else "\r\n")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UserError(
            f"{file}, line {number}: byte 0x{byte:02x} is not {encoding}; convert the file or set data.encoding"
        ) from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{file}, after line {number}: the gzip file is damaged ({error})") from error


def columns_of(file: Path, encoding: str) -> list[str]:
    """The column names that a file announces."""
    if kind(file) == ".parquet":
        import pyarrow.parquet as pq

        try:
            return pq.read_schema(file).names
        except (OSError, ValueError) as error:
            raise UserError(f"{file} is not a Parquet file: {error}") from error
    _, first = next(lines_of(file, encoding))
    if kind(file) == ".jsonl":
        return list(_json_object(file, 1, first))
    return next(csv.reader([first], delimiter="\t" if kind(file) == ".tsv" else ","))


def _csv(file: Path, columns: list[str], encoding: str) -> Iterator[tuple[str, ...]]:
    lines = (line + "\n" for _, line in lines_of(file, encoding))
    table = csv.reader(lines, delimiter="\t" if kind(file) == ".tsv" else ",")
    header = next(table)
    places = [header.index(name) for name in columns]
    for row in table:
        if len(row) != len(header):
            raise UserError(f"{file}, line {table.line_num}: {len(row)} fields, but the header has {len(header)}")
        yield tuple(row[place] or " " for place in places)


def _jsonl(file: Path, columns: list[str], encoding: str) -> Iterator[tuple[str, ...]]:
    for number, line in lines_of(file, encoding):
        if line.strip():
            row = _json_object(file, number, line)
            missing = [name for name in columns if name not in row]
            if missing:
                raise UserError(f"{file}, line {number}: the object has no {', '.join(missing)}")
            yield tuple(str(row[name]) if row[name] not in (None, "") else " " for name in columns)


def _json_object(file: Path, number: int, line: str) -> dict:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{file}, line {number}: not JSON ({error.msg} at column {error.colno})") from error
    if not isinstance(row, dict):
        raise UserError(f"{file}, line {number}: a JSON object is wanted, one a line")
    return row


def _parquet(file: Path, columns: list[str], encoding: str) -> Iterator[tuple[str, ...]]:
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(file).iter_batches(columns=columns):
        for row in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
            yield tuple(str(cell) if cell not in (None, "") else " " for cell in row)
