"""Checks of a public equation's arguments, by what it declares: a bad one is a ValueError that begins with its name.

    @equation(M=at_least(2), weights=one_less_than("M"))
    def multi_positive(views_MBD: Tensor, temperature: Positive, weights: Sequence[NonNegative] | None = None, ...

The signature declares shapes and ranges. x_BD is a tensor with one dimension per letter, or a list of M such tensors; a
letter stands for the same size in all arguments, at least 1. Tensors hold floating-point numbers, those of one width
(the last letter) in one dtype, and lie on one device. Any other argument is checked against its type.
The line above declares what else the size of a letter must be, or an argument; a tensor named there may hold other
numbers than these.

Numbers on a GPU are not read: that would wait for it. Compiled code is not checked.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import torch
from pydantic import ConfigDict, TypeAdapter, ValidationError
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")
NUMBERS = ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False, strict=True)

Known = Mapping[str, Any]
"""One call: its arguments by name, sizes by letter, and "device", that of its first tensor."""
Need = Callable[[Any, Known], str]
"""(an argument or a size, the call) -> what it must be, or "" if it is that."""


def at_least(least: int | str) -> Need:
    """So many, or as many as another letter or argument says."""

    def need(size: int, known: Known) -> str:
        bound = known[least] if isinstance(least, str) else least
        return "" if size >= bound else f"at least {bound}"

    return need


at_least_1 = at_least(1)  # what every size must be


def even(size: int, known: Known) -> str:
    """A size that has two halves."""
    return "even" if size % 2 else ""


def one_less_than(letter: str) -> Need:
    """A list of that length."""
    return lambda values, known: "" if len(values) == known[letter] - 1 else f"{known[letter] - 1} numbers"


def on_device(x: Tensor, known: Known) -> str:
    """On the first tensor's device."""
    return "" if x.device == known["device"] else f"on {known['device']}, not on {x.device}"


def real(x: Tensor, known: Known) -> str:
    """Numbers of any dtype: the equation converts them, or only compares them."""
    return "real" if x.is_complex() else on_device(x, known)


def finite(x: Tensor, known: Known) -> str:
    """Numbers of any dtype, without NaN and infinity."""
    return real(x, known) or ("finite" if x.is_cpu and not x.isfinite().all() else "")


def labels(x: Tensor, known: Known) -> str:
    """Integers, on any device."""
    return f"integers, not {x.dtype}" if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool else ""


def integers(x: Tensor, known: Known) -> str:
    """Integers, on the first tensor's device."""
    return labels(x, known) or on_device(x, known)


def permutation_of(letter: str) -> Need:
    """Each of 0 .. size - 1 once, as int64."""

    def need(x: Tensor, known: Known) -> str:
        size = known[letter]
        fits = x.shape == (size,) and x.dtype == torch.int64
        fits = fits and (not x.is_cpu or torch.equal(x.sort().values, torch.arange(size)))
        return on_device(x, known) if fits else f"a permutation of 0 .. {size - 1} in int64"

    return need


def equation(**needs: Need) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """The function with checked arguments. needs: by the name of an argument, or by a letter."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = signature(function).parameters
        hints = get_type_hints(function, include_extras=True)
        arguments = {name: Argument(name, hints[name], name in needs) for name in parameters}
        defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        required = arguments.keys() - defaults.keys()

        def check(given: dict[str, object]) -> None:
            shapes = Shapes()
            for name, value in given.items():
                given[name] = arguments[name].check(value, shapes)
            sizes = {letter: size for letter, (size, _) in shapes.sizes.items()}
            known = {**defaults, **given, **sizes, "device": shapes.device}
            for letter, (size, name) in shapes.sizes.items():
                if wrong := needs.get(letter, at_least_1)(size, known):
                    raise ValueError(f"{name}: its {letter} must be {wrong}, not {size}")
            for name in needs.keys() & given.keys():
                value = given[name]
                if value is not None and (wrong := needs[name](value, known)):
                    raise ValueError(f"{name} must be {wrong}" + f", not {value!r}" * (not isinstance(value, Tensor)))

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            if not torch.compiler.is_compiling():
                given = dict(zip(arguments, args, strict=False)) | kwargs  # bind() would take 5 us
                if required <= given.keys() <= arguments.keys():  # else the call is a TypeError
                    check(given)
            return function(*args, **kwargs)

        return checked

    return decorate


class Shapes:
    """What one call's tensors have in common, each with the argument that was the first to have it; their device."""

    def __init__(self) -> None:
        self.sizes: dict[str, tuple[int, str]] = {}  # by letter
        self.dtypes: dict[str, tuple[torch.dtype, str]] = {}  # by the letter of the width
        self.device: torch.device | None = None

    def add(self, name: str, letters: str, shape: Sequence[int]) -> None:
        """Raise ValueError unless these are the dimensions, of the sizes that are known."""
        if len(shape) != len(letters):
            raise ValueError(f"{name} must have {len(letters)} dimensions ({', '.join(letters)}), and has {[*shape]}")
        for letter, size in zip(letters, shape, strict=True):
            known, of = self.sizes.setdefault(letter, (size, name))
            if size != known:
                raise ValueError(f"{name} has {[*shape]}: its {letter} is {size}, but that of {of} is {known}")

    def add_numbers(self, name: str, width: str, x: Tensor) -> None:
        """Raise ValueError unless it is floating point, in the dtype of the others of its width, on their device."""
        if not x.is_floating_point():
            raise ValueError(f"{name} must be floating point, not {x.dtype}")
        dtype, of = self.dtypes.setdefault(width, (x.dtype, name))
        if x.dtype != dtype:
            raise ValueError(f"{name} must be {dtype}, as {of} is, not {x.dtype}")
        if x.device != self.device:
            raise ValueError(f"{name} must be on {self.device}, not on {x.device}")


class Argument:
    """One argument of an equation, as its name and hint declare it. has_need: whether the equation's line names it."""

    def __init__(self, name: str, hint: Any, has_need: bool):
        self.name, self.has_need = name, has_need
        last, kinds = name.rpartition("_")[2], (hint, *get_args(hint))
        self.letters = last if last.isupper() else ""
        self.is_list, self.is_optional = get_origin(hint) is list, type(None) in kinds
        self.is_tensor, self.is_array = Tensor in kinds, np.ndarray in kinds
        self.type: TypeAdapter = TypeAdapter(hint, config=NUMBERS)

    def check(self, value: object, shapes: Shapes) -> object:
        """The value; an array as a tensor. Raises ValueError unless it is as declared, and fits the other shapes."""
        if value is None and self.is_optional:
            return None
        if not self.letters:
            self.check_value(value)
            return value
        if self.is_list and isinstance(value, Sequence | Tensor):
            shapes.add(self.name, "M", (len(value),))
            return [self.check_tensor(x, shapes) for x in value]
        return self.check_tensor(value, shapes)

    def check_tensor(self, x: object, shapes: Shapes) -> Tensor:
        """The tensor, which is added to the shapes."""
        if self.is_array:
            try:
                x = torch.as_tensor(x)
            except (TypeError, ValueError, RuntimeError) as error:
                raise ValueError(f"{self.name} must be numbers: {error}") from None
        if not isinstance(x, Tensor):
            raise ValueError(f"{self.name} must be a torch.Tensor, not {type(x).__name__}")
        shapes.add(self.name, self.letters, x.shape)
        shapes.device = shapes.device or x.device
        if not self.has_need:
            shapes.add_numbers(self.name, self.letters[-1], x)
        return x

    def check_value(self, value: object) -> None:
        """A tensor in place of a number, such as a learned temperature, is read on the CPU alone."""
        plain = value
        if isinstance(value, (Tensor, np.generic, np.ndarray)) and not self.is_tensor:
            if isinstance(value, Tensor) and not value.is_cpu:
                return
            plain = value.squeeze().tolist()
        try:
            self.type.validate_python(plain)
        except ValidationError as error:
            raise ValueError(f"{self.name}={value!r:.80}: {error.errors()[0]['msg']}") from None
