"""Noise: each operation, and none."""

import numpy as np

from cse.data.noise import add_noise

WORDS = [f"w{i}" for i in range(200)]


def noisy(delete: float, insert: int, swap: int) -> list[str]:
    return add_noise(" ".join(WORDS), delete, insert, swap, np.random.default_rng(0)).split()


def test_each_operation_alone_does_what_its_option_says():
    assert noisy(0.0, 0, 0) == WORDS
    left = noisy(0.3, 0, 0)
    assert left == sorted(left, key=WORDS.index)  # in order, none twice
    assert abs(len(left) - 140) < 4 * np.sqrt(200 * 0.3 * 0.7)  # binomial, four standard deviations
    more = noisy(0.0, 2, 0)
    assert len(more) == 202
    assert set(more) == set(WORDS)
    swapped = noisy(0.0, 0, 2)
    assert sorted(swapped) == sorted(WORDS)
    assert 0 < sum(a != b for a, b in zip(swapped, WORDS, strict=True)) <= 4


def test_at_least_one_word_is_kept():
    assert add_noise("one two", 1.0, 0, 0, np.random.default_rng(0)) in ("one", "two")
    assert add_noise(" ", 0.5, 2, 2, np.random.default_rng(0)) == " "
