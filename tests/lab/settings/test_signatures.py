"""The two readers of a signature, of the source alone and of the imported part, know the same parameters."""

import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import yaml
from hydra.utils import get_object

from cse.lab.settings.check import validate_command
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import CONF_DIR
from cse.lab.settings.parts import takers_of, types_of
from cse.lab.settings.roles import marks_in, role_of
from cse.lab.settings.signatures import declared_by, definition_of, imports_of, tree_of
from cse.lab.settings.values import nodes_in
from cse.ranges import Mark

BASE = """
from typing import Annotated
from cse.ranges import Count, Mark
class Base:
    def __init__(self, shards: Annotated[Count, Mark.MACHINE] = 1): ...
"""
INHERITING = (
    "{}\nclass Mine({}):\n    def __init__(self, weight: float = 1.0, **settings): super().__init__(**settings)\n"
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes modules of a package of the user's own. It can be imported until the test ends."""
    monkeypatch.syspath_prepend(tmp_path)
    for cached in (declared_by, definition_of, imports_of, tree_of, types_of):
        cached.cache_clear()

    def write(modules: dict[str, str]) -> Path:
        for name, text in modules.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "ownpkg"]:
        del sys.modules[name]


IMPORTS = [  # statement in ownpkg/inner/impl.py, the base class there
    ("from ownpkg.base import Base", "Base"), ("from ..base import Base", "Base"),
    ("import ownpkg.base", "ownpkg.base.Base"),
    ("import ownpkg.base as b", "b.Base"), ("from .. import base", "base.Base"), ("from ..base import Base as B", "B"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "base"), IMPORTS)
@pytest.mark.parametrize(("target", "exports"), [
    ("ownpkg.inner.impl.Mine", ("", "")), ("ownpkg.inner.Mine", ("", "from .impl import Mine")),
    ("ownpkg.Mine", ("from .inner import Mine", "from .impl import Mine")),
    ("ownpkg.Mine", ("from ownpkg.inner.impl import Mine", "")),
])  # fmt: skip
def test_a_class_of_a_package_declares_what_its_constructor_takes(package, statement, base, target, exports):
    package({
        "ownpkg/__init__.py": exports[0], "ownpkg/inner/__init__.py": exports[1], "ownpkg/base.py": BASE,
        "ownpkg/inner/impl.py": INHERITING.format(statement, base),
    })  # fmt: skip
    assert declared_by(target).keys() == {"weight", "shards"}
    assert Mark.MACHINE in role_of("objective.shards", {"objective": {"_target_": target}}).marks
    assert "ownpkg" not in sys.modules
    assert types_of(target).__annotations__.keys() == declared_by(target).keys()


def test_a_part_that_its_package_exports_is_checked(package):
    package({
        "ownpkg/__init__.py": "from .impl import Mine",
        "ownpkg/impl.py": "from cse.types import Objective\nclass Mine(Objective):\n"
        "    def __init__(self, dim: int, margin: float): ...\n    def forward(self, views): ...\n",
    })  # fmt: skip
    config = composed("train", []).copy()
    config.objective = {"_target_": "ownpkg.Mine", "margin": 1}
    assert validate_command(config, "train").objective.margin == 1.0


@pytest.mark.parametrize("text", ["from . import ownpkg", "from ...x import Mine", "from .ownpkg import Mine"])
def test_an_import_that_leads_nowhere_declares_nothing(package, text):
    package({"ownpkg/__init__.py": text, "ownpkg/ownpkg.py": "from . import Mine\nclass A(A): ..."})
    for target in ("ownpkg.Mine", "ownpkg.ownpkg", "ownpkg.ownpkg.A"):
        assert declared_by(target) == {}


def targets_of_conf() -> list[str]:
    """Every `_target_` of ours in conf/."""
    nodes = [node for file in Path(CONF_DIR).rglob("*.yaml") for node in nodes_in(yaml.safe_load(file.read_text()))]
    targets = {str(target) for key, target in nodes if key.rpartition(".")[2] == "_target_"}
    return sorted(target for target in targets if target.startswith("cse."))


def marks_of_type(hint: object) -> set[Mark]:
    """The marks of a type, at any depth."""
    return {hint} if isinstance(hint, Mark) else {mark for inner in get_args(hint) for mark in marks_of_type(inner)}


@pytest.mark.parametrize("target", targets_of_conf())
def test_the_source_says_the_same_as_the_imported_part(target):
    """Of each parameter, with its marks."""
    hints: dict[str, object] = {}
    for taker in takers_of(get_object(target)):
        hints = get_type_hints(taker, include_extras=True) | hints
    hints.pop("return", None)
    hints.pop("settings", None)
    declared = declared_by(target)
    assert {name: marks_of_type(hint) for name, hint in hints.items()} == {
        name: set(marks_in(declared[name])) for name in hints
    }
