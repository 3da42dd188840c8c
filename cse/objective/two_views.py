"""What losses of two views share: a head that only training uses, and float32 arithmetic."""

from collections.abc import Callable

from torch import Tensor, nn

from cse.ranges import Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


class TwoViews(Objective):
    """Base class: a loss of the head's outputs for two views, `compare`. head: partial, called with `dim`."""

    num_views = 2
    min_rows = 2

    def __init__(self, dim: int, head: Callable[[int], nn.Module]):
        super().__init__()
        self.head: nn.Module = head(dim)

    def compare(self, x_BP: Tensor, y_BP: Tensor) -> Loss:
        """The loss of the batch, and its terms."""
        raise NotImplementedError

    def forward(self, views: list[Encoded]) -> Loss:
        """The loss of the first two views."""
        x_BP, y_BP = (self.head(view.pooled_BD) for view in views[:2])  # one by one: BatchNorm sees one view
        with full_precision(x_BP, y_BP) as (x_BP, y_BP):
            return self.compare(x_BP, y_BP)


class Contrast(TwoViews):
    """Base class of losses that compare each row with all rows of the other view, by one equation, `contrast`."""

    def __init__(self, dim: int, head: Callable[[int], nn.Module], temperature: Positive):
        super().__init__(dim, head)
        self.temperature = temperature

    def contrast(self, anchors_BD: Tensor, positives_BD: Tensor) -> Tensor:
        """The loss of the batch, a scalar."""
        raise NotImplementedError

    def compare(self, x_BP: Tensor, y_BP: Tensor) -> Loss:
        """The loss, which is its only term."""
        contrastive = self.contrast(x_BP, y_BP)
        return Loss(contrastive, {"contrastive": contrastive})

    def negatives(self, anchors: int) -> int:
        """The other rows of view 1."""
        return anchors - 1
