"""One part from its settings. An error of the part names the keys that the user gives.

`make` is Hydra's instantiate, `call` calls a method of a part. `Attempts` tries several parts, for one error that names
all that is missing.
"""

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
        if is_part(value):
            more[str(key)] = make(value)
        elif isinstance(value, DictConfig) and value and all(map(is_part, value.values())):  # a mixture's sources
            more[str(key)] = {name: make(one) for name, one in value.items()}
    with naming_user_keys(node):
        try:
            return instantiate(node, **more)
        except InstantiationException as error:
            if isinstance(error.__cause__, UserError):
                raise error.__cause__ from None
            raise


def is_part(value: object) -> bool:
    """Whether a value is a part that is made at once, and not a function of what our code passes."""
    return isinstance(value, DictConfig) and "_target_" in value and not value.get("_partial_")


def call(node: DictConfig, method: Callable[[], T]) -> T:
    """Call a method of the part that is made of this node. Its errors name the keys that the user gives."""
    with naming_user_keys(node):
        return method()


class Attempts:
    """Tries one part after the other and collects what is missing, for one error that names all of it."""

    def __init__(self) -> None:
        self.missing: list[MissingResource] = []

    def __call__(self, part: Callable[[], T]) -> T | None:
        """Returns `part()`, or None if it is missing; `found` and `check` then raise."""
        try:
            return part()
        except MissingResource as error:
            self.missing.append(error)
            return None

    def found(self, part: T | None) -> T:
        """A part that was tried, after all others were. Raises one MissingResource for everything that was missing."""
        if part is None or self.missing:
            raise combine(self.missing)
        return part

    def check(self) -> None:
        """Raise one MissingResource for everything that was missing."""
        if self.missing:
            raise combine(self.missing)
