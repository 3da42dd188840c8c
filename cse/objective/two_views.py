"""What unsupervised losses of two views share: a head that is there in training alone, and float32 arithmetic."""

from collections.abc import Callable

from torch import Tensor, nn

from cse.ranges import Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


class TwoViews(Objective):
    """Base class: a loss of the head's outputs for two views, `contrast`. head: partial, called with `dim`."""

    num_views = 2
    min_rows = 2

    def __init__(self, dim: int, head: Callable[[int], nn.Module], temperature: Positive):
        super().__init__()
        self.head: nn.Module = head(dim)
        self.temperature = temperature

    def contrast(self, anchors_BD: Tensor, positives_BD: Tensor) -> Tensor:
        """The loss of the batch, a scalar."""
        raise NotImplementedError

    def forward(self, views: list[Encoded]) -> Loss:
        """The loss of the first two views."""
        h_MBD = [self.head(view.pooled_BD) for view in views[:2]]
        with full_precision(*h_MBD) as (anchors_BD, positives_BD):
            contrastive = self.contrast(anchors_BD, positives_BD)
        return Loss(contrastive, {"contrastive": contrastive})

    def negatives(self, anchors: int) -> int:
        """The other rows of view 1."""
        return anchors - 1
