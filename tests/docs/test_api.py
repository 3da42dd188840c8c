"""docs/api.md shows the signatures that the functions have, and they check their arguments. Its example runs."""

import re
from importlib import import_module
from inspect import Signature, signature
from pathlib import Path

import pytest
from blocks import blocks

API = Path(__file__).resolve().parents[2] / "docs" / "api.md"
SHOWN = re.findall(r"^\| `(cse\.[\w.]+)\.(\w+)` \| `(.*)` \|$", API.read_text(), re.MULTILINE)


def test_every_signature_is_true_and_in_the_example():
    (example,) = [block.text for block in blocks(API) if "info_nce(" in block.text]
    exec(compile(example, "example", "exec"), {})
    assert len(SHOWN) >= 22
    for module, name, shown in SHOWN:
        function = getattr(import_module(module), name)
        parameters = signature(function).parameters
        bare = [one.replace(annotation=one.empty) for one in parameters.values()]
        assert f"({shown})" == str(Signature(bare))
        assert f"{name}(" in example
        with pytest.raises(ValueError, match=rf"^{next(iter(parameters))}\b"):  # see cse.equation
            function(**dict.fromkeys(parameters, "neither a tensor nor a number"))
