"""The columns to read from a file, and the cells of a row in these columns.

check_columns    check that a file has each requested column
cells_of_row     return the cells of a row as text
ScoreColumn      a column of numbers in addition to the columns of text
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cse.errors import UserError

EMPTY = " "  # as SimCSE's code reads an empty cell
LARGEST = 3e38  # scores are kept as float32

Row = tuple[str, ...]
"""A row of text: the text of each column, then the score if there is one."""


class ScoreColumn(NamedTuple):
    """A column of numbers. name: the column's name. ends: the lowest and the highest valid number, scaled to 0 and 1;
    None: every number is valid and stays unchanged."""

    name: str
    ends: tuple[float, float] | None

    def cell(self, cell: object, place: str) -> str:
        """Return the scaled number as text. Raises UserError if the cell is not a number or is outside `ends`.

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
                "ends of the scale, or to null to accept any number"
            )
        return repr((value - low) / (high - low))

    def in_words(self, scaled: float) -> str:
        """Return "NAME 4.2, scaled to 0.84": the number as in the file, then `scaled`, the number for the objective."""
        if self.ends is None:
            return f"{self.name} {scaled:g}"
        low, high = self.ends
        return f"{self.name} {low + (high - low) * scaled:g}, scaled to {scaled:g}"


Columns = Sequence[str | ScoreColumn]
"""The columns to read, in order. A str is the name of a column of text; a ScoreColumn is a column of numbers."""


def names_of(columns: Columns) -> list[str]:
    """Return the names of all columns, of text and of numbers."""
    return [column if isinstance(column, str) else column.name for column in columns]


def check_columns(columns: Columns | None, header: Sequence[str], file: str) -> Columns:
    """Return the columns. Raises UserError if they are None, or if the header of `file` lacks or repeats a column."""
    there = ", ".join(name if name and name.isprintable() and name == name.strip() else repr(name) for name in header)
    if file.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        there += " (its first line must name the columns)"
    if columns is None:
        why = f"`columns` is not set: {file} has the columns {there}"
        raise UserError(why, instead="name the columns of text: `columns`=[A,B]")
    for column in columns:
        key, name = ("columns", column) if isinstance(column, str) else ("scores", column.name)
        if header.count(name) != 1:
            count = "several columns named" if name in header else "no column"
            why = f"{file} has {count} {name}; it has {there}"
            raise UserError(why, key=key, value=name, instead=f"set `{key}` to columns of the file")
    return columns


def cells_of_row(row: Mapping[str, object], columns: Columns, where: str) -> Row:
    """Return the cells of a row as text; an empty cell becomes " ". where: the file and the row, for messages.

    Raises UserError for a missing cell, for a cell that is not text (a number, a list, an object), and for half a
    surrogate pair. For a column of scores, raises the errors of ScoreColumn.cell.
    """
    if missing := [name for name in names_of(columns) if name not in row]:
        raise UserError(f"{where} has no column {', '.join(missing)}")
    cells = []
    for column in columns:
        if isinstance(column, str):
            cells.append(text_of_cell(row[column], f"{where}: {column}"))
        else:
            cells.append(column.cell(row[column.name], where))
    return tuple(cells)


def text_of_cell(cell: object, where: str) -> str:
    """Return a cell as text; see `cells_of_row`."""
    if cell is None or cell == "":
        return EMPTY
    if not isinstance(cell, str):
        raise UserError(f"{where} holds {repr(cell)[:40]}, not text")
    if not cell.isascii():
        try:
            cell.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{where} holds half of a surrogate pair ({error.reason}): repair the text") from error
    return cell
