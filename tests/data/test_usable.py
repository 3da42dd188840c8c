"""Rows without text: up to 1 % are left out or kept, counted and named at every start; more are refused."""

import json
import logging

import numpy as np
import pytest

from cse.data import usable
from cse.data.duplicates import met, sharing, text_keys
from cse.data.rows import TextRows
from cse.data.text import Text
from cse.errors import UserError


def test_a_usable_text_has_something_visible_and_no_nul():
    blank = ("", "\t \u3000", "\u200b\u200d\ufeff", "\x01\x02", "fine\0text", "\u2028", "\xad")
    for cell in (*blank, "NaN", "NULL", "NA", "\\N", "N/A", "n/a", "null", "None", "#N/A", " NA ", "#REF!", "(null)"):
        assert usable.fault(cell)
    visible = ("a", ".", "  x  ", "\u4f60", "\u0627\u0644", "\U0001f44d", "a\u200bb", "\u0301")
    for cell in (*visible, "nan bread", "NA!", "\\Nothing", "na", "none"):
        assert usable.fault(cell) is None


@pytest.mark.parametrize("reason", sorted(usable.REASONS))
@pytest.mark.parametrize("column", ["a", "a is", "a is NULL", "is empty", "holds NUL"])
def test_the_notes_of_a_cache_are_read_as_they_were_written(column, reason):
    notes = usable.RowNotes(9, {usable.Fault(column, reason): [2, 3], usable.Fault("b", usable.NUL): [4]})
    kept = json.loads(json.dumps(notes.as_json()))
    assert kept == {"rows": 9, "faults": {f"{column} {reason}": [2, 3], "b holds NUL": [4]}}
    assert usable.RowNotes.from_json(kept) == notes
    assert notes.missing(column) == ([] if reason == usable.NUL else [2, 3])
    assert notes.missing("b") == []


@pytest.fixture
def pairs(tmp_path):
    """A function that prepares 300 rows of two columns: some have no title, one has NUL in its body."""

    def text_of(empty: str | None, untitled: int = 3, **options) -> TextRows:
        rows = [[f"title {i}", f"body {i}"] for i in range(300)]
        rows[20][1] = "bo\0dy"
        for i in range(untitled):
            rows[10 + i][0] = "" if i else "\u200b"
        path = tmp_path / "pairs.csv"
        path.write_text("\n".join(["title,body", *map(",".join, rows)]), encoding="utf-8")
        return Text("text", str(tmp_path / "cache"), str(path), ["title", "body"], empty=empty, **options).read()

    return text_of


@pytest.mark.parametrize("start", ["first", "again"])
def test_a_few_are_named_at_every_start_and_the_others_keep_their_numbers(pairs, caplog, monkeypatch, start):
    """The second start looks at no cell."""
    if start == "again":
        pairs(None, untitled=2)
        monkeypatch.setattr(usable, "fault", None)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        text = pairs(None, untitled=2)
    for place in ("(1, the first: row 11)", "(1, the first: row 12)", "(1, the first: row 21)"):
        assert place in caplog.text
    assert (len(text), text.provenance()["left_out"]) == (297, 3)
    assert (text.text(10), text.number(10)) == ("title 12", 13)
    assert len(pairs(None, untitled=2, limit=297)) == 297  # the limit counts usable rows
    assert pairs("keep", untitled=2).number(10) == 11


def test_a_cache_that_does_not_say_which_rows_are_unusable_is_named(pairs, tmp_path):
    pairs(None, untitled=2)
    (file,) = (tmp_path / "cache").rglob("about.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"notes": {"rows": 300, "unusable": 3, "first": 11}}))
    with pytest.raises(UserError, match=f"{file.parent} is the cache of an older version of cse: delete it"):
        pairs(None, untitled=2)


@pytest.mark.parametrize(("empty", "untitled"), [(None, 3), ("keep", 3), ("refuse", 0)])
def test_too_many_are_refused_with_their_places_and_the_setting_that_skips_them(pairs, empty, untitled):
    with pytest.raises(UserError, match=rf"{untitled + 1} of 300 rows .*row 21.*empty=skip"):
        pairs(empty, untitled)
    assert len(pairs("skip", untitled)) == 299 - untitled


@pytest.fixture
def negatives(tmp_path):
    """A function that prepares 40 rows with hard negatives: some rows lack the first, all lack the second."""

    def text_of(required: int | None, **options) -> TextRows:
        rows = [f"anchor {i},positive {i},{'' if i % 4 else f'negative {i}'},NULL" for i in range(40)]
        path = tmp_path / "negatives.csv"
        path.write_text("\n".join(["a,p,n1,n2", *rows]), encoding="utf-8")
        columns = ["a", "p", "n1", "n2"]
        return Text("text", str(tmp_path / "cache"), str(path), columns, empty=None, **options).read(None, required)

    return text_of


@pytest.mark.parametrize("start", ["first", "again"])
def test_a_row_may_lack_what_is_not_required(negatives, caplog, start):
    if start == "again":
        negatives(2)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        text = negatives(2)
    assert len(text) == 40
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]  # a column without any text
    assert "30 of 40 rows have no text in n1" in caplog.text
    assert not text.missing_NC[:, :2].any()
    assert text.missing_NC[:, 2].tolist() == [i % 4 != 0 for i in range(40)]
    assert text.missing_NC[:, 3].all()
    assert negatives(2, limit=3).missing_NC[:, 2].tolist() == [False, True, True]


def test_other_objectives_need_a_text_in_each_column(negatives):
    with pytest.raises(UserError, match="40 of 40 rows have a fault"):
        negatives(None)


@pytest.mark.parametrize("empty", [None, "skip"])
def test_a_column_without_any_text_is_answered_with_another_column(tmp_path, empty):
    """data.empty=skip would leave no rows."""
    path = tmp_path / "half.csv"
    path.write_text("a,b\n" + "".join(f"text {i},\n" for i in range(9)), encoding="utf-8")
    with pytest.raises(UserError, match=r"b is empty in every row .*another column") as error:
        Text("text", str(tmp_path / "cache"), str(path), ["a", "b"], empty=empty).read()
    assert "empty=skip" not in str(error.value)


def test_missing_texts_are_no_shared_texts(negatives):
    text = negatives(2)
    assert not sharing(text_keys(text)).any()
    assert met(text, np.arange(8)) == 0
