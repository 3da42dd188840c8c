"""No augmentation: the views are already different texts (an NLI premise and its entailment, an aligned pair)."""

import numpy as np

from cse.ranges import BelowOne
from cse.types import Augmentation


class Identity(Augmentation):
    """Every view unchanged. model_dropout: the encoder's dropout. None: the dropout of the checkpoint."""

    keeps_text = needs_columns = True

    def __init__(self, model_dropout: BelowOne | None):
        self.model_dropout = model_dropout

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The row's ids, unchanged."""
        return ids
