"""Rows of text from a user's file: .txt, .csv, .tsv, .jsonl (each also .gz), .parquet, or a folder of them.

Every reader yields rows: tuples of str, with one text per column. If a library cannot read a file, its error becomes a
UserError with the file and the line (for Parquet the row).
"""

import csv
import gzip
import io
import json
import logging
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from cse.data.listing import list_files, unread_in_words
from cse.errors import MissingResource, UserError, first_line, naming, within
from cse.needs import FileNeed, Place
from cse.ranges import text_encoding
from cse.sources import hub

log = logging.getLogger(__name__)

KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
GZIP = ".gz"
DELIMITERS = ",;\t"
MAX_CELL = 2**26  # characters of a cell of .csv or .tsv; a limit for an unclosed quote
EMPTY = " "  # as SimCSE's code reads an empty cell

LARGEST = 3e38  # scores are kept as float32

Row = tuple[str, ...]
"""A row of text: the text of each column, then the score if there is one."""

Record = tuple[str, Mapping[str, object]]
"""A row in a file, unchecked: its place there, and its cells by column."""


class ScoreColumn(NamedTuple):
    """name: the name of the column. ends: the lowest and the highest number; they become 0 and 1. None: any number,
    unchanged."""

    name: str
    ends: tuple[float, float] | None

    def cell(self, cell: object, place: str) -> str:
        """The scaled number, as text. Raises UserError if the cell is not a number or is outside `ends`.

        place: the file and row, for the message.
        """
        number = "" if isinstance(cell, bool) or "_" in str(cell) else cell  # only Python reads 1_0 as a number
        try:
            value = float(number) if isinstance(number, str | int | float) else math.nan
        except (ValueError, OverflowError):
            value = math.nan
        if not abs(value) <= LARGEST:
            why = f"{place}: {self.name} holds {repr(cell)[:40]}, not a number (`scores`={self.name})"
            if re.fullmatch(r"-?\d+,\d+", str(cell)):
                why += "; its decimal sign must be a point"
            raise UserError(why)
        if self.ends is None:
            return repr(value)
        low, high = self.ends
        if not low <= value <= high:
            raise UserError(
                f"{place}: {self.name} is {value:g}, outside `score_range`=[{low:g},{high:g}]: set score_range to the "
                "ends of the scale, or to null for any numbers"
            )
        return repr((value - low) / (high - low))

    def in_words(self, scaled: float) -> str:
        """The number of a row as in its column, and the scaled number for the objective."""
        if self.ends is None:
            return f"{self.name} {scaled:g}"
        low, high = self.ends
        return f"{self.name} {low + (high - low) * scaled:g}, scaled to {scaled:g}"


Columns = Sequence[str | ScoreColumn]
"""The columns to read, in this order: the name of a column of text, or a column of numbers."""


class FilesNeed(FileNeed):
    """A file of text, or a folder of such files."""

    def check(self) -> None:
        """See Need. Raises UserError for a folder or a file of another kind."""
        with naming(path=self.key):
            files_of(self.path, tell=False)


@dataclass(frozen=True)
class TextNeed(FilesNeed):
    """Text of the user's own: a file, a folder of files or, if `repo` is set, a dataset of the hub.

    columns: the columns of text that it must have; None: not known. subset, split: of the dataset.
    """

    columns: list[str] | None = field(default=None, compare=False, kw_only=True)
    encoding: str = field(default="utf-8", compare=False, kw_only=True)
    repo: hub.Repo | None = field(default=None, compare=False, kw_only=True)
    subset: str | None = field(default=None, compare=False, kw_only=True)
    split: str = field(default="train", compare=False, kw_only=True)

    def check(self) -> None:
        """See Need. Opens only the first file. Raises UserError if it cannot be read or lacks a column."""
        if self.repo is not None:
            return
        with naming(path=self.key):
            first = files_of(self.path, tell=False)[0]
        with within(self.key.rpartition(".")[0]):
            try:
                text_encoding(self.encoding)
            except ValueError as error:
                raise UserError(str(error), key="encoding", value=self.encoding) from error
            read_rows(first, self.columns, self.encoding)

    def find(self) -> Place:
        """See Need."""
        return super().find() if self.repo is None else hub.find_prepared(self.name, self.subset or "default")

    def fetch(self) -> Place:
        """See Need."""
        if self.repo is not None:
            hub.fetch_split(self.repo, self.subset, self.split)
        return self.find()


def names_typed(columns: object) -> list[str] | None:
    """The names of columns in settings that may not be checked yet; None if there are none."""
    if columns is None:
        return None
    return [*map(str, columns)] if isinstance(columns, list) else [str(columns)]


def is_on_hub(path: str) -> bool:
    """Whether data.path means OWNER/NAME on the hub, not a file or folder."""
    local = Path(path).expanduser()
    if os.path.exists(local) or path.startswith((".", "~")):
        return False
    return path.count("/") == 1 and local.suffix.lower() not in (*KINDS, GZIP)  # a name may have a dot: lab/table-2.5


def files_of(path: Path, *, tell: bool = True) -> list[Path]:
    """The file, or the readable files of a folder (see cse.data.listing), sorted by name.

    tell: log which files of a folder are not read. Raises MissingResource if `path` does not exist, UserError if there
    is no file to read or a file is empty.
    """
    if not os.path.exists(path):  # False, too, for a name that is too long
        raise MissingResource("there is no such file or folder", key="path", value=path)
    files = [path]
    if path.is_dir():
        files, others = list_files(path, lambda file: ending_of(file) in KINDS)
        if others and tell:
            log.warning("%s: %s", path, unread_in_words(path, others))
    if not files:
        raise UserError(f"no {', '.join(KINDS)} file (or .gz of one) is in this folder", key="path", value=path)
    for file in files:
        if ending_of(file) not in KINDS:
            why = f"the ending is not one of {', '.join(KINDS)}, with or without .gz"
            raise UserError(why, key="path", value=file)
        if file.stat().st_size == 0:
            raise UserError("the file is empty", key="path", value=file)
    return files


def ending_of(file: Path) -> str:
    """The ending that says how to read a file, in small letters, without .gz."""
    return Path(file.stem if file.suffix.lower() == GZIP else file.name).suffix.lower()


def read_rows(file: Path, columns: Columns | None, encoding: str) -> Iterator[Row]:
    """The rows of one file. Empty lines are skipped. An empty cell becomes " ", as in SimCSE's code.

    Raises UserError at once for columns that the file does not have, and later, while rows are read, for a damaged row.
    """
    if ending_of(file) == ".txt":
        if columns is not None:
            why = f"{file} is plain text and has no columns"
            raise UserError(why, key="columns", value=f"[{','.join(names_of(columns))}]")
        return ((line,) for _, line in lines_of(file, encoding) if line)
    read = check_columns(columns, header_of(file, encoding), str(file))
    return (cells_of_row(row, read, f"{file}, {place}") for place, row in _records(file, read, encoding))


def check_columns(columns: Columns | None, header: Sequence[str], file: str) -> Columns:
    """The columns. Raises UserError unless the header of the file, or of the hub's dataset, has each exactly once."""
    there = ", ".join(name if name and name.isprintable() and name == name.strip() else repr(name) for name in header)
    if columns is None:
        raise UserError(
            f"`columns` is not set: {file} has the columns {there} (a CSV's columns are its first line)",
            instead="name one to three: `columns`=[A,B]",
        )
    for column in columns:
        key, name = ("columns", column) if isinstance(column, str) else ("scores", column.name)
        if header.count(name) != 1:
            count = "several columns" if name in header else "no column"
            why = f"{file} has {count} {name}; it has {there}"
            raise UserError(why, key=key, value=name, instead=f"name them: `{key}`=")
    return columns


@contextmanager
def reading(file: Path, place: Callable[[], str] | None = None) -> Iterator[None]:
    """A block that reads the file. Any library's error in it becomes a UserError. place: the place reached so far."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the errors of gzip, zlib, csv, json and pyarrow have no common base class
        where = f"{file}, {place()}" if place else str(file)
        encoded = "write the file again as UTF-8 or set `encoding`"
        mended = encoded if isinstance(error, UnicodeError) else "repair this place, or write the file again"
        raise UserError(f"{where}: cannot be read ({first_line(error)})", instead=mended) from error


def check_unchanged(file: Path, before: str, now: str) -> None:
    """Raise UserError if reading a file gave another SHA-256 than before."""
    if before != now:
        raise UserError(f"{file} has changed while it was being read: wait until it is complete, then start again")


def lines_of(file: Path, encoding: str, ends: str = "") -> Iterator[tuple[int, str]]:
    """(line number, text without line end) of a plain or gzipped file; see `whole_lines_of`."""
    return ((number, line.strip("\r\n")) for number, line in whole_lines_of(file, encoding, ends))


def whole_lines_of(file: Path, encoding: str, ends: str = "") -> Iterator[tuple[int, str]]:
    """(line number, text with its line end) of a plain or gzipped file. All text files are read here.

    encoding: must leave ASCII unchanged. ends: "": a line ends at LF, CR LF or a lone CR, and byte order marks are
    dropped, also inside joined files; "\\n": a line ends at LF only, as in published corpora. Raises UserError for a
    file that cannot be read or is UTF-16, and at the first line that is not in the encoding. For a damaged .gz the
    error names the last good line.
    """
    number = 0
    opened = gzip.open if file.suffix.lower() == GZIP else open
    with (
        reading(file, lambda: f"line {number}"),
        opened(file, "rb") as content,
        io.TextIOWrapper(content, "latin-1", newline=ends) as lines,  # each character is one byte
    ):
        for number, line in enumerate(lines, 1):
            if number == 1 and is_wide(line):
                raise UserError(f"{file} is UTF-16 or UTF-32: write the file again as UTF-8")
            text = line.encode("latin-1").decode(encoding)
            if not ends or number == 1:
                text = text.replace("\ufeff", "")
            yield number, text


def is_wide(line: str) -> bool:
    """Whether a file is UTF-16 or UTF-32. line: its first line, each byte as a character."""
    halves = [set(line[start:16:2]) for start in (0, 1)]  # in English text every other byte is NUL
    return line.startswith(("\xff\xfe", "\xfe\xff")) or (len(line) > 3 and {"\0"} in halves)


def header_of(file: Path, encoding: str) -> list[str]:
    """The column names of a file; for .jsonl the keys of the first object. Raises UserError for an empty file."""
    if ending_of(file) == ".parquet":
        import pyarrow.parquet as pq

        with reading(file):
            return pq.read_schema(file).names
    first = next(_objects(file, encoding) if ending_of(file) == ".jsonl" else _table(file, encoding), None)
    if first is None:
        raise UserError(f"{file} is empty")
    return list(first[1])


def names_of(columns: Columns) -> list[str]:
    """The names of all columns: text and numbers."""
    return [column if isinstance(column, str) else column.name for column in columns]


def _records(file: Path, columns: Columns, encoding: str) -> Iterator[Record]:
    if ending_of(file) == ".parquet":
        yield from _parquet(file, names_of(columns))
    elif ending_of(file) == ".jsonl":
        yield from _objects(file, encoding)
    else:
        table = _table(file, encoding)
        _, header = next(table)
        for place, row in table:
            if len(row) != len(header):
                why = f"{file}, {place}: fields {len(row)}, but the header has {len(header)}"
                if len(row) > len(header):
                    why += "; a cell that contains the delimiter must be in quotes"
                raise UserError(why)
            if row == header and len(row) > 1:
                raise UserError(
                    f"{file}, {place}: this line repeats the header; delete it (it is left over from joined files)"
                )
            yield place, dict(zip(header, row, strict=True))


def _table(file: Path, encoding: str) -> Iterator[tuple[str, list[str]]]:
    """(first line, cells) of each row of a .csv or .tsv file, the header first.

    The delimiter is a comma, or a tab for .tsv. If the header has none, it is the first of DELIMITERS in the header:
    some programs write semicolons. Quotes are parsed strictly: otherwise an unclosed quote would swallow all rows after
    it. A line end within quotes is part of the text.
    """
    csv.field_size_limit(MAX_CELL)
    lines = (line for _, line in whole_lines_of(file, encoding))
    header, of_kind = next(lines, ""), "\t" if ending_of(file) == ".tsv" else ","
    delimiter = next((sign for sign in (of_kind, *DELIMITERS) if sign in header), of_kind)
    reader = csv.reader(chain([header], lines), delimiter=delimiter, strict=True)
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
    except csv.Error as error:  # `lines_of` reports all other errors
        raise UserError(
            f"{file}, line {begin}: a quote opens in the row that begins here, and is never closed "
            f'({error}): close it, and write a quote within quotes twice ("")'
        ) from error


def _objects(file: Path, encoding: str) -> Iterator[Record]:
    """Each object of a .jsonl file."""
    number = 0
    with reading(file, lambda: f"line {number}"):
        for number, line in lines_of(file, encoding):
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise UserError(f"{file}, line {number}: not a JSON object; every line must be one")
            yield f"line {number}", row


def _parquet(file: Path, columns: list[str]) -> Iterator[Record]:
    """Each row of a Parquet file."""
    import pyarrow.parquet as pq

    number = 0
    with reading(file, lambda: f"after row {number}"), pq.ParquetFile(file) as table:
        for batch in table.iter_batches(columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", row


def cells_of_row(row: Mapping[str, object], columns: Columns, where: str) -> Row:
    """The cells of a row as text; an empty cell becomes " ". where: the file and the row, for messages.

    Raises UserError for a missing cell, for a cell that is not text (a number, a list, an object), and for half a
    surrogate pair. In a column of scores, raises UserError for a cell that is not a number.
    """
    if missing := [name for name in names_of(columns) if name not in row]:
        raise UserError(f"{where}: {', '.join(missing)} is missing")
    cells = []
    for column in columns:
        if isinstance(column, str):
            cells.append(text_of_cell(row[column], f"{where}: {column}"))
        else:
            cells.append(column.cell(row[column.name], where))
    return tuple(cells)


def text_of_cell(cell: object, where: str) -> str:
    """One cell of `cells_of_row`."""
    if cell is None or cell == "":
        return EMPTY
    if not isinstance(cell, str):
        raise UserError(f"{where} holds {repr(cell)[:40]}, not text")
    if not cell.isascii():
        try:
            cell.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{where} holds half a character ({error.reason})") from error
    return cell
