"""Lines in columns: every cell is whole, and numbers end alike."""

from cse.columns import in_columns


def test_each_column_is_as_wide_as_its_widest_cell():
    rows = [("score", "value", ""), ("average", "1.25", "x"), ("spearman_wmean", "-10.50", "")]
    assert in_columns(rows, right=(1,)).splitlines() == [
        "score            value",
        "average           1.25  x",
        "spearman_wmean  -10.50",
    ]
