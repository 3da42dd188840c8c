"""The cosines of scored pairs beside their gold scores: stored before and after training, and cut into buckets.

Stored as plots/cosines_<when>.json: {evaluator: {split: [cosines, gold scores]}}.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from cse.files import write_text
from cse.types import Encode, Evaluator


def keep_cosines(
    folder: Path, when: Literal["before", "after"], evaluators: Mapping[str, Evaluator], encode: Encode
) -> None:
    """Store the cosines and gold scores of every evaluator that has pairs.

    Before training only of the first split: it is about to be scored anyway, the others would cost encoder passes.
    Raises RunError where the disk refuses.
    """
    stored: dict[str, dict[str, list[list[float]]]] = {}
    for name, evaluator in evaluators.items():
        for split in evaluator.splits[:1] if when == "before" else evaluator.splits:
            pairs = evaluator.cosines(encode, split)
            if pairs is not None:
                stored.setdefault(name, {})[split] = [values.astype(float).tolist() for values in pairs]
    write_text(folder / "plots" / f"cosines_{when}.json", json.dumps(stored))


def by_gold(
    cosines_N: Sequence[float] | np.ndarray, gold_N: Sequence[float] | np.ndarray, edges: Sequence[float]
) -> list[np.ndarray]:
    """The cosines in each bucket of the gold score: low <= gold < high, in the last bucket also gold = high."""
    cosines_N, gold_N = np.asarray(cosines_N), np.asarray(gold_N)
    return [
        cosines_N[(gold_N >= low) & ((gold_N < high) | ((gold_N == high) & (high == edges[-1])))]
        for low, high in pairwise(edges)
    ]
