"""Lines in columns: every cell is whole, and numbers end alike."""

import logging

from cse.columns import PrintableHandler, in_columns, markdown_cell, printable


def test_each_column_is_as_wide_as_its_widest_cell():
    rows = [("score", "value", ""), ("average", "1.25", "x"), ("spearman_wmean", "-10.50", "")]
    assert in_columns(rows, right=(1,)).splitlines() == [
        "score            value",
        "average           1.25  x",
        "spearman_wmean  -10.50",
    ]


def test_nothing_that_a_terminal_obeys_is_shown(capsys):
    hostile = "\x1b]0;x\x07\x1b[2J\r\x9b31m\u202e\u2028\u200f\x7f"
    assert printable(hostile).isprintable()
    assert len(printable(hostile)) == len(hostile)
    for text in ("plain", "ü 中 👩\u200d🚀 co\xadop", "two\nlines\tand a tab"):
        assert printable(text) == text
    assert "\x1b" not in in_columns([("a", hostile)])
    assert PrintableHandler().format(logging.makeLogRecord({"msg": "%s", "args": (hostile,)})) == printable(hostile)
    assert markdown_cell("<img src=x> ![a](b)") == r"\<img src=x> ![a]\(b)"
    assert markdown_cell("a|b\n# c\x1b") == r"a\|b # c" + chr(0x241B)
