"""A column of numbers beside the text: what an objective is told of each row."""

import math
from typing import NamedTuple

from cse.errors import UserError


class ScoreColumn(NamedTuple):
    """name: the column's. ends: the numbers that become 0 and 1, between which all must lie; None: any, as they are."""

    name: str
    ends: tuple[float, float] | None

    def cell(self, cell: object, place: str) -> str:
        """The scaled number, as text. place: where it stands, for the UserError for what is none or lies beyond."""
        try:
            value = float(cell) if isinstance(cell, str | int | float) and not isinstance(cell, bool) else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
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
