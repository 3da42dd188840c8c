"""A plain function as an evaluator: cse.train(eval={"mine": function}), cse.evaluate(encoder, {"mine": function})."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from numbers import Real

import numpy as np
import torch

from cse.errors import UserError, class_name
from cse.ranges import Name
from cse.score import Score, Source
from cse.types import Encode, Evaluator

ScoringFunction = Callable[[Encode, str], Mapping[str, float]]
"""A function that takes (encode, split) and returns {name: number}, or {} for a split without data."""

KNOWN: dict[str, ScoringFunction] = {}
"""The functions of the running call, by the names that the call gives them."""


@contextmanager
def known(given: Sequence[Mapping[str, ScoringFunction]], taken: Collection[str]) -> Iterator[list[str]]:
    """Keep these functions in KNOWN during the block, and yield their names.

    taken: the names of the other evaluators, which a function must not have.

    Raises UserError if a name is not one word, is in `taken` or is given twice, or if an object is not a function.
    """
    names = [name for functions in given for name in functions]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UserError(f"eval: several functions have the name {min(twice)}: give them different names")
    functions = {name: function for functions in given for name, function in functions.items()}
    for name, function in functions.items():
        if not callable(function):
            raise UserError(
                f"eval={{{name!r}: {function!r:.60}}}: not a function (encode, split) -> {{name: number}}; an "
                f'evaluator\'s settings are separate arguments, "eval.{name}.KEY=VALUE"'
            )
        if isinstance(function, Evaluator):
            raise UserError(
                f"eval={{{name!r}: {class_name(type(function))}(...)}}: choose an evaluator by its YAML, "
                "--config-dir=FOLDER (docs/adding/evaluator.md), or give a function (encode, split) -> {name: number}"
            )
        if not str(name).isidentifier() or name in taken:
            raise UserError(
                f"eval={{{name!r}: ...}}: the name of your function must be one word that no evaluator has, "
                "for example eval={own: ...}"
            )
        try:
            signature(function).bind(None, None)
        except TypeError as error:
            needed = "(encode, split) -> {name: number}"
            raise UserError(f"eval={{{name!r}: {function!r}}}: not a function {needed} ({error})") from error
    KNOWN.update(functions)
    try:
        yield list(functions)
    finally:
        KNOWN.clear()


class Function(Evaluator):
    """An evaluator that calls a function of KNOWN, for every split."""

    def __init__(self, name: Name):
        if name not in KNOWN:
            raise UserError(
                f"eval.{name} is a function of another Python process: give it again, cse.train(..., "
                f"eval={{'{name}': function}}); for several processes, start the script with torchrun"
            )
        self.name, self.function = name, KNOWN[name]

    def prepare(self) -> None:
        """Do nothing: the function reads its own data."""

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return the function's scores. Raises UserError unless the function returns {name: finite number}."""
        found = self.function(encode, split)
        if isinstance(found, Mapping):  # a tensor or an array of one number is that number
            of_one = (torch.Tensor, np.ndarray)
            found = {
                name: value.item() if isinstance(value, of_one) and math.prod(value.shape) == 1 else value
                for name, value in found.items()
            }
        of_numbers = isinstance(found, Mapping) and all(isinstance(value, Real) for value in found.values())
        if not of_numbers or not all(map(math.isfinite, found.values())):
            raise UserError(f"eval.{self.name}: the function must return {{name: finite number}}, not {found!r:.80}")
        return [Score(str(name), float(value)) for name, value in found.items()]

    def source(self) -> Source:
        """Return the name of the function as the protocol. The function's data is unknown."""
        return {"protocol": f"the function {self.name} of the script or notebook that started this"}
