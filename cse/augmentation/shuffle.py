"""Token shuffle (Pappadopulo & Farina 2024, section 3): permute a share p of the tokens among their positions.

The special tokens at both ends and the position ids do not move. So only the order of the words changes.
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from cse.ranges import BelowOne, Natural, Share
from cse.types import Augmentation

Rounding = Literal["round", "floor", "ceil"]
ROUND: dict[Rounding, Callable[[float], int]] = {"round": round, "floor": math.floor, "ceil": math.ceil}


class Shuffle(Augmentation):
    """Views in which k random tokens of a row's n real tokens are permuted uniformly. A token may keep its position.

    mode      count: k = max(min_k, rounding(p n)), at most n | bernoulli: each token is chosen with probability p
    rounding  round | floor | ceil, for mode=count
    min_k     2: every row of two or more tokens is permuted; 0: a row stays as it is if p n is rounded to 0 or 1
    """

    def __init__(
        self,
        p: Share,
        rounding: Rounding,
        min_k: Natural,
        mode: Literal["count", "bernoulli"],
        model_dropout: BelowOne | None,
    ):
        self.p, self.rounding, self.min_k, self.mode = p, rounding, min_k, mode
        self.model_dropout = model_dropout

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the row's ids shuffled. The ids are already truncated, with special tokens at both ends."""
        n = len(ids) - 2
        if n < 2:
            return ids
        if self.mode == "bernoulli":
            places = 1 + np.flatnonzero(rng.random(n) < self.p)
        else:
            k = min(n, max(self.min_k, ROUND[self.rounding](self.p * n)))
            places = 1 + rng.choice(n, size=k, replace=False)
        shuffled = ids.copy()
        shuffled[places] = ids[rng.permutation(places)]
        return shuffled
