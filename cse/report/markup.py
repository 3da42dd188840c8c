"""Numbers as text (z: without the sign of a rounded zero), and the signs beside them."""

import math

PLUS_MINUS, TIED = "±", "≈"


def number(value: float, digits: int | None) -> str:
    """A number with so many decimals; None: as few as it needs."""
    return f"{value:zg}" if digits is None else f"{value:z.{digits}f}"


def signed(value: float | None, digits: int | None) -> str:
    """A difference with its sign; "" for None."""
    if value is None:
        return ""
    return f"{value:+zg}" if digits is None else f"{value:+z.{digits}f}"


def bounds(low: float | None, high: float | None, digits: int | None) -> str:
    """[low, high]; "" for None."""
    return "" if low is None or high is None else f"[{signed(low, digits)}, {signed(high, digits)}]"


def probability(p: float | None) -> str:
    """A p value without its leading zero; "" for None and NaN."""
    if p is None or math.isnan(p):
        return ""
    return "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0")
