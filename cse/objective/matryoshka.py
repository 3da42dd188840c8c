"""Matryoshka representation learning (arXiv:2205.13147, Eq. 1) over any objective: leading channels are embeddings too.

    L = sum over m in M of  c_m L_m( W^(m)( x_{1:m} ) )

M widths, D among them; x_{1:m} the first m channels of the embedding x that is kept; W^(m) the training head of width
m; L_m the objective's loss. Each width has a head of its own (MRL). A head that stays at test time makes the embedding,
so there is one, and its output is cut: L_m( W(x)_{1:m} ). A language-model loss is in each L_m, the same at all widths.
"""

from collections.abc import Callable, Sequence
from typing import cast

from torch import Tensor, nn

from cse.errors import UserError
from cse.types import Encoded, Loss, Objective


class Leading(nn.Module):
    """The first channels of a head's output. The head and its parameters belong to another module."""

    def __init__(self, head: nn.Module, width: int):
        super().__init__()
        self.of, self.out_dim = (head,), width  # in a tuple it is no submodule

    def forward(self, x_BD: Tensor) -> Tensor:
        """(B, D) -> (B, width)."""
        return self.of[0](x_BD)[:, : self.out_dim]


def leading(view: Encoded, width: int) -> Encoded:
    """The view with the first channels of its embeddings."""
    known = {name: x[:, :width] if name == "momentum_BD" else x for name, x in view.known.items()}
    return Encoded(view.pooled_BD[:, :width], known)


class Matryoshka(Objective):
    """The weighted sum of one objective at several widths, each with its own state.

    make: builds the objective; called with `dim`, and with `head` where all widths share one. widths: M, in any order.
    weights: c_m, None for 1 each. Raises UserError for widths whose largest is not the encoder's.
    """

    def __init__(
        self, dim: int, make: Callable[..., Objective], widths: Sequence[int], weights: Sequence[float] | None
    ):
        super().__init__()
        if max(widths) != dim:
            why = f"the largest must be {dim}, the width of the embedding"
            raise UserError(why, key="widths", value=[*widths])
        if weights is not None and len(weights) != len(widths):
            raise UserError(f"`width_weights` has {len(weights)} values for {len(widths)} `widths`")
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
        for name in {*Objective.__annotations__} - {"head"}:  # what the objective asks of the loop
            setattr(self, name, getattr(whole, name))
        self.__dict__["head"] = whole.head  # a second modality may share it; its parameters are the objective's

    def forward(self, views: list[Encoded]) -> Loss:
        """The sum over widths, and each width's terms as `width96/NAME`."""
        total: Tensor | float = 0.0
        parts: dict[str, Tensor] = {}
        for width, weight in zip(self.widths, self.weights, strict=True):
            loss = self.by_width[str(width)]([leading(view, self.read[width]) for view in views])
            total = total + weight * loss.total
            parts |= {f"width{width}/{name}": part for name, part in loss.parts.items()}
        return Loss(cast(Tensor, total), parts)

    def negatives(self, anchors: int) -> int:
        """The objective's: they are the same rows at every width."""
        return self.whole[0].negatives(anchors)

    def test_head(self) -> nn.Module | None:
        """The objective's."""
        return self.whole[0].test_head()
