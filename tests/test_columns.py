"""Text in columns, on terminals and in tables: aligned, and with nothing that a terminal would obey."""

import logging

from cse.columns import PrintableHandler, in_columns, markdown_cell, printable


def test_columns_are_as_wide_as_their_widest_cell_and_align_numbers_to_the_right():
    rows = [("score", "value", ""), ("average", "1.25", "x"), ("spearman_wmean", "-10.50", "")]
    assert in_columns(rows, right=(1,)).splitlines() == [
        "score            value",
        "average           1.25  x",
        "spearman_wmean  -10.50",
    ]


def test_nothing_that_a_terminal_obeys_is_printed():
    hostile = "\x1b]0;x\x07\x1b[2J\r\x9b31m\u202e\u2028\u200f\x7f"
    assert printable(hostile).isprintable()
    assert len(printable(hostile)) == len(hostile)
    for harmless in ("plain", "ü 中 👩\u200d🚀 co\xadop", "two\nlines\tand a tab"):
        assert printable(harmless) == harmless
    assert "\x1b" not in in_columns([("a", hostile)])
    assert PrintableHandler().format(logging.makeLogRecord({"msg": "%s", "args": (hostile,)})) == printable(hostile)
    assert markdown_cell("<img src=x> ![a](b)") == r"\<img src=x> ![a]\(b)"
    assert markdown_cell("a|b\n# c\x1b") == r"a\|b # c" + chr(0x241B)
