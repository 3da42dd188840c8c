"""Data files: a problem is an error that names the file, or is noted where partial data is allowed."""

import gzip
from pathlib import Path

import pytest

from cse.errors import MissingResource, UserError
from cse.eval.files import DataFolder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    return DataFolder(str(tmp_path), "paths.x", "a folder of x", allow_partial=True)


def test_an_unreadable_file_is_named(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UserError, match=r"a\.txt"):
        folder.read("a.txt", "utf-8")


def test_lines_end_only_at_newlines_and_a_damaged_one_is_named(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes("#\n1\r\n\x85\n3\n\r\n\n".encode())
    assert folder.rows("a.txt", "utf-8", str, 3, header=1) == ["1", "\x85", "3"]
    with pytest.raises(UserError, match=r"a\.txt, line 3"):
        folder.rows("a.txt", "utf-8", int, 3, header=1)
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe1")
    with pytest.raises(UserError, match=r"a\.txt"):
        folder.rows("a.txt", "utf-8", str, 1)


def test_a_problem_says_which_scores_it_concerns(folder):
    assert folder.attempt(lambda data: data.read("a.txt", "utf-8"), "dev", "A") == "one\ntwo\n"
    assert folder.attempt(lambda data: data.read("b.txt", "utf-8"), "dev", "B") is None
    assert "allow_partial" not in folder.problems[0].problem  # it was given
    folder.attempt(lambda data: data.expect("a.txt", 2, 3), task="C")
    folder.expect("a.txt", 2, 3)  # outside an attempt: concerns every split and task
    folder.expect("a.txt", 2, None)
    scopes = [(problem.split, problem.task) for problem in folder.problems]
    assert scopes == [("dev", "B"), (None, "C"), (None, None)]
    assert len(folder.source("mine")["problems"]) == 3


def test_a_problem_alters_the_scores_that_it_concerns(folder):
    folder.attempt(lambda data: data.expect("a.txt", 2, 3), task="STS12")
    folder.attempt(lambda data: data.expect("a.txt", 2, 3), "dev")
    altered = {(split, task): folder.altered(split, *task) for split in ("dev", "test")
               for task in (("STS12",), ("STS13",), ("STS12", "STS13"), ())}  # fmt: skip
    assert [task for (split, task), found in altered.items() if split == "test" and not found] == [("STS13",)]
    assert all(found for (split, _), found in altered.items() if split == "dev")


def test_no_rows_are_missing_data_and_a_wrong_number_is_an_error(folder, tmp_path):
    with pytest.raises(MissingResource, match=r"a\.txt"):
        folder.expect("a.txt", 0, 3)
    with pytest.raises(MissingResource, match=r"paths\.x="):
        folder.require([])
    with pytest.raises(UserError, match=r"a\.txt .*3.*allow_partial=true"):
        DataFolder(str(tmp_path), "paths.x", "a folder of x").expect("a.txt", 2, 3)


def test_a_packed_file_that_would_unpack_to_gigabytes_is_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("cse.eval.files.MAX_UNPACKED", 1000)
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"b" * 1000))
    assert folder.read("b.gz", "utf-8") == "b" * 1000
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"b" * 1001))
    with pytest.raises(UserError, match=r"b\.gz.*1,000"):
        folder.read("b.gz", "utf-8")
