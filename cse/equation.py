"""What a public equation refuses, by its signature: sizes by the letters of its names, values by their types."""

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
    """The function, which raises a ValueError with the argument's name for one that cannot be meant.

    An argument x_BD is a tensor, or several, with as many dimensions as letters; a letter is one size in all arguments.
    What is no tensor is checked against its type: `temperature: Positive`. Compiled code is not checked.
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
                    refuse_shapes(name, letters, value if name in lists else [value], sizes)
                elif not isinstance(value, Tensor):  # as a temperature that is learned
                    refuse_value(name, value, types[name])
        return function(*args, **kwargs)

    return checked


def refuse_shapes(name: str, letters: str, tensors: Sequence[object], sizes: dict[str, tuple[int, str]]) -> None:
    """Raise ValueError for what is no tensor of these letters. sizes: of each letter so far, and whose it is."""
    for one in tensors:
        if not isinstance(one, Tensor):
            raise ValueError(f"{name} is to be a torch.Tensor, and is {type(one).__name__}")
        shape = tuple(one.shape)
        if len(shape) != len(letters):
            raise ValueError(f"{name} is to have {len(letters)} dimensions ({', '.join(letters)}), and has {shape}")
        for letter, size in zip(letters, shape, strict=True):
            known, of = sizes.setdefault(letter, (size, name))
            if size != known:
                raise ValueError(f"{name} has {shape}: its {letter} is {size}, and that of {of} is {known}")


def refuse_value(name: str, value: object, kind: TypeAdapter) -> None:
    """Raise ValueError for a value that is not of its type."""
    try:
        kind.validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{name}={value!r}: {error.errors()[0]['msg']}") from None
