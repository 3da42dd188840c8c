"""Make noisy text for NonLing-CSE's Figure 3.

The paper says only: "30% random deletion, and 2 insertions and swaps". Here this means delete=0.3, insert=2, swap=2.
The three edits are made in this order. An inserted word comes from the same text. At least one word is kept.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from typing_extensions import TypedDict

from cse.data.columns import Row
from cse.ranges import Natural, Seed, Share


class Noise(TypedDict):
    """The arguments of `add_noise`, and the seed of the draws."""

    delete: Share
    insert: Natural
    swap: Natural
    seed: Seed


def add_noise(text: str, delete: float, insert: int, swap: int, rng: np.random.Generator) -> str:
    """Delete each word with probability `delete`, then insert `insert` words, then swap `swap` pairs of words."""
    words = text.split()
    if not words:
        return text
    remaining = [word for word, stays in zip(words, rng.random(len(words)) >= delete, strict=True) if stays]
    out = remaining or [words[rng.integers(len(words))]]
    for _ in range(insert):
        out.insert(rng.integers(len(out) + 1), words[rng.integers(len(words))])
    for _ in range(swap):
        i, j = rng.integers(len(out), size=2)
        out[i], out[j] = out[j], out[i]
    return " ".join(out)


def with_noise(rows: Iterable[Row], noise: Noise, columns: int) -> Iterator[Row]:
    """Yield the rows with noise in the first `columns` cells. The seed and the row's number determine the noise."""
    for number, row in enumerate(rows):
        rng = np.random.default_rng((noise["seed"], number))
        texts = (add_noise(cell, noise["delete"], noise["insert"], noise["swap"], rng) for cell in row[:columns])
        yield (*texts, *row[columns:])
