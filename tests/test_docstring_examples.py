"""The docstring of each public equation has an example, and every example gives what it says."""

import ast
import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from cse.eval.geometry import effective_rank, isotropy, mean_cosine
from cse.types import Encoded

ROOT = Path(__file__).parents[1]
NEEDS = {"torch": torch, "np": np, "Encoded": Encoded}  # an example imports nothing else but its function
OTHERS = [effective_rank, isotropy, mean_cosine, Encoded.mlm_loss]


def equations() -> Iterator[tuple[str, str]]:
    """The module and the name of each function under `@equation(...)`."""
    for path in sorted((ROOT / "cse").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            if any(ast.unparse(one).startswith("equation(") for one in decorators):
                yield module, node.name


EQUATIONS = [getattr(importlib.import_module(module), name) for module, name in equations()]


def test_the_equations_are_found():
    assert {"info_nce", "barlow_twins", "vicreg", "uniformity", "sample_spans"} <= {one.__name__ for one in EQUATIONS}


@pytest.mark.parametrize("function", [*EQUATIONS, *OTHERS], ids=lambda function: function.__name__)
def test_the_docstring_has_an_example_that_is_right(function):
    known = {**NEEDS, function.__name__: function}
    example = doctest.DocTestParser().get_doctest(function.__doc__, known, function.__name__, None, None)
    assert any(line.want for line in example.examples), "no `>>>` line with a result"
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=told.append)
    assert not told, "".join(told)
