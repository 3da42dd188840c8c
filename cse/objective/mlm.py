"""The masked-language-model loss alone (BERT, arXiv:1810.04805), as in DeCLUTR's ablation, Figure 3.

L = sum over all masked tokens of -log p(original token) / number of masked tokens in the batch
"""

from cse.types import Encoded, Loss, Objective


class Mlm(Objective):
    """The masked-language-model loss on view 0, the only view. The objective adds no projection head."""

    num_views = 1
    masking = "first"

    def __init__(self, dim: int):
        super().__init__()

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the mean loss over view 0's masked tokens. Raises ValueError for a view that was not masked."""
        mlm = views[0].mlm_loss()
        return Loss(mlm, {"mlm": mlm})
