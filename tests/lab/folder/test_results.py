"""What results.json says of the code: a checkout's changes, which `git apply` puts back."""

import importlib

from cse.lab.folder import results


def test_the_code_of_ones_own_parts_has_digests(tmp_path, monkeypatch):
    """Not a library's, whose version is recorded."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "my_own_part.py"
    file.write_text("one = 1\n")
    importlib.import_module("my_own_part")
    targets = ["cse.objective.simcse.Simcse", "numpy.array", "my_own_part.Mine"]
    parts = {name: {"_target_": target} for name, target in zip("abc", targets, strict=True)}
    before = results.own_code(parts)
    file.write_text("one = 2\n")
    assert [*before] == [*(after := results.own_code(parts))] == ["my_own_part"]
    assert before != after
    run = {"own_code": before, "code": results.code_digest()}
    assert results.changed_code(run, parts) == ["my_own_part"]
    assert results.changed_code(run | {"own_code": after}, parts) == []


def test_code_of_no_known_commit_is_named_by_its_digest():
    (told,) = results.changed_code({"code": "0123456789abcdef", "git_commit": None}, {})
    assert "0123456789abcdef" in told
    assert "None" not in told
