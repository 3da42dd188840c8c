"""Checks of an option's value, for every augmentation."""

from cse.errors import UserError


def one_of(key: str, value: str, valid: tuple[str, ...]) -> None:
    """Raise UserError, naming the key and the valid values, unless value is one of them."""
    if value not in valid:
        raise UserError(f"{key}={value} is not one of {', '.join(valid)}")


def probability(key: str, value: float) -> None:
    """Raise UserError unless 0 <= value <= 1."""
    if not 0.0 <= value <= 1.0:
        raise UserError(f"{key}={value} is not a probability: give a number from 0 to 1")
