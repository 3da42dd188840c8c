"""Checks of an option's value, for every augmentation."""

from cse.errors import UserError


def probability(key: str, value: float) -> None:
    """Raise UserError unless 0 <= value <= 1."""
    if not 0.0 <= value <= 1.0:
        raise UserError(f"{key}={value} is not a probability: give a number from 0 to 1")
