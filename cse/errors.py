"""The two ways a run ends early. A user's mistake is one sentence and exit code 2; a failed run is exit code 1."""

from collections.abc import Iterable


class UserError(Exception):
    """Bad input: what is wrong, where (file, line, key) and what to do, in one sentence. Exit code 2."""


class MissingResource(UserError):
    """Weights or data that cannot be had: names the thing, where it was looked for, and what works here instead."""


class RunError(Exception):
    """A run that started well and cannot go on (NaN, collapse, a full disk). Exit code 1."""


def check_objective(key: str, value: str, valid: Iterable[str]) -> None:
    """Raise UserError for a value that objective.<key> cannot have."""
    if value not in valid:
        raise UserError(f"objective.{key}={value}; valid: {', '.join(valid)}.")


def one_of(key: str, value: str, valid: Iterable[str]) -> None:
    """Raise UserError, naming the key and the valid values, unless value is one of them."""
    if value not in valid:
        raise UserError(f"{key}={value} is not one of {', '.join(valid)}")
