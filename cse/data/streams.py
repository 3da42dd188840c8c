"""numpy's random streams for many keys at once, hashed together.

default_rng((seed, epoch, row, view)) spends nearly all its time in SeedSequence, which mixes the key's 32-bit words
into a pool of four and draws the generator's state from it (numpy/random/bit_generator.pyx, after M. E. O'Neill's
seed_seq_fe). Here one pass of the same arithmetic, modulo 2^32, serves all rows.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, cycle, pairwise, repeat

import numpy as np
from numpy.random import PCG64, Generator
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

POOL = 4
INIT_A, MULT_A = 0x43B0D7E5, 0x931E8875
INIT_B, MULT_B = 0x8B51F9DD, 0x58F38DED
MIX_L, MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
STATE_WORDS = 8  # of PCG64


def streams(seed: int, epoch: int, rows_N: np.ndarray, views: Sequence[int]) -> list[list[Generator]]:
    """default_rng((seed, epoch, row, view)) for each row, view after view; all but the seed are below 2^32."""
    places = np.tile(rows_N.astype(np.uint32), len(views)), np.repeat(np.array(views, np.uint32), len(rows_N))
    states = _states(np.stack(np.broadcast_arrays(*_words(seed), np.uint32(epoch), *places)))
    made = [Generator(PCG64(_Hashed(state))) for state in states]  # type: ignore[arg-type]  # any ISeedSequence will do
    return [made[first : first + len(rows_N)] for first in range(0, len(made), len(rows_N))]


class _Hashed(ISeedSequence):
    """The words that a SeedSequence would give to PCG64."""

    def __init__(self, state: np.ndarray):
        self.state = state

    def generate_state(self, n_words: int, dtype: object = np.uint32) -> np.ndarray:
        """The four uint64 that PCG64 asks for."""
        return self.state


def _words(number: int) -> list[np.uint32]:
    """A number's 32-bit words, the lowest first; 0 has one."""
    return [np.uint32(number >> shift & 0xFFFFFFFF) for shift in range(0, max(1, number.bit_length()), 32)]


def _states(key_WN: np.ndarray) -> np.ndarray:
    """(W, N) words of N keys, W >= POOL -> (N, 4) uint64, the state of each key's PCG64."""
    constants = _constants(INIT_A, MULT_A)
    pool = [_hashed(word_N, *next(constants)) for word_N in key_WN[:POOL]]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                pool[target] = _mixed(pool[target], _hashed(pool[source], *next(constants)))
    for word_N in key_WN[POOL:]:
        for target in range(POOL):
            pool[target] = _mixed(pool[target], _hashed(word_N, *next(constants)))
    drawn = zip(range(STATE_WORDS), cycle(pool), _constants(INIT_B, MULT_B), strict=False)
    words = [_hashed(word_N, *constant) for _, word_N, constant in drawn]
    return np.stack(words, axis=1).astype("<u4").view("<u8").astype(np.uint64)


def _constants(first: int, factor: int) -> Iterator[tuple[np.uint32, np.uint32]]:
    """(c, c f), (c f, c f^2), ...: what each hash xors with and multiplies by."""
    return pairwise(map(np.uint32, accumulate(repeat(factor), lambda c, f: c * f & 0xFFFFFFFF, initial=first)))


def _hashed(x_N: np.ndarray, xor: np.uint32, factor: np.uint32) -> np.ndarray:
    x_N = (x_N ^ xor) * factor
    return x_N ^ (x_N >> 16)


def _mixed(x_N: NDArray[np.uint32], y_N: NDArray[np.uint32]) -> NDArray[np.uint32]:
    both_N = x_N * MIX_L - y_N * MIX_R
    return both_N ^ (both_N >> 16)
