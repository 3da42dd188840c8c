"""Data files: a problem is an error that names the file, or is noted where partial data is allowed."""

import gzip
from pathlib import Path
from unittest.mock import Mock

import pytest

from cse.errors import MissingResource, UserError
from cse.eval.files import DataFolder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    return DataFolder(str(tmp_path), "paths.x", "a folder of x", allow_partial=True)


def test_a_file_that_is_unreadable_or_damaged_is_named(folder, tmp_path, monkeypatch):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one")[:-4])
    with pytest.raises(UserError, match=r"a\.gz"):
        folder.read("a.gz", "utf-8")
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=PermissionError(13, "Permission denied")))
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


def test_a_missing_file_and_a_wrong_number_of_rows_are_noted_where_data_may_be_partial(folder):
    assert folder.attempt(lambda data: data.read("a.txt", "utf-8")) == "one\ntwo\n"
    folder.expect("a.txt", 2, None)
    assert not folder.modified
    assert folder.attempt(lambda data: data.read("b.txt", "utf-8")) is None
    assert "allow_partial" not in folder.problems[0]  # it was given
    folder.expect("a.txt", 2, 3)
    assert folder.modified
    assert len(folder.source("mine")["problems"]) == 2


def test_no_rows_are_missing_data_and_a_wrong_number_is_an_error(folder, tmp_path):
    with pytest.raises(MissingResource, match=r"a\.txt"):
        folder.expect("a.txt", 0, 3)
    with pytest.raises(MissingResource, match=r"paths\.x="):
        folder.require([])
    with pytest.raises(UserError, match=r"a\.txt .*3.*allow_partial=true"):
        DataFolder(str(tmp_path), "paths.x", "a folder of x").expect("a.txt", 2, 3)
