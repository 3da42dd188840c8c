"""Keyed random numbers: numpy's own, for any key."""

import numpy as np
import pytest

from cse.data.streams import streams


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**40 + 7, 2**100 + 3])
def test_each_stream_is_the_one_that_numpy_makes_of_the_key(seed):
    rows, views = np.array([0, 1, 77, 2**31, 2**32 - 1]), [0, 1, 2**31]
    for epoch in (0, 3, 2**32 - 1):
        for view, made in zip(views, streams(seed, epoch, rows, views), strict=True):
            for row, rng in zip(rows.tolist(), made, strict=True):
                numpys = np.random.default_rng((seed, epoch, row, view))
                assert rng.bit_generator.state["state"] == numpys.bit_generator.state["state"]
                assert rng.permutation(9).tolist() == numpys.permutation(9).tolist()
