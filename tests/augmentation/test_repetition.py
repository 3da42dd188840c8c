"""ESimCSE's repetition: how many places, which, and that nothing but repetition happens."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cse.augmentation.repetition import Repetition


def repetition(rate=0.3, unit="wordpieces", count="paper"):
    return Repetition(rate, unit, count, model_dropout=None)


def added(augmentation, n, draws):
    """{number of tokens added to a row of n distinct ones: share of draws}."""
    rng = np.random.default_rng(0)
    ids = np.arange(n + 2)
    numbers, counts = np.unique([len(augmentation.tokens(ids, rng)) - n - 2 for _ in range(draws)], return_counts=True)
    return dict(zip(numbers.tolist(), (counts / draws).tolist(), strict=True))


def code_for_pieces(n, rate, draw):
    """The number of pieces that the authors' loader repeats: their `randrange`, on a row with two special tokens."""
    return draw.randrange(min(10, int(rate * (n + 2)))) if int(rate * (n + 2)) > 0 else 0


def code_for_words(n, rate, draw):
    """The number of words that it repeats."""
    return draw.randrange(min(10, n, max(2, int(rate * n))))


@given(
    st.lists(st.integers(5, 30), max_size=40),
    st.floats(0, 1),
    st.sampled_from(["paper", "released"]),
    st.integers(0, 2**32 - 1),
)
def test_tokens_stay_in_order_and_occur_once_or_twice(tokens, rate, count, seed):
    ids = np.array([101, *(100 * place + token for place, token in enumerate(tokens, start=10)), 102])
    ids.flags.writeable = False  # the row itself is part of the cache
    out = repetition(rate, count=count).tokens(ids, np.random.default_rng(seed))
    assert (out[0], out[-1]) == (101, 102)
    values, counts = np.unique(out[1:-1], return_counts=True)
    assert values.tolist() == sorted(ids[1:-1].tolist())
    assert (out[1:-1] == np.repeat(values, counts)).all()
    assert set(counts) <= {1, 2}
    assert len(out) - len(ids) <= max(2, int(rate * len(tokens)))


@pytest.mark.parametrize(("n", "most"), [(20, 6), (3, 2), (1, 1), (30, 9)])
def test_the_number_of_repetitions_is_uniform_up_to_the_papers_largest(n, most):
    assert added(repetition(), n, draws=6000) == pytest.approx(dict.fromkeys(range(most + 1), 1 / (most + 1)), abs=0.03)


def test_every_place_is_repeated_equally_often():
    rng = np.random.default_rng(1)
    twice = np.zeros(8)
    for _ in range(6000):
        twice += np.bincount(repetition(0.5).tokens(np.arange(10), rng), minlength=10)[1:-1] - 1
    assert twice / 6000 == pytest.approx([2 / 8] * 8, abs=0.03)  # 0..4 of eight


@pytest.mark.parametrize("n", [1, 2, 8, 20, 60])
@pytest.mark.parametrize("unit", ["wordpieces", "words"])
def test_released_repeats_as_often_as_the_authors_code(n, unit):
    code, draw = {"wordpieces": code_for_pieces, "words": code_for_words}[unit], random.Random(0)
    numbers = [code(n, 0.3, draw) for _ in range(3000)]
    expected = {number: numbers.count(number) / 3000 for number in set(numbers)}
    augmentation, rng = repetition(unit=unit, count="released"), np.random.default_rng(0)
    if unit == "wordpieces":
        found = added(augmentation, n, draws=3000)
    else:
        words = [f"w{i}" for i in range(n)]
        views = [augmentation.views(" ".join(words), 1, rng)[0].split(" ") for _ in range(3000)]
        assert all(view.count(words[-1]) == 1 for view in views)
        lengths = [len(view) - n for view in views]
        found = {length: lengths.count(length) / 3000 for length in set(lengths)}
    assert found == pytest.approx(expected, abs=0.045)


def test_words_are_repeated_whole():
    view = repetition(1.0, "words").views("mi  kadan-lofel ta", 1, np.random.default_rng(0))[0]
    assert list(dict.fromkeys(view.split(" "))) == ["mi", "kadan-lofel", "ta"]


def test_a_row_does_not_exceed_the_models_maximum_length():
    augmentation = repetition(1.0)
    augmentation.bind(SimpleNamespace(model_max_length=12))
    rng = np.random.default_rng(0)
    assert max(len(augmentation.tokens(np.arange(11), rng)) for _ in range(50)) == 12
    assert len(augmentation.tokens(np.arange(12), rng)) == 12
