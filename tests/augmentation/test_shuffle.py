"""Token shuffle: how many tokens move, which, and that nothing but a permutation happens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cse.augmentation.shuffle import Shuffle


def shuffle(p, rounding="round", min_k=2, mode="count"):
    return Shuffle(p, rounding, min_k, mode, model_dropout=0.0)


def moved(augmentation, n, rows, seed=0):
    """The mean number of tokens that move in a row of n distinct ones."""
    ids = np.arange(n + 2)
    rng = np.random.default_rng(seed)
    return np.mean([(augmentation.tokens(ids, rng) != ids).sum() for _ in range(rows)])


@given(
    st.lists(st.integers(5, 30), max_size=40),
    st.floats(0, 1),
    st.sampled_from(["round", "floor", "ceil"]),
    st.integers(0, 3),
    st.sampled_from(["count", "bernoulli"]),
    st.integers(0, 2**32 - 1),
)
def test_a_permutation_between_fixed_ends(tokens, p, rounding, min_k, mode, seed):
    ids = np.array([101, *tokens, 102])
    ids.flags.writeable = False  # the row itself is part of the cache
    out = shuffle(p, rounding, min_k, mode).tokens(ids, np.random.default_rng(seed))
    assert (out[0], out[-1]) == (101, 102)
    assert sorted(out) == sorted(ids)


@pytest.mark.parametrize(("p", "n", "options", "k"), [
    (0.5, 20, {}, 10), (0.05, 20, {}, 2), (0.05, 20, {"min_k": 0}, 1), (0.1, 27, {}, 3),
    (0.1, 27, {"rounding": "floor"}, 2), (0.1, 22, {"rounding": "ceil"}, 3), (1.0, 5, {}, 5),
    (0.2, 30, {"mode": "bernoulli"}, 6 + 0.8**30),  # K ~ Binomial(30, .2); nothing moves if K = 0
])  # fmt: skip
def test_the_share_of_tokens_that_move(p, n, options, k):
    """A uniform permutation of k places has one fixed point on average, whatever k is."""
    assert moved(shuffle(p, **options), n, rows=4000) == pytest.approx(k - 1, abs=0.12)


def test_every_place_and_every_order_is_equally_likely():
    rng = np.random.default_rng(1)
    outs = [tuple(shuffle(1.0).tokens(np.array([0, 1, 2, 3, 9]), rng)[1:-1]) for _ in range(6000)]
    orders, counts = np.unique(outs, axis=0, return_counts=True)
    assert len(orders) == 6
    assert counts == pytest.approx([1000] * 6, abs=120)
    places = np.array([shuffle(0.5).tokens(np.arange(8), rng) != np.arange(8) for _ in range(6000)])[:, 1:-1]
    assert places.mean(0) == pytest.approx([2 / 6] * 6, abs=0.03)
