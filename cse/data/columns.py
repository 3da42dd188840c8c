"""The columns to read from a file, and the cells of a row in these columns.

check_columns    check that a file has each requested column
cells_of_row     return the cells of a row as text
cell_of          return a cell of a row, also an item of a list or a value of an object
ScoreColumn      a column of numbers in addition to the columns of text
"""

import math
import re
import reprlib
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from cse.errors import UserError

EMPTY = " "  # as SimCSE's code reads an empty cell
LARGEST = 3e38  # scores are kept as float32

SHOWN_ITEMS = 5  # a message names at most this many items of a list

ITEM = re.compile("_[1-9][0-9]*$")
"""The end of the name of a list's item: `negative_2` is the second item of `negative`."""

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
            why = f"{place}: {self.name} holds {reprlib.repr(cell)}, not a number (`scores`={self.name})"
            if re.fullmatch(r"-?\d+,\d+", str(cell)):
                why += "; its decimal sign must be a point"
            else:
                why += "; write a number in every row, or set `scores` to a column of numbers"
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
    """Return the columns. Raises UserError if they are None, or if the header of `file` lacks or repeats a column.

    Except in .csv and .tsv, a column may also be an item of a list or a value of an object; see `cell_of`.
    """
    shown = [name if name and name.isprintable() and name == name.strip() else repr(name) for name in header]
    there = ", ".join(shown)
    is_table = file.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    if is_table:
        there += " (its first line must name the columns)"
    if columns is None:
        why = f"`columns` is not set: {file} has the column{'s' * (len(header) > 1)} {there}"
        instead = "name the columns of text: `columns`=[A] for single texts, [A,B] for pairs"
        if len(header) == 1:
            instead = f"`columns`=[{shown[0]}] reads single texts; objectives that read pairs need a second column"
        raise UserError(why, instead=instead)
    for column in columns:
        key, name = ("columns", column) if isinstance(column, str) else ("scores", column.name)
        held = name if is_table else column_of(name, header)
        if held is None or header.count(held) != 1:
            count = "several columns named" if name in header else "no column"
            why = f"{file} has {count} {name}; it has {there}"
            raise UserError(why, key=key, value=name, instead=f"set `{key}` to columns of the file")
    return columns


def cells_of_row(row: Mapping[str, object], columns: Columns, where: str) -> Row:
    """Return the cells of a row as text; an empty cell becomes " ". where: the file and the row, for messages.

    Raises UserError for a missing cell, for a cell that is not text (a number, a list, an object), and for half a
    surrogate pair. For a column of scores, raises the errors of ScoreColumn.cell.
    """
    cells = []
    for name in names_of(columns):
        try:
            cells.append(row[name] if name in row else cell_of(row, name))
        except LookupError as error:
            raise UserError(f"{where} has no column {name}: add it to this row, or delete the row") from error
    return tuple(
        [
            text_of_cell(cell, where, column, columns, cells) if isinstance(column, str) else column.cell(cell, where)
            for column, cell in zip(columns, cells, strict=True)
        ]
    )


def cell_of(row: Mapping[str, object], name: str) -> object:
    """Return the cell of the column `name`, a value of an object in a column, or an item of a list in a column.

    `query.text` is the value of the key `text` in an object. `negative_2` is the second item of the list `negative`,
    or None if the list is shorter. Both may be combined. Raises LookupError if the row has no such cell.

        >>> cell_of({"query": {"text": "a"}, "negative": ["b", "c"]}, "negative_2")
        'c'
    """
    column = column_of(name, row)
    if column is None:
        raise KeyError(name)
    cell, (inside, _, key) = row[column], name[len(column) :].partition(".")
    if inside and cell is not None:
        if not isinstance(cell, list):
            raise KeyError(name)
        number = int(inside[1:])
        cell = cell[number - 1] if number <= len(cell) else None
    if key and cell is not None:
        if not isinstance(cell, Mapping):
            raise KeyError(name)
        cell = cell_of(cell, key)
    return cell


def column_of(name: str, header: Collection[str]) -> str | None:
    """Return the column that holds the cell `name`, see `cell_of`; None if the header has no such column."""
    first = name.partition(".")[0]
    candidates = (name, ITEM.sub("", name), first, ITEM.sub("", first))
    return next((column for column in candidates if column in header), None)


def text_of_cell(cell: object, where: str, name: str, columns: Columns, cells: Sequence[object]) -> str:
    """Return a cell of the column `name` as text; see `cells_of_row`. cells: the cells of the row, in all `columns`.

    The message names all columns, and the texts inside each of them.
    """
    if cell is None or cell == "":
        return EMPTY
    if not isinstance(cell, str):
        texts = [(column, one) for column, one in zip(columns, cells, strict=True) if isinstance(column, str)]
        instead, inside = "", {column: names_inside(one, column) for column, one in texts}
        if inside[name] != [name]:
            nested = [column for column, names in inside.items() if names != [column]]
            firsts, all_names = [names[0] for names in inside.values()], [*chain.from_iterable(inside.values())]
            instead = f"name the texts inside {' and '.join(nested)}: `columns`=[{','.join(firsts)}]"
            if firsts != all_names:
                instead += f" or, where more columns are possible, [{','.join(all_names)}]"
        raise UserError(f"{where}: {name} holds {reprlib.repr(cell)}, not text", instead=instead)
    if not cell.isascii():
        try:
            cell.encode()
        except UnicodeEncodeError as error:
            why = f"{where}: {name} holds half of a surrogate pair ({error.reason}): repair the text"
            raise UserError(why) from error
    return cell


def names_inside(cell: object, name: str) -> list[str]:
    """Return the names of the texts in a cell, see `cell_of`: the first items of a list, the first key of an object.

    >>> names_inside([{"text": "a"}, {"text": "b"}], "passages")
    ['passages_1.text', 'passages_2.text']
    """
    if isinstance(cell, list):
        items = enumerate(cell[:SHOWN_ITEMS] or [""], 1)
        return [inside for number, item in items for inside in names_inside(item, f"{name}_{number}")]
    if isinstance(cell, Mapping) and cell:
        key, value = next(iter(cell.items()))
        return names_inside(value, f"{name}.{key}")
    return [name]
