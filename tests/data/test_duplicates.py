"""Rows that share a text: they are counted, and kept in different batches."""

import csv

import numpy as np
import pytest

from cse.augmentation.dropout import Dropout
from cse.data.duplicates import apart, met, sharing, text_keys
from cse.data.loader import Batches
from cse.data.rows import TextRows
from cse.data.text import Text
from cse.data.views import Views
from cse.model.tokenizer import Tokenizer


def sharing_pairs(text: Text, batches: list[np.ndarray]) -> int:
    return sum(met(text, rows) for rows in batches)


@pytest.fixture
def pairs(tmp_path):
    """A function that prepares queries with fewer answers than queries."""

    def prepared(rows: int, answers: int) -> TextRows:
        with open(tmp_path / "a.csv", "w", newline="") as file:
            csv.writer(file).writerows([("q", "p"), *[(f"query {i}", f"answer {i % answers}") for i in range(rows)]])
        return Text("text", str(tmp_path / "cache"), str(tmp_path / "a.csv"), ["q", "p"]).read()

    return prepared


def test_rows_share_a_text_in_whatever_column_but_not_with_themselves():
    keys = np.array([[1, 1], [2, 3], [4, 2], [5, 6], [7, 6]])
    assert sharing(keys).tolist() == [False, True, True, True, True]


def test_the_rows_of_a_text_that_share_a_cell(pairs):
    assert sharing(text_keys(pairs(30, 10))).all()
    assert sharing(text_keys(pairs(30, 29))).sum() == 2
    assert met(pairs(30, 10), np.array([0, 10, 11, 12])) == 2


@pytest.mark.parametrize(("rows", "answers", "batch_size", "drop_last"), [
    (200, 20, 16, False), (200, 20, 16, True), (203, 30, 8, False), (64, 64, 8, False),
])  # fmt: skip
def test_no_two_rows_of_a_batch_share_a_text(pairs, tiny_tokenizer, rows, answers, batch_size, drop_last):
    text = pairs(rows, answers)

    def epochs(no_duplicates: bool) -> list[list[np.ndarray]]:
        options = {"num_views": 2, "masking": "none", "mask": None, "max_length": 32, "seed": 1}
        views = Views(text, Tokenizer(tiny_tokenizer, 64), Dropout(None), **options)
        fixed = {"batch_size": batch_size, "drop_last": drop_last, "rank": 0, "world": 1}
        batches = Batches(views, no_duplicates=no_duplicates, **fixed)
        steps = batches.steps_per_epoch
        return [[batches.row_numbers_of(epoch * steps + step) for step in range(steps)] for epoch in range(2)]

    for plain, kept in zip(epochs(False), epochs(True), strict=True):
        assert sharing_pairs(text, kept) == 0
        assert [*map(len, kept)] == [*map(len, plain)]
        used = np.concatenate(kept)
        assert len(set(used.tolist())) == len(used)
        if answers == rows:  # nothing to move
            assert all(map(np.array_equal, plain, kept))
        else:
            assert sharing_pairs(text, plain) > 0


def test_rows_without_room_fill_what_is_left():
    order, keys = np.arange(12), np.zeros((12, 1), int)
    moved = apart(order, keys, 4)
    assert sorted(moved.tolist()) == [*range(12)]
    assert moved[[0, 4, 8]].tolist() == [0, 1, 2]
