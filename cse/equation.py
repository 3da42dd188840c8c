"""Check the arguments of public equations. A bad argument raises a ValueError that begins with the argument's name.

    @equation(M=at_least(2), weights=one_less_than("M"))
    def multi_positive(views_MBD: Tensor, temperature: Positive, weights: Sequence[NonNegative] | None = None, ...

The signature declares shapes and ranges. x_BD is a tensor with one dimension per letter, or a list of such tensors; M
is the length of this list. A letter means the same size, at least 1, in all arguments. Tensors hold floating-point
numbers and are on one device. Tensors with the same last letter have the same dtype. Any other argument must fit its
type hint. The decorator adds conditions on the size of a letter or on an argument. A tensor that the decorator names
may also hold integers, on any device.

Numbers on a GPU are not checked, because reading them waits for the GPU. Calls in compiled code are not checked.
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
"""The arguments of one call by name, and the sizes in this call by letter."""
Common = dict[str, tuple[Any, str]]
"""What a call's tensors share: {a letter, a dtype or the device: (its value, the first argument with this value)}."""
Need = Callable[[Any, Known], str]
"""(an argument or a size, the call) -> what this argument or size must be, or "" if it is valid."""


def at_least(least: int | str) -> Need:
    """Require at least `least`: a number, the size of another letter, or the value of another argument."""

    def need(size: int, known: Known) -> str:
        bound = known[least] if isinstance(least, str) else least
        return "" if size >= bound else f"at least {bound}"

    return need


def multiple_of(letter: str) -> Need:
    """Require a multiple of the size of another letter."""
    return lambda size, known: "" if size and size % known[letter] == 0 else f"a multiple of {known[letter]}"


def even(size: int, known: Known) -> str:
    """Require an even size."""
    return "even" if size % 2 else ""


def one_less_than(letter: str) -> Need:
    """Require a list with one item fewer than the size of this letter."""
    return lambda values, known: "" if len(values) == known[letter] - 1 else f"{known[letter] - 1} numbers"


def real(x: Tensor, known: Known) -> str:
    """Require real numbers of any dtype. The equation converts these numbers, or only compares them."""
    return "real" if x.is_complex() else ""


def finite(x: Tensor, known: Known) -> str:
    """Require real numbers of any dtype, without NaN and infinity (not checked on a GPU)."""
    return real(x, known) or ("finite" if x.is_cpu and not x.isfinite().all() else "")


def integers(x: Tensor, known: Known) -> str:
    """Require integers, such as labels and row numbers."""
    return f"integers, not {x.dtype}" if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool else ""


def permutation_of(letter: str) -> Need:
    """Require each of the numbers 0 to n - 1 exactly once, as int64. n is the size of this letter."""

    def need(x: Tensor, known: Known) -> str:
        size = known[letter]
        fits = x.shape == (size,) and x.dtype == torch.int64
        fits = fits and (not x.is_cpu or torch.equal(x.sort().values, torch.arange(size)))
        return "" if fits else f"a permutation of 0 .. {size - 1} in int64"

    return need


def equation(**needs: Need) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function check its arguments. needs: {name of an argument, or a letter: condition}."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = signature(function).parameters
        hints = get_type_hints(function, include_extras=True)
        arguments = {name: Argument(name, hints[name], is_float=name not in needs) for name in parameters}
        defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        required = arguments.keys() - defaults.keys()

        def check(given: dict[str, object]) -> None:
            common: Common = {}
            for name, value in given.items():
                given[name] = arguments[name].check(value, common)
            sizes = {letter: found for letter, found in common.items() if letter.isupper()}
            known = {**defaults, **given, **{letter: size for letter, (size, _) in sizes.items()}}
            for letter, (size, name) in sizes.items():
                if wrong := needs.get(letter, at_least(1))(size, known):
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


class Argument:
    """One argument of an equation. The argument's name and type hint declare the valid values."""

    def __init__(self, name: str, hint: Any, is_float: bool):
        self.name, self.is_float = name, is_float
        last, kinds = name.rpartition("_")[2], (hint, *get_args(hint))
        self.letters = last if last.isupper() else ""
        self.is_list, self.is_optional = get_origin(hint) is list, type(None) in kinds
        self.is_tensor, self.is_array = Tensor in kinds, np.ndarray in kinds
        self.type: TypeAdapter = TypeAdapter(hint, config=NUMBERS)

    def check(self, value: object, common: Common) -> object:
        """Return the value; an array becomes a tensor. Raises ValueError if the value breaks the declaration, or does
        not fit the earlier arguments."""
        if value is None and self.is_optional:
            return None
        if not self.letters:
            self.check_value(value)
            return value
        if self.is_list and isinstance(value, Sequence | Tensor):
            self.fit("M", len(value), common)
            return [self.check_tensor(x, common) for x in value]
        return self.check_tensor(value, common)

    def check_tensor(self, x: object, common: Common) -> Tensor:
        """Return the value as a tensor. Raises ValueError as `check` does."""
        if self.is_array:
            try:
                x = torch.as_tensor(x)
            except (TypeError, ValueError, RuntimeError) as error:
                raise ValueError(f"{self.name} must be numbers: {error}") from None
        if not isinstance(x, Tensor):
            raise ValueError(f"{self.name} must be a torch.Tensor, not {type(x).__name__}")
        if x.ndim != len(self.letters):
            dimensions = f"{len(self.letters)} dimensions ({', '.join(self.letters)})"
            raise ValueError(f"{self.name} must have {dimensions}, but its shape is {[*x.shape]}")
        for letter, size in zip(self.letters, x.shape, strict=True):
            self.fit(letter, size, common)
        if self.is_float:
            if not x.is_floating_point():
                raise ValueError(f"{self.name} must be floating point, not {x.dtype}")
            self.fit(f"dtype along {self.letters[-1]}", x.dtype, common)
        if x.is_floating_point():  # labels may lie on the CPU
            self.fit("device", x.device, common)
        return x

    def fit(self, what: str, found: object, common: Common) -> None:
        """Raise ValueError if `found`, such as a size, dtype or device, differs from an earlier argument's `what`."""
        first, name = common.setdefault(what, (found, self.name))
        if found != first:
            raise ValueError(f"{self.name}: its {what} is {found}, but {name} has {first}")

    def check_value(self, value: object) -> None:
        """Raise ValueError for a value that does not fit the type hint. A number in a GPU's tensor is not checked."""
        plain = value
        if isinstance(value, (Tensor, np.generic, np.ndarray)) and not self.is_tensor:
            if isinstance(value, Tensor) and not value.is_cpu:
                return
            plain = value.squeeze().tolist()
        try:
            self.type.validate_python(plain)
        except ValidationError as error:
            raise ValueError(f"{self.name}={value!r:.80}: {error.errors()[0]['msg']}") from None
