"""Noise and subsets of text: what the options say, the same for the same seed, and nothing where they say nothing."""

import numpy as np
import pytest

from cse.data.noise import add_noise
from cse.data.text import Text, chosen_rows

WORDS = [f"w{i}" for i in range(200)]
TEXT = " ".join(WORDS)


def rng(seed: int = 0):
    return np.random.default_rng(seed)


def test_each_operation_alone():
    assert add_noise(TEXT, 0.0, 0, 0, rng()) == TEXT
    left = add_noise(TEXT, 0.3, 0, 0, rng()).split()
    assert left == sorted(left, key=WORDS.index)  # in order, none twice
    assert abs(len(left) - 140) < 4 * np.sqrt(200 * 0.3 * 0.7)  # binomial, four standard deviations
    more = add_noise(TEXT, 0.0, 2, 0, rng()).split()
    assert len(more) == 202
    assert set(more) == set(WORDS)
    swapped = add_noise(TEXT, 0.0, 0, 2, rng()).split()
    assert sorted(swapped) == sorted(WORDS)
    assert 0 < sum(a != b for a, b in zip(swapped, WORDS, strict=True)) <= 4


def test_something_always_stays():
    assert add_noise("one two", 1.0, 0, 0, rng()) in ("one", "two")
    assert add_noise(" ", 0.5, 2, 2, rng()) == " "


def test_limits():
    assert list(chosen_rows(10, None, None)) == list(range(10))
    assert list(chosen_rows(10, 4, None)) == [0, 1, 2, 3]
    assert len(chosen_rows(10, 40, None)) == 10
    assert len(chosen_rows(10, 0.4, None)) == 4
    assert len(chosen_rows(10, 1.0, 3)) == 10
    some, more, others = chosen_rows(1000, 100, 1), chosen_rows(1000, 300, 1), chosen_rows(1000, 100, 2)
    assert set(some) < set(more)
    assert len(set(some) & set(others)) < 30
    assert list(some) == sorted(set(some))


@pytest.mark.parametrize("level", [0.0, 0.4])
def test_text_reads_spoiled_rows(tmp_path, level):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(f"row{i} {TEXT}" for i in range(20)) + "\n")
    noise = {"delete": level, "insert": 0, "swap": 0, "seed": 0}
    spoiled = Text("text", str(tmp_path / "cache"), str(path), noise=noise, limit=5, limit_seed=7)
    plain = Text("text", str(tmp_path / "cache"), str(path), limit=5, limit_seed=7)
    spoiled.prepare()
    plain.prepare()
    assert len(spoiled) == len(plain) == 5
    assert plain.text(0).split()[1:] == WORDS
    assert [int(plain.text(i).split()[0][3:]) for i in range(5)] == list(chosen_rows(20, 5, 7))
    lengths = [len(spoiled.text(i).split()) for i in range(5)]
    assert (lengths == [201] * 5) == (level == 0.0)
    again = Text("text", str(tmp_path / "other_cache"), str(path), noise=noise, limit=5, limit_seed=7)
    again.prepare()
    assert [again.text(i) for i in range(5)] == [spoiled.text(i) for i in range(5)]
