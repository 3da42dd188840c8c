"""An axis of a search: KEY=interval(a,b), KEY=int(interval(a,b)), both with tag(log,...), or KEY=choice(a,b).

To read: check_range, Interval; then the values that are tried before a start. grid.py has the axes of a grid.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.settings.arguments import Argument, merged, parse_argument
from cse.lab.sweep.grid import one_by_one

UNEVEN = 3.1
"""An interval divided by it gives a fraction, where a key of whole numbers is refused."""


def check_range(axis: Argument) -> None:
    """Raise UserError for a seed, and for an interval without values or, if logarithmic, with some below 0."""
    if axis.key.rpartition(".")[2] == "seed":
        raise UserError(
            f"{axis}: a search of seeds finds the luckiest one. Give one seed; the report of the search has the "
            "command that trains more seeds of its best"
        )
    interval = interval_of(axis)
    if interval is None:
        return
    if interval.start >= interval.end or (interval.is_log and interval.start <= 0):
        raise UserError(f"{axis}: the lower bound comes first, and above 0 where the range is logarithmic")


class Interval(NamedTuple):
    """An axis that may have any value between two. is_log: a search chooses the logarithm."""

    start: float
    end: float
    is_log: bool


def interval_of(argument: Argument) -> Interval | None:
    """The interval of key=interval(a,b), tag(log,interval(a,b)) or int(interval(a,b)); None for another argument."""
    from hydra.core.override_parser.types import IntervalSweep

    value = argument.parsed
    if not isinstance(value, IntervalSweep):
        return None
    assert value.start is not None  # Hydra's grammar wants both
    assert value.end is not None
    return Interval(value.start, value.end, is_log="log" in value.tags)


def choices_of(axis: Argument) -> list[str]:
    """The values of an axis that is no interval."""
    return list(parse_argument(axis.text).sweep_string_iterator())


def values_to_try(axis: Argument) -> list[str]:
    """The choices of an axis, or the ends of its interval and, if it has fractions, one between them."""
    interval = interval_of(axis)
    if interval is None:
        return choices_of(axis)
    values = [interval.start, interval.end]
    if isinstance(interval.start, float):
        values.append(interval.start + (interval.end - interval.start) / UNEVEN)
    return [str(value) for value in values]


def first_values(arguments: Iterable[Argument]) -> list[Argument]:
    """The arguments with each axis at its first value, or at the lower end of its interval."""
    return [first_value(argument) for argument in merged(arguments)]


def first_value(argument: Argument) -> Argument:
    """The argument with one value: the first of its values, or the lower end of its interval."""
    interval = interval_of(argument)
    return one_by_one(argument)[0] if interval is None else replace(argument, text=f"{argument.key}={interval.start}")
