"""Make one part of its settings, and call it, so that what goes wrong is said by the keys that the user types.

`make` is Hydra's instantiate, `call` a method of a part. `Attempts` tries several parts, for one error that names all
that is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from omegaconf import DictConfig

from cse.errors import MissingResource, UserError, combine
from cse.lab.settings.references import naming_user_keys

T = TypeVar("T")


def make(node: DictConfig, **more: object) -> Any:
    """Call Hydra's instantiate, but raise a UserError as it is instead of Hydra's wrapper around it, with the keys of
    this node for the part's parameters. A part in it is made first, for the same reason."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    for key, value in node.items():
        if isinstance(value, DictConfig) and "_target_" in value and not value.get("_partial_"):
            more[str(key)] = make(value)
    with naming_user_keys(node):
        try:
            return instantiate(node, **more)
        except InstantiationException as error:
            if isinstance(error.__cause__, UserError):
                raise error.__cause__ from None
            raise


def call(node: DictConfig, method: Callable[[], T]) -> T:
    """Call a method of the part that is made of this node: what it refuses is named by the keys that the user types."""
    with naming_user_keys(node):
        return method()


class Attempts:
    """Tries one part after the other and collects what is missing, for one error that names all of it."""

    def __init__(self) -> None:
        self.missing: list[MissingResource] = []

    def __call__(self, part: Callable[[], T]) -> T | None:
        """Returns `part()`, or None if it is missing; `check` then raises."""
        try:
            return part()
        except MissingResource as error:
            self.missing.append(error)
            return None

    def check(self) -> None:
        """Raise one MissingResource for everything that was missing."""
        if self.missing:
            raise combine(self.missing)
