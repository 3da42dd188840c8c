"""A column of numbers beside the text: what an objective is told of each row."""

import math
from typing import NamedTuple

from cse.errors import UserError

LARGEST = 3e38  # of float32, as which the numbers are kept


class ScoreColumn(NamedTuple):
    """name: the column's. ends: the numbers that become 0 and 1, between which all must lie; None: any, as they are."""

    name: str
    ends: tuple[float, float] | None

    def cell(self, cell: object, place: str) -> str:
        """The scaled number, as text. place: where it stands, for the UserError for what is none or lies beyond."""
        number = "" if isinstance(cell, bool) or "_" in str(cell) else cell  # 1_0 is a number in Python alone
        try:
            value = float(number) if isinstance(number, str | int | float) else math.nan
        except (ValueError, OverflowError):
            value = math.nan
        if not abs(value) <= LARGEST:
            raise UserError(f"{place}: {self.name} holds {repr(cell)[:40]}, not a number (data.scores={self.name})")
        if self.ends is None:
            return repr(value)
        low, high = self.ends
        if not low <= value <= high:
            raise UserError(
                f"{place}: {self.name} is {value:g}, beyond data.score_range=[{low:g},{high:g}]: set it to the ends of "
                "the scale, or to null for numbers of any size"
            )
        return repr((value - low) / (high - low))
