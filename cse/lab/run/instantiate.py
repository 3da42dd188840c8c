"""One part from its settings: `make` is Hydra's instantiate, `call` calls a method of a part. An error of the part
names the keys that the user gives."""

from collections.abc import Callable
from typing import Any, TypeVar

from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.settings.references import naming_user_keys

T = TypeVar("T")


def make(node: DictConfig, **more: object) -> Any:
    """The part with these settings. more: arguments that no setting gives.

    Raises the part's own UserError, which Hydra would wrap into another error. For the same reason, the parts inside
    the settings are made first.
    """
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
    """Whether a value is a part that is made at once, and not a function that our code calls later."""
    return isinstance(value, DictConfig) and "_target_" in value and not value.get("_partial_")


def call(node: DictConfig, method: Callable[[], T]) -> T:
    """The result of a part's method. node: the part's settings."""
    with naming_user_keys(node):
        return method()
