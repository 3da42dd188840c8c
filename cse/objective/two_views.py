"""The base of losses of two views: a head for training only, and float32 arithmetic."""

from collections.abc import Callable

from torch import Tensor, nn

from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


class TwoViews(Objective):
    """Base class. head: a partial of a module; it is called with `dim`. None: the loss reads the embeddings. equation:
    the loss of the head's outputs for two views, (B, P) each. If it returns a scalar, the loss has one term,
    "contrastive"."""

    num_views = 2
    min_rows = 2

    def __init__(
        self, dim: int, head: Callable[[int], nn.Module] | None, equation: Callable[[Tensor, Tensor], Loss | Tensor]
    ):
        super().__init__()
        self.head = None if head is None else head(dim)
        self.equation = equation

    def forward(self, views: list[Encoded]) -> Loss:
        """The loss of the first two views."""
        x_BP, y_BP = (self.through_head(view.pooled_BD) for view in views[:2])  # one by one: BatchNorm sees one view
        with full_precision(x_BP, y_BP) as (x_BP, y_BP):
            loss = self.equation(x_BP, y_BP)
        return loss if isinstance(loss, Loss) else Loss(loss, {"contrastive": loss})


class Contrast(TwoViews):
    """Base class of losses that compare each row with all rows of the other view."""

    def negatives(self, anchors: int) -> int:
        """The other rows of view 1."""
        return anchors - 1
