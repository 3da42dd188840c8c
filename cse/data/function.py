"""A function that yields rows, such as a user's function (data.rows): its rows, settings and version."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import getmodule, isclass, isroutine
from pathlib import Path

from cse.data.columns import Row
from cse.errors import RunError, UserError, class_name, in_short
from cse.files import sha256

RowsFunction = Callable[[], Iterator[Row]]


def rows_by(function: RowsFunction, where: str) -> Iterator[Row]:
    """Yield the unchecked rows of a user's function. Any error of the function except RunError becomes a UserError."""
    if not callable(function):
        raise UserError(f"{where}: `rows` must be a function, not its result: the YAML of `rows` needs _partial_: true")
    name, count = class_name(made_by(function)), 0
    try:
        rows = function()
        if not isinstance(rows, Iterable):
            raise UserError(f"{where}: {name} must yield rows, each a tuple of texts, not return {rows!r:.40}")
        for row in rows:
            yield row
            count += 1
    except (UserError, RunError):
        raise
    except Exception as error:
        said = f"{name} raised {in_short(error)}: fix the function, or its data"
        raise UserError(f"{where}, after row {count}: {said}") from error


def check_row(row: object, names: Sequence[str], where: str) -> None:
    """Raise UserError unless a row is a tuple or list with one text per column. names: the names of the columns."""
    if not isinstance(row, tuple | list):
        raise UserError(f"{where}: {row!r:.40} is {type(row).__name__}, not a tuple with a text for each column")
    if len(row) != len(names):
        asked = f"`columns`=[{','.join(names)}] asks for {len(names)}"
        raise UserError(f"{where}: a {type(row).__name__} of length {len(row)}, but {asked}")
    for name, cell in zip(names, row, strict=True):
        if not isinstance(cell, str):
            raise UserError(f"{where}: {name} is {cell!r:.40}, of type {type(cell).__name__}, not text")


def made_by(function: RowsFunction) -> Callable[..., object]:
    """Return the function without its settings, or the class of a callable object."""
    named = function.func if isinstance(function, partial) else function
    return named if isroutine(named) or isclass(named) else type(named)


def keywords_of(function: RowsFunction) -> dict[str, object]:
    """Return {name: value} of the settings that a YAML gives to the function."""
    return function.keywords if isinstance(function, partial) else {}


def copies_in(settings: Mapping[str, object]) -> dict[str, str]:
    """Return {"rows.file" or "rows.folder": path of a local copy} from the settings of a corpus's function."""
    return {f"rows.{key}": str(settings[key]) for key in ("file", "folder") if settings.get(key)}


def version_of(function: RowsFunction) -> tuple[str, str, str]:
    """Return (name, checksum of the Python file, settings) of a function. These and the data determine the rows."""
    named = made_by(function)
    given = (function.args, function.keywords) if isinstance(function, partial) else ()
    module = getmodule(named)
    file = vars(module).get("__file__") if module else None  # a built-in of Python has no file
    settings = json.dumps(given, sort_keys=True, default=lambda value: class_name(type(value)))
    return class_name(named), sha256(Path(file)) if file else "", settings
