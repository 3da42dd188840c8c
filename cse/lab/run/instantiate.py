"""Make one part from its settings (`make`, by Hydra's instantiate), or call a part's method (`call`).

If the part raises UserError, the error names the keys that the user gives.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.settings.references import naming_user_keys

T = TypeVar("T")


def make(node: DictConfig, **more: object) -> Any:
    """Return the part with these settings. more: arguments that no setting gives.

    Raises the part's own UserError, which Hydra would wrap into another error. The parts inside the settings are made
    first, so that Hydra does not wrap their errors either.
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
    """Return whether a value is a part that is made at once. A part with _partial_ is made later, when cse calls it."""
    return isinstance(value, DictConfig) and "_target_" in value and not value.get("_partial_")


def call(node: DictConfig, method: Callable[[], T]) -> T:
    """Call a part's method and return its result. node: the part's settings, whose keys a UserError names."""
    with naming_user_keys(node):
        return method()
