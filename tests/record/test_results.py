"""What results.json says of the code: a checkout's changes, which `git apply` puts back."""

import importlib
import subprocess
from pathlib import Path

from cse.record import results


def test_the_patch_of_a_checkout_gives_its_code(tmp_path, monkeypatch):
    """Also a file with Windows' line ends, a binary one, and a new one of code; a file of text is not the code's."""
    here, there = tmp_path / "here", tmp_path / "there"

    def git(folder: Path, *words: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"]
        subprocess.run(["git", *name, "-C", folder, *words], check=True, capture_output=True)

    (here / "cse" / "record").mkdir(parents=True)
    (here / "cse" / "a.py").write_bytes(b"one = 1\r\ntwo = 2\r\n")
    (here / "cse" / "b.bin").write_bytes(b"\0\1\2")
    git(here, "init")
    git(here, "add", ".")
    git(here, "commit", "-m", "first")
    git(tmp_path, "clone", here, there)
    monkeypatch.setattr(results, "__file__", str(here / "cse" / "record" / "results.py"))
    (here / "text.txt").write_text("a sentence\n")
    assert not str(results.git_commit()).endswith("+")
    (here / "cse" / "a.py").write_bytes(b"one = 1\r\ntwo = 3\r\n")
    (here / "cse" / "b.bin").write_bytes(b"\0\2\2")
    (here / "cse" / "mine.py").write_text("three = 3\n")
    assert str(results.git_commit()).endswith("+")
    (tmp_path / "code.patch").write_text(results.git_patch())
    git(there, "apply", str(tmp_path / "code.patch"))
    for name in ("a.py", "b.bin", "mine.py"):
        assert (there / "cse" / name).read_bytes() == (here / "cse" / name).read_bytes()
    assert not (there / "text.txt").exists()


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
