"""SimCSE's augmentation (arXiv:2104.08821): the same text twice; the encoder's dropout makes the views differ."""

import numpy as np

from cse.ranges import BelowOne
from cse.types import Augmentation


class Dropout(Augmentation):
    """Views that are the unchanged text. p: dropout of hidden states and attention; None: the checkpoint's dropout."""

    keeps_text = True

    def __init__(self, p: BelowOne | None):
        self.p = self.model_dropout = p

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the row's ids unchanged."""
        return ids
