"""The masked-language-model loss alone (BERT, arXiv:1810.04805): the MLM arm of DeCLUTR's ablation, Figure 3.

L = sum over all masked tokens of -log p(original token) / number of masked tokens of the batch
"""

from cse.types import Encoded, Loss, Objective


class Mlm(Objective):
    """Masks and reads view 0; there is no head and no other view."""

    num_views = 1
    masking = "first"

    def __init__(self, dim: int):
        super().__init__()

    def forward(self, views: list[Encoded]) -> Loss:
        """The mean over view 0's masked tokens. Raises ValueError for a view that was not masked."""
        mlm = views[0].mlm_loss()
        return Loss(mlm, {"mlm": mlm})
