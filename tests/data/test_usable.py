"""Rows without text: up to 1 % are counted and named at every start, more are refused."""

import logging

import numpy as np
import pytest

from cse.data.text import Text
from cse.data.usable import check_labels, usable
from cse.errors import UserError


def test_usable():
    """Something visible, and no NUL."""
    for cell in ("", "\t \u3000", "\u200b\u200d\ufeff", "\x01\x02", "fine\0text", "\u2028", "\xad"):
        assert not usable(cell)
    for cell in ("a", ".", "  x  ", "\u4f60", "\u0627\u0644", "\U0001f44d", "a\u200bb", "\u0301"):
        assert usable(cell)


def prepared(tmp_path, lines: list[str]) -> Text:
    path = tmp_path / "a.csv"
    path.write_text("one,two\n" + "".join(f"{line}\n" for line in lines))
    text = Text("mine", str(tmp_path / "cache"), str(path), ["one", "two"])
    text.prepare()
    return text


def test_a_few_are_said_at_every_start(tmp_path, caplog):
    lines = [f"premise {i},hypothesis {i}" for i in range(300)]
    lines[6], lines[200] = "premise,", "\u200b,hypothesis"
    for _ in range(2):  # read, then from the cache
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            text = prepared(tmp_path, lines)
        assert "data=mine: 2 of 300 rows are empty, invisible or hold NUL (the first: row 7)" in caplog.text
    assert len(text) == 300
    assert text.text(6, 1) == " "


def test_more_than_one_percent_is_refused_and_leaves_no_cache(tmp_path):
    lines = [f"premise {i},hypothesis {i}" for i in range(100)]
    lines[3:5] = ["premise,", "premise, "]
    with pytest.raises(UserError, match=r"2 of the 100 rows of data=mine cannot be used, more than 1% .*row 4"):
        prepared(tmp_path, lines)
    assert not list((tmp_path / "cache" / "text").iterdir())


def test_one_class_is_said(caplog):
    check_labels(np.zeros(12), 4, "clips", "folder")
    assert "folder: all 12 clips are of one class" in caplog.text
    caplog.clear()
    check_labels(np.array([0, 1]), 2, "clips", "folder")
    assert not caplog.text
