"""No augmentation: the views are already different texts (an NLI premise and its entailment, an aligned pair)."""

import numpy as np

from cse.ranges import BelowOne
from cse.types import Augmentation


class Identity(Augmentation):
    """Views that are the unchanged texts. model_dropout: the encoder's dropout; None: the checkpoint's dropout."""

    keeps_text = needs_columns = True

    def __init__(self, model_dropout: BelowOne | None):
        self.model_dropout = model_dropout

    def tokens(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the row's ids unchanged."""
        return ids
