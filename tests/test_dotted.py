"""Nested settings under dotted keys."""

from cse.dotted import flattened


def test_nested_keys_are_joined_by_dots_in_order():
    assert list(flattened({"a": 1, "b": {"c": None, "d": {"e": [1, {"f": 2}]}}, 3: "x"}).items()) == [
        ("a", 1), ("b.c", None), ("b.d.e", [1, {"f": 2}]), ("3", "x"),
    ]  # fmt: skip


def test_an_empty_mapping_leaves_nothing():
    assert flattened({"a": {}, "b": {"c": {}}}) == {}
