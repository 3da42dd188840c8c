"""Read the rows of text in one file: .txt, .csv, .tsv, .jsonl (each also .gz) or .parquet.

`read_rows` reads a file of any format. The functions for all formats follow, then the functions for each format: lines
of text, .csv and .tsv, .jsonl, .parquet. If a library cannot read a file, the library's error becomes a UserError that
names the file and the line (for Parquet the row).
"""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from cse.data.columns import Columns, Row, cells_of_row, check_columns, column_of, names_of
from cse.data.listing import GZIP, ending_of
from cse.errors import UserError, first_line
from cse.files import sha256

DELIMITERS = ",;\t"
MAX_CELL = 2**26  # the most characters of a cell in .csv or .tsv, because a quote may be unclosed

Record = tuple[str, Mapping[str, object]]
"""An unchecked row of a file: ("line N" or, in Parquet, "row N"; {column: cell})."""


def read_rows(file: Path, columns: Columns | None, encoding: str) -> Iterator[Row]:
    """Return an iterator over the rows of a file. Skips empty lines. An empty cell becomes " ", as in SimCSE's code.

    Raises UserError at once for a column that the file does not have. The iterator raises UserError for a damaged row.
    """
    if ending_of(file) == ".txt":
        if columns is not None:
            why = f"{file} is plain text and has no columns"
            raise UserError(why, key="columns", value=f"[{','.join(names_of(columns))}]")
        return ((line,) for _, line in lines_of(file, encoding) if line)
    read = check_columns(columns, header_of(file, encoding), str(file))
    return (cells_of_row(row, read, f"{file}, {place}") for place, row in records_of(file, read, encoding))


def header_of(file: Path, encoding: str) -> list[str]:
    """Return a file's column names; for .jsonl, the keys of the first object. Raises UserError for an empty file."""
    match ending_of(file):
        case ".parquet":
            return parquet_columns(file)
        case ".jsonl":
            names = next((list(row) for _, row in json_objects(file, encoding)), None)
        case _:
            names = next((cells for _, cells in table_lines(file, encoding)), None)
    if names is None:
        raise UserError(f"{file} is empty")
    return names


def records_of(file: Path, columns: Columns, encoding: str) -> Iterator[Record]:
    """Return an iterator over the rows of a file that has columns. For Parquet, only `columns` are read."""
    match ending_of(file):
        case ".parquet":
            header = parquet_columns(file)
            held = (column_of(name, header) for name in names_of(columns))
            return parquet_rows(file, list(dict.fromkeys(filter(None, held))))
        case ".jsonl":
            return json_objects(file, encoding)
        case _:
            return table_rows(file, encoding)


# For every format


@contextmanager
def reading(file: Path, place: Callable[[], str] | None = None) -> Iterator[None]:
    """Raise a UserError for any library's error in a block that reads `file`. place: returns "line 7" or similar."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the errors of gzip, zlib, csv, json and pyarrow have no common base class
        where = f"{file}, {place()}" if place else str(file)
        encoded = "write the file again as UTF-8 or set `encoding`"
        mended = encoded if isinstance(error, UnicodeError) else "repair this place, or write the file again"
        raise UserError(f"{where}: cannot be read ({first_line(error)})", instead=mended) from error


def checksums_of(files: Iterable[Path]) -> dict[str, str]:
    """Return {path: SHA-256} of the files."""
    found = {}
    for file in files:
        with reading(file):
            found[str(file)] = sha256(file)
    return found


def check_unchanged(file: Path, before: str, now: str) -> None:
    """Raise UserError if the SHA-256 of a file has changed while the file was read."""
    if before != now:
        raise UserError(f"{file} has changed while it was being read: wait until it is complete, then start again")


# Lines


def lines_of(file: Path, encoding: str, ends: str = "") -> Iterator[tuple[int, str]]:
    """Yield (line number, text without line end) for each line of a plain or gzipped file; see `whole_lines_of`."""
    return ((number, line.strip("\r\n")) for number, line in whole_lines_of(file, encoding, ends))


def whole_lines_of(file: Path, encoding: str, ends: str = "") -> Iterator[tuple[int, str]]:
    """Yield (line number, text with its line end) for each line of a plain or gzipped file.

    encoding: must leave ASCII unchanged. ends: where a line ends. "": at LF, CR LF or a lone CR; byte order marks are
    then dropped, also inside joined files. "\\n": only at LF, as in published corpora. Raises UserError for a file that
    cannot be read or is UTF-16, and at the first line that is not in the encoding. For a damaged .gz the error names
    the last good line, or line 1 if there is none.
    """
    number = 0
    opened = gzip.open if file.suffix.lower() == GZIP else open
    with (
        reading(file, lambda: f"line {max(1, number)}"),
        opened(file, "rb") as content,
        io.TextIOWrapper(content, "latin-1", newline=ends) as lines,  # each character is one byte
    ):
        for number, line in enumerate(lines, 1):
            if number == 1 and is_wide(line):
                again = "write the file again as UTF-8 (iconv -f UTF-16 -t UTF-8 OLD > NEW)"
                raise UserError(f"{file} is UTF-16 or UTF-32: {again}")
            text = line.encode("latin-1").decode(encoding)
            if not ends or number == 1:
                text = text.replace("\ufeff", "")
            yield number, text


def is_wide(line: str) -> bool:
    """Return whether a file is UTF-16 or UTF-32. line: the first line of the file, each byte as a character."""
    halves = [set(line[start:16:2]) for start in (0, 1)]  # in English text every other byte is NUL
    return line.startswith(("\xff\xfe", "\xfe\xff")) or (len(line) > 3 and {"\0"} in halves)


# .csv and .tsv


def table_rows(file: Path, encoding: str) -> Iterator[Record]:
    """Yield each row of a .csv or .tsv file. Raises UserError for missing or surplus cells, and for a second header."""
    table = table_lines(file, encoding)
    _, header = next(table)
    for place, row in table:
        if len(row) != len(header):
            why = f"{file}, {place}: the number of fields is {len(row)}, but the header has {len(header)}"
            if len(row) > len(header):
                why += "; a cell that contains the delimiter must be in quotes"
            else:
                why += "; add the missing fields (a field may be empty), or delete this line"
            raise UserError(why)
        if row == header and len(row) > 1:
            raise UserError(f"{file}, {place}: this line repeats the header: delete it")
        yield place, dict(zip(header, row, strict=True))


def table_lines(file: Path, encoding: str) -> Iterator[tuple[str, list[str]]]:
    """Yield ("line N" where a row begins, cells) for each row of a .csv or .tsv file, header first. Skips empty lines.

    The delimiter is a comma, or a tab for .tsv. Some programs write semicolons. So if the header lacks the delimiter,
    the first of DELIMITERS in the header is the delimiter. Quotes are parsed strictly. Otherwise an unclosed quote
    would make one cell of all rows after it. A line end within quotes is part of the text.
    """
    csv.field_size_limit(MAX_CELL)
    lines = (line for _, line in whole_lines_of(file, encoding))
    empty: list[str] = []
    header = next(lines, "")
    while header and not header.strip("\r\n"):
        empty.append(header)
        header = next(lines, "")
    of_kind = "\t" if ending_of(file) == ".tsv" else ","
    delimiter = next((sign for sign in (of_kind, *DELIMITERS) if sign in header), of_kind)
    reader = csv.reader(chain(empty, [header], lines), delimiter=delimiter, strict=True)
    begin = 1
    try:
        for row in reader:
            if reader.line_num > begin and delimiter == "\t":  # many .tsv files do not quote: this quote is text
                raise UserError(
                    f"{file}, line {begin}: a quote opens here and is closed in line {reader.line_num}, so these lines "
                    "are one row: if that is intended, write the file as .csv or .jsonl; if not, remove the quote"
                )
            if row:  # not an empty line
                yield f"line {begin}", row
            begin = reader.line_num + 1
    except csv.Error as error:  # `whole_lines_of` reports all other errors
        raise UserError(
            f"{file}, line {begin}: a quote opens in the row that begins here, and is never closed "
            f'({error}): close it, and write a quote within quotes twice ("")'
        ) from error


# .jsonl


def json_objects(file: Path, encoding: str) -> Iterator[Record]:
    """Yield each object of a .jsonl file."""
    number = 0
    with reading(file, lambda: f"line {number}"):
        for number, line in lines_of(file, encoding):
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise UserError(f"{file}, line {number}: not a JSON object; every line must be one")
            yield f"line {number}", row


# .parquet


def parquet_columns(file: Path) -> list[str]:
    """Return the names of a Parquet file's columns."""
    import pyarrow.parquet as pq

    with reading(file):
        return pq.read_schema(file).names


def parquet_rows(file: Path, columns: list[str]) -> Iterator[Record]:
    """Yield each row of a Parquet file."""
    import pyarrow.parquet as pq

    number = 0
    with reading(file, lambda: f"after row {number}"), pq.ParquetFile(file) as table:
        for batch in table.iter_batches(columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", row
