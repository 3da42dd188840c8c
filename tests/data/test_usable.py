"""Rows without text: up to 1 % are counted and named at every start, more are refused."""

import logging

import pytest

from cse.data.usable import usable
from cse.errors import UserError


def test_usable():
    """Something visible, and no NUL."""
    for cell in ("", "\t \u3000", "\u200b\u200d\ufeff", "\x01\x02", "fine\0text", "\u2028", "\xad"):
        assert not usable(cell)
    for cell in ("a", ".", "  x  ", "\u4f60", "\u0627\u0644", "\U0001f44d", "a\u200bb", "\u0301"):
        assert usable(cell)


def test_a_few_are_said_at_every_start_and_stay(prepared, caplog):
    lines = [f"sentence {i}" for i in range(300)]
    lines[6], lines[200], lines[250] = " ", "\u200b", "a" * (2**20 + 1)
    for _ in range(2):  # read, then from the cache
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            text = prepared(lines)
        assert "3 of 300 rows" in caplog.text
        assert "row 7" in caplog.text
    assert (len(text), text.text(6), text.text(250)) == (300, " ", " ")


def test_more_than_one_percent_is_refused_and_leaves_no_cache(tmp_path, prepared):
    lines = [f"sentence {i}" for i in range(100)]
    lines[3:5] = [" ", " "]
    with pytest.raises(UserError, match=r"2 of the 100 rows .*row 4"):
        prepared(lines)
    assert not list((tmp_path / "cache" / "text").iterdir())
