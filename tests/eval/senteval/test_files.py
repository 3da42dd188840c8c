"""Data files: what is wrong with them is said in a sentence, or noted where partial data is allowed."""

from pathlib import Path

import pytest

from cse.errors import MissingResource, UserError
from cse.eval.senteval.files import DataFolder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    return DataFolder(str(tmp_path), "paths.x", "a folder of x", allow_partial=True)


def test_a_file_that_may_not_be_read(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UserError, match=r"a\.txt cannot be read: Permission denied"):
        folder.read("a.txt", "utf-8")


def test_a_problem_says_which_scores_it_concerns(folder):
    assert folder.attempt(lambda data: data.read("a.txt", "utf-8"), "dev", "A") == "one\ntwo\n"
    assert folder.attempt(lambda data: data.read("b.txt", "utf-8"), "dev", "B") is None
    folder.attempt(lambda data: data.expect("a.txt", 2, 3), task="C")
    assert [(p["split"], p["task"]) for p in folder.provenance()["problems"]] == [("dev", "B"), (None, "C")]
    folder.expect("a.txt", 2, 3)  # outside of an attempt: of no split or task
    folder.expect("a.txt", 2, None)
    assert [(p["split"], p["task"]) for p in folder.problems[2:]] == [(None, None)]


def test_no_rows_are_missing_data(folder):
    with pytest.raises(MissingResource, match="holds 0 usable rows, not the official 3"):
        folder.expect("a.txt", 0, 3)
    with pytest.raises(MissingResource, match=r"paths\.x=.*: none of the files to score exists"):
        folder.need([])
