"""BERT's masking for the MLM loss (arXiv:1810.04805, section 3.1). SimCSE and DeCLUTR add this loss to their own loss.

Each token that is not special is selected with probability .15. A share of .8 of the selected tokens becomes the mask
token, .1 become random tokens, and .1 stay unchanged. The encoder predicts the original token of every selected token.
"""

from typing import TYPE_CHECKING

import numpy as np

from cse.errors import UserError
from cse.ranges import Share

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase

IGNORE = -100


class Masking:
    """Masks rows of token ids. Call `bind` before `masked`. The attribute `ids` has the vocabulary's ids.

    mask_share, random_share: shares of the selected tokens. The other selected tokens stay unchanged.
    """

    def __init__(self, probability: Share, mask_share: Share, random_share: Share):
        if mask_share + random_share > 1:
            raise UserError(f"the sum of `mask_share`={mask_share} and `random_share`={random_share} exceeds 1")
        self.probability, self.mask_share, self.random_share = probability, mask_share, random_share

    def bind(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Take the mask token, the special tokens and the vocabulary's ids from a Hugging Face tokenizer.

        Raises UserError if the tokenizer has no mask token.
        """
        if tokenizer.mask_token_id is None:
            raise UserError("this model's tokenizer has no mask token, so this model cannot train with an MLM loss")
        self.mask_id = int(tokenizer.mask_token_id)
        self.ids = np.array(sorted({*tokenizer.get_vocab().values()}))  # a vocabulary may have gaps
        self.is_special = np.zeros(self.ids[-1] + 1, dtype=bool)
        self.is_special[tokenizer.all_special_ids] = True

    def masked(self, ids: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return (masked ids, labels) of a row of ids, both (T) int64. labels: the original id of a selected token, and
        -100 for any other token.

        Special tokens (padding, separators, the unknown token) are never selected. A random token may be special.
        """
        ids = ids.astype(np.int64)  # a copy, and room for -100
        selected = (rng.random(len(ids)) < self.probability) & ~self.is_special[ids]
        fate = rng.random(len(ids))
        to_mask = selected & (fate < self.mask_share)
        to_random = selected & (fate >= self.mask_share) & (fate < self.mask_share + self.random_share)
        labels = np.where(selected, ids, IGNORE)
        ids[to_mask] = self.mask_id
        ids[to_random] = self.ids[rng.integers(len(self.ids), size=int(to_random.sum()))]
        return ids, labels
