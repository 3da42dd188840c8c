"""The signatures that docs/api.md shows are those of the functions, and its example runs."""

import re
from importlib import import_module
from inspect import signature
from pathlib import Path

from blocks import blocks

API = Path(__file__).resolve().parents[2] / "docs" / "api.md"
SHOWN = re.findall(r"^\| `(cse\.[\w.]+)\.(\w+)` \| `(.*)` \|$", API.read_text(), re.MULTILINE)


def test_every_signature_is_true_and_has_an_example():
    (example,) = [block.text for block in blocks(API) if "info_nce(" in block.text]
    exec(compile(example, "example", "exec"), {})
    assert len(SHOWN) >= 15
    for module, name, shown in SHOWN:
        parameters = signature(getattr(import_module(module), name)).parameters.values()
        assert shown == ", ".join(
            one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in parameters
        )
        assert f"{name}(" in example
