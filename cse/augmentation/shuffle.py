"""Token shuffle (Pappadopulo & Farina 2024, section 3): permute a share p of the tokens among their own places.

The special token at each end stays, and so do the position ids, so only the order of the words changes.
"""

import math
from collections.abc import Callable

import numpy as np

from cse.augmentation.options import probability
from cse.errors import one_of
from cse.types import Augmentation

ROUND: dict[str, Callable[[float], int]] = {"round": round, "floor": math.floor, "ceil": math.ceil}


class Shuffle(Augmentation):
    """Of a row's n real tokens k are chosen without replacement and permuted uniformly (some may stay by chance).

    mode      count: k = max(min_k, rounding(p n)), at most n | bernoulli: each token is chosen with probability p
    rounding  round | floor | ceil, for mode=count
    min_k     2 makes every row of two tokens or more change; 0 leaves short rows alone where p n rounds to 0 or 1
    """

    def __init__(self, p: float, rounding: str, min_k: int, mode: str, model_dropout: float | None):
        probability("augmentation.p", p)
        one_of("augmentation.rounding", rounding, tuple(ROUND))
        one_of("augmentation.mode", mode, ("count", "bernoulli"))
        self.p, self.rounding, self.min_k, self.mode = p, rounding, min_k, mode
        self.model_dropout = model_dropout

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A copy of the row's ids (special tokens at both ends, truncated already), shuffled."""
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
