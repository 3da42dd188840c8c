"""Checks of a public equation's arguments, by its signature: sizes by the letters of names, values by their types."""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar, get_origin, get_type_hints

import torch
from pydantic import ConfigDict, TypeAdapter, ValidationError
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")
NUMBERS = ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False)


def equation(function: Callable[P, T]) -> Callable[P, T]:
    """The function with checked arguments: a bad one is a ValueError that begins with its name.

    An argument x_BD is a tensor, or several, with one dimension per letter; a letter stands for the same size in all
    arguments. Other arguments are checked against their types: `temperature: Positive`. Compiled code is not checked.
    """
    hints = get_type_hints(function, include_extras=True)
    types = {name: TypeAdapter(hint, config=NUMBERS) for name, hint in hints.items() if name != "return"}
    lists = [name for name, hint in hints.items() if get_origin(hint) is list]
    bind = signature(function).bind

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        if not torch.compiler.is_compiling():
            sizes: dict[str, tuple[int, str]] = {}
            for name, value in bind(*args, **kwargs).arguments.items():
                letters = name.rpartition("_")[2]
                if letters.isupper() and value is not None:
                    check_shapes(name, letters, value if name in lists else [value], sizes)
                elif not isinstance(value, Tensor):  # a learned temperature is one
                    check_value(name, value, types[name])
        return function(*args, **kwargs)

    return checked


def check_shapes(name: str, letters: str, tensors: Sequence[object], sizes: dict[str, tuple[int, str]]) -> None:
    """Raise ValueError unless all are tensors of these dimensions. sizes: each letter's size, and the first to have it.

    Adds the letters that are new to `sizes`.
    """
    for one in tensors:
        if not isinstance(one, Tensor):
            raise ValueError(f"{name} must be a torch.Tensor, not {type(one).__name__}")
        shape = tuple(one.shape)
        if len(shape) != len(letters):
            raise ValueError(f"{name} must have {len(letters)} dimensions ({', '.join(letters)}), and has {shape}")
        for letter, size in zip(letters, shape, strict=True):
            known, of = sizes.setdefault(letter, (size, name))
            if size != known:
                raise ValueError(f"{name} has {shape}: its {letter} is {size}, but that of {of} is {known}")


def check_value(name: str, value: object, kind: TypeAdapter) -> None:
    """Raise ValueError unless the value is of its type."""
    try:
        kind.validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{name}={value!r}: {error.errors()[0]['msg']}") from None
