"""The digests of this machine."""

import importlib

from cse.lab.folder import changes, digests


def test_the_code_of_ones_own_parts_has_digests(tmp_path, monkeypatch):
    """Not a library's, whose version is recorded."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "my_own_part.py"
    file.write_text("one = 1\n")
    importlib.import_module("my_own_part")
    targets = ["cse.objective.simcse.Simcse", "numpy.array", "my_own_part.Mine"]
    parts = {name: {"_target_": target} for name, target in zip("abc", targets, strict=True)}
    before = digests.own_code(parts)
    file.write_text("one = 2\n")
    assert [*before] == [*(after := digests.own_code(parts))] == ["my_own_part"]
    assert before != after
    run = {"own_code": before, "code": digests.code_digest()}
    assert [change.name for change in changes.changed_code(run, parts)] == ["my_own_part"]
    assert changes.changed_code(run | {"own_code": after}, parts) == []
    file.unlink()  # which the module that is loaded does not notice
    assert digests.own_code(parts) == {}
    assert changes.changed_code(run, parts) == []
