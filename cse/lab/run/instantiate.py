"""One part from its settings. An error of the part names the keys that the user gives.

make        the part, by Hydra's instantiate
call        a method of the part
collecting  a block whose missing part is kept for later, so that one error can name all that is missing
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from omegaconf import DictConfig

from cse.errors import MissingResource, UserError
from cse.lab.settings.references import naming_user_keys

T = TypeVar("T")


def make(node: DictConfig, **more: object) -> Any:
    """The part with these settings. more: arguments that no setting gives.

    Raises the part's own UserError, where Hydra would wrap it into another. The parts in its settings are made first,
    for the same reason.
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
    """What a method of a part returns. node: the part's settings."""
    with naming_user_keys(node):
        return method()


@contextmanager
def collecting(missing: list[MissingResource]) -> Iterator[None]:
    """A block that makes a part. If the part is missing, the block ends and its error is added to `missing`.

    Whoever has made all parts raises `combine(missing)` (cse.errors) if the list is not empty.
    """
    try:
        yield
    except MissingResource as error:
        missing.append(error)
