"""A column of numbers beside the text, for objectives that learn from a score for each row."""

import math
import re
from typing import NamedTuple

from cse.errors import UserError

LARGEST = 3e38  # the numbers are kept as float32


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
            point = "; its decimal sign must be a point" * bool(re.fullmatch(r"-?\d+,\d+", str(cell)))
            raise UserError(f"{place}: {self.name} holds {repr(cell)[:40]}, not a number (`scores`={self.name}){point}")
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
        low, high = self.ends or (0.0, 1.0)
        return f"{self.name} {low + (high - low) * scaled:g}" + (f", scaled to {scaled:g}" if self.ends else "")
