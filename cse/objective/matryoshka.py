"""Matryoshka representation learning (arXiv:2205.13147, Eq. 1): any objective also trains the first m channels alone.

    L = sum over m in M of  c_m L_m( W^(m)( x_{1:m} ) )

M are the widths, including D. x_{1:m} are the first m channels of the embedding x. W^(m) is the training head of width
m, and L_m the objective's loss. Each width has its own head (MRL). If the head stays at test time, all widths share one
head, and its output is truncated: L_m( W(x)_{1:m} ). If the objective has a language-model loss, each L_m includes this
loss, which is equal at all widths.
"""

from collections.abc import Callable, Sequence
from typing import cast

from torch import Tensor, nn

from cse.errors import UserError
from cse.types import Encoded, Loss, Objective


class Leading(nn.Module):
    """A head that returns the first channels of another head's output. The other head belongs to another module."""

    def __init__(self, head: nn.Module, width: int):
        super().__init__()
        self.of, self.out_dim = (head,), width  # in a tuple, the head does not become a submodule

    def forward(self, x_BD: Tensor) -> Tensor:
        """Map (B, D) to (B, width)."""
        return self.of[0](x_BD)[:, : self.out_dim]


def leading(view: Encoded, width: int) -> Encoded:
    """Return the view with only the first `width` channels of its embeddings."""
    known = {name: x[:, :width] if name == "momentum_BD" else x for name, x in view.known.items()}
    return Encoded(view.pooled_BD[:, :width], known)


class Matryoshka(Objective):
    """The weighted sum of an objective's losses at several widths. Each width has its own copy of the objective.

    make: builds the objective; it is called with `dim`, and with `head` if all widths share a head. widths: M, in any
    order. weights: c_m; None means 1 each. Raises UserError unless the largest width is the width of the encoder.
    """

    def __init__(
        self, dim: int, make: Callable[..., Objective], widths: Sequence[int], weights: Sequence[float] | None
    ):
        super().__init__()
        if max(widths) != dim:
            why = f"the largest must be {dim}, the width of the embedding"
            raise UserError(why, key="widths", value=[*widths])
        if weights is not None and len(weights) != len(widths):
            raise UserError(f"`width_weights` needs {len(widths)} numbers, as many as `widths`, not {len(weights)}")
        self.widths, self.weights = list(widths), [1.0] * len(widths) if weights is None else list(weights)
        whole = make(dim=dim)
        keeps_head = whole.test_head() is not None

        def narrow(width: int) -> Objective:
            if not keeps_head:
                return make(dim=width)
            return make(dim=dim, head=lambda _: Leading(cast(nn.Module, whole.head), width))

        self.by_width = nn.ModuleDict({str(width): whole if width == dim else narrow(width) for width in widths})
        self.read = {width: dim if keeps_head else width for width in widths}  # channels of the embedding
        self.whole = (whole,)
        for name in {*Objective.__annotations__} - {"head"}:  # attributes that the loop reads
            setattr(self, name, getattr(whole, name))
        self.__dict__["head"] = whole.head  # a second modality may share it; its parameters belong to the objective

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the weighted sum over widths. `parts` holds the terms of each width, as `width96/NAME`."""
        total: Tensor | float = 0.0
        parts: dict[str, Tensor] = {}
        for width, weight in zip(self.widths, self.weights, strict=True):
            loss = self.by_width[str(width)]([leading(view, self.read[width]) for view in views])
            total = total + weight * loss.total
            parts |= {f"width{width}/{name}": part for name, part in loss.parts.items()}
        return Loss(cast(Tensor, total), parts)

    def negatives(self, anchors: int) -> int:
        """Return the objective's number of negatives. The number is equal at all widths: the rows are the same."""
        return self.whole[0].negatives(anchors)

    def test_head(self) -> nn.Module | None:
        """Return the objective's head at test time."""
        return self.whole[0].test_head()
