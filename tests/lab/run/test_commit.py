"""The commit of this code: the changes of its checkout, which `git apply` puts back, and the commit of a wheel."""

import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from cse.lab.run import commit


def git(folder: Path, *words: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"]
    return subprocess.run(
        ["git", *name, "-C", folder, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_patch_of_a_checkout_gives_its_code(tmp_path, monkeypatch):
    """Also a file with Windows' line ends, a binary one, and a new one of code; a file of text is not the code's."""
    here, there = tmp_path / "here", tmp_path / "there"

    (here / "cse" / "lab").mkdir(parents=True)
    (here / "cse" / "a.py").write_bytes(b"one = 1\r\ntwo = 2\r\n")
    (here / "cse" / "b.bin").write_bytes(b"\0\1\2")
    git(here, "init")
    git(here, "add", ".")
    git(here, "commit", "-m", "first")
    git(tmp_path, "clone", here, there)
    monkeypatch.setattr(commit, "code_folder", lambda: here)
    (here / "text.txt").write_text("a sentence\n")
    assert not str(commit.git_commit()).endswith("+")
    (here / "cse" / "a.py").write_bytes(b"one = 1\r\ntwo = 3\r\n")
    (here / "cse" / "b.bin").write_bytes(b"\0\2\2")
    (here / "cse" / "mine.py").write_text("three = 3\n")
    assert str(commit.git_commit()).endswith("+")
    (tmp_path / "code.patch").write_text(commit.git_patch())
    git(there, "apply", str(tmp_path / "code.patch"))
    for name in ("a.py", "b.bin", "mine.py"):
        assert (there / "cse" / name).read_bytes() == (here / "cse" / name).read_bytes()
    assert not (there / "text.txt").exists()


@pytest.fixture
def tree(tmp_path) -> Path:
    """What is built, with git; its folders of conf/ and sweeps/ are empty."""
    root = Path(commit.__file__).parents[3]
    here = tmp_path / "tree"
    for name in ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "hatch_build.py", "cse/__init__.py",
                 "cse/lab/run/__init__.py", "cse/lab/run/commit.py"):  # fmt: skip
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, here / name)
    for name in ("conf", "sweeps", "hydra_plugins"):
        (here / name).mkdir()
        (here / name / "a.yaml").write_text("a: 1\n")
    git(here, "init")
    git(here, "add", ".")
    git(here, "commit", "-m", "first")
    return here


def built(tree: Path, kind: str) -> Path:
    """The wheel or the sdist of a tree."""
    pytest.importorskip("hatchling", reason="needs hatchling")
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    builder = SdistBuilder(str(tree)) if kind == "sdist" else WheelBuilder(str(tree))
    (file,) = builder.build(directory=str(tree.parent / kind), versions=["standard"])
    return Path(file)


def commit_in(wheel: Path) -> str | None:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read("cse/commit.txt").decode().strip() if "cse/commit.txt" in archive.namelist() else None


def test_a_wheel_holds_the_commit_that_it_was_built_from(tree, tmp_path, monkeypatch):
    """Also one of an sdist, which has no git; with a "+" if the tree had changes."""
    first = git(tree, "rev-parse", "HEAD")
    assert commit_in(built(tree, "wheel")) == first
    with tarfile.open(built(tree, "sdist")) as archive:
        archive.extractall(tmp_path / "sdist", filter="data")
    (unpacked,) = (path for path in (tmp_path / "sdist").iterdir() if path.is_dir())
    assert commit_in(built(unpacked, "wheel")) == first
    (tree / "cse" / "mine.py").write_text("three = 3\n")
    wheel = built(tree, "wheel")
    assert commit_in(wheel) == first + "+"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.setattr(commit, "code_folder", lambda: tmp_path / "site")
    assert commit.git_commit() == first + "+"
    shutil.rmtree(tree / ".git")
    assert commit_in(built(tree, "wheel")) is None
    monkeypatch.setattr(commit, "code_folder", lambda: tree)
    assert commit.git_commit() is None
