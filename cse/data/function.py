"""Training text from a function (data.rows): its rows are checked, and its errors say how far it has come."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from inspect import getmodule, isclass, isroutine
from pathlib import Path

from cse.errors import RunError, UserError, class_name, in_short
from cse.files import sha256

RowsFunction = Callable[[], Iterator[tuple[str, ...]]]


def made_by(function: RowsFunction) -> Callable[..., object]:
    """The function or class that was named: without its settings, or of an object that is called."""
    named = function.func if isinstance(function, partial) else function
    return named if isroutine(named) or isclass(named) else type(named)


def version_of(function: RowsFunction) -> tuple[str, str, str]:
    """What the rows of a function follow from beside its data: its name, a checksum of its file, and its settings."""
    named = made_by(function)
    given = (function.args, function.keywords) if isinstance(function, partial) else ()
    module = getmodule(named)
    file = vars(module).get("__file__") if module else None  # none of what is built into Python
    settings = json.dumps(given, sort_keys=True, default=lambda value: class_name(type(value)))
    return class_name(named), sha256(Path(file)) if file else "", settings


def rows_by(function: RowsFunction, where: str) -> Iterator[tuple[str, ...]]:
    """What a function of the user's own (data.rows) yields, unchecked; whatever it raises becomes a UserError."""
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
        raise UserError(f"{where}, after row {count}: {name} raised {in_short(error)}: mend it, or its data") from error


def check_row(row: object, names: Sequence[str], where: str) -> None:
    """Raise UserError unless a row has a text for each column. names: of the columns."""
    if not isinstance(row, tuple | list):
        raise UserError(f"{where}: {row!r:.40} is {type(row).__name__}, not a tuple with a text for each column")
    if len(row) != len(names):
        asked = f"`columns`=[{','.join(names)}] asks for {len(names)}"
        raise UserError(f"{where}: a {type(row).__name__} of {len(row)}, where {asked}")
    for name, cell in zip(names, row, strict=True):
        if not isinstance(cell, str):
            raise UserError(f"{where}: {name} is {cell!r:.40}, of type {type(cell).__name__}, not text")
