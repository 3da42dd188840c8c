"""The base classes of losses of two views, with a head for training only, and float32 arithmetic."""

from collections.abc import Callable

from torch import Tensor, nn

from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


class TwoViews(Objective):
    """Base class of losses of two views. head: a partial of a module; it is called with `dim`. None: the loss reads the
    embeddings. equation: a function from the head's outputs for two views, (B, P) each, to the loss. If the function
    returns a scalar, the loss has one term, "contrastive"."""

    num_views = 2
    min_rows = 2

    def __init__(
        self, dim: int, head: Callable[[int], nn.Module] | None, equation: Callable[[Tensor, Tensor], Loss | Tensor]
    ):
        super().__init__()
        self.head = None if head is None else head(dim)
        self.equation = equation

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the loss of the first two views."""
        x_BP, y_BP = (self.through_head(view.pooled_BD) for view in views[:2])  # BatchNorm's statistics are over a view
        with full_precision(x_BP, y_BP) as (x_BP, y_BP):
            loss = self.equation(x_BP, y_BP)
        return loss if isinstance(loss, Loss) else Loss(loss, {"contrastive": loss})


class Contrast(TwoViews):
    """Base class of contrastive losses. By default, each row of view 0 is compared with all rows of view 1."""

    def negatives(self, anchors: int) -> int:
        """Return the number of other rows in view 1."""
        return anchors - 1
