"""The values of an axis, which is an argument with several values.

    a grid's axis      KEY=A,B or KEY=range(A,B): every combination of the axes' values is a job
    a search's axis    KEY=interval(A,B) or KEY=int(interval(A,B)), also in tag(log,...); or KEY=A,B or KEY=choice(A,B)

First come the functions for a grid's axes. Then come the functions for a search's axis: the interval or the choices,
the checks, and the values that are checked before a start.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, merged, parse_argument

UNEVEN = 3.1
"""Divided by this number, the width of an interval is seldom a whole number. A key of integers refuses a fraction."""


def combinations(arguments: Iterable[Argument]) -> list[list[Argument]]:
    """Return the arguments of every combination of `key=a,b` and `key=range(...)`. Only a key's last argument counts.

    Raises UserError for key=interval(...), because an interval has no list of values.
    """
    return [list(row) for row in product(*(one_by_one(argument) for argument in merged(arguments)))]


def one_by_one(argument: Argument) -> list[Argument]:
    """Return an argument for each value, in Hydra's notation: 1e-05 for 1e-5. Raises UserError for an interval."""
    override = parse_argument(argument.text)
    if override.is_interval_sweep():
        raise UserError(f"{argument}: a range needs a search: add hydra/sweeper=smac")
    texts = override.sweep_string_iterator() if argument.is_axis else [override.get_value_element_as_str()]
    return [replace(argument, text=f"{override.get_key_element()}={text}") for text in texts]


# An axis of a search


class Interval(NamedTuple):
    """The range of an axis that may have any value between two ends. is_log: whether the search is over logarithms."""

    start: float
    end: float
    is_log: bool


def interval_of(argument: Argument) -> Interval | None:
    """Return the interval of key=interval(a,b), tag(log,interval(a,b)) or int(interval(a,b)); None for no interval."""
    from hydra.core.override_parser.types import IntervalSweep

    value = argument.parsed
    if not isinstance(value, IntervalSweep):
        return None
    assert value.start is not None  # Hydra's grammar wants both
    assert value.end is not None
    return Interval(value.start, value.end, is_log="log" in value.tags)


def choices_of(axis: Argument) -> list[str]:
    """Return the values of an axis that is not an interval."""
    return list(parse_argument(axis.text).sweep_string_iterator())


def check_range(axis: Argument) -> None:
    """Raise UserError for an axis of seeds, an interval without values, or a logarithmic interval from 0 or below."""
    if axis.key.rpartition(".")[2] == "seed":
        raise UserError(
            f"{axis}: a search over seeds finds the luckiest seed. Give one seed. The search's report has a command "
            "that trains the best setting with more seeds"
        )
    interval = interval_of(axis)
    if interval is None:
        return
    if interval.start >= interval.end or (interval.is_log and interval.start <= 0):
        raise UserError(f"{axis}: the first bound must be below the second, and above 0 if the range is logarithmic")


def values_to_try(axis: Argument) -> list[str]:
    """Return the choices of an axis, or the ends of its interval and, if they are floats, a value between them."""
    interval = interval_of(axis)
    if interval is None:
        return choices_of(axis)
    values = [interval.start, interval.end]
    if isinstance(interval.start, float):
        values.append(interval.start + (interval.end - interval.start) / UNEVEN)
    return [str(value) for value in values]


def first_values(arguments: Iterable[Argument]) -> list[Argument]:
    """Return the arguments with each axis at its first value, or at the lower end of its interval."""
    return [first_value(argument) for argument in merged(arguments)]


def first_value(argument: Argument) -> Argument:
    """Return the argument with one value: the first of its values, or the lower end of its interval."""
    interval = interval_of(argument)
    return one_by_one(argument)[0] if interval is None else replace(argument, text=f"{argument.key}={interval.start}")
