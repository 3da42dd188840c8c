"""WhitenedCSE (Zhuo et al., ACL 2023): shuffled group whitening (SGW) makes the positives of Eq. 7 and 8.

    h_p = head(SGW_p(x_p)),   p = 0 .. M - 1, each p with its own permutation of the channels
    L1  = sum_p lambda_p mean_i l_ip,   l_ip = -log softmax_j( cos(h_i0, h_jp) / t )_i,   p = 1 .. M - 1

View 0 is the anchor. Other anchors are not negatives. B is the number of rows in the batch, M of views, and P = M - 1
of positives. D is the width.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Literal, assert_never, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from cse.device import to_device
from cse.equation import Known, at_least, equation, one_less_than, permutation_of
from cse.errors import UserError, within
from cse.objective.blockwise import blockwise
from cse.objective.whitening import Decomposition, ShuffledGroupWhitening, valid_groups, whiten_views
from cse.ranges import Count, NonNegative, Positive, Several, Share
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective, Settings

Kind = Literal["L1", "L2_softmin", "L2_hard", "L2_literal"]


def spanned(num_groups: int, known: Known) -> str:
    """Return "" if the rows span each group of channels, or else the valid values of num_groups."""
    valid = valid_groups(known["D"], known["B"], known["eps"])
    return (
        ""
        if num_groups in valid
        else f"one of {', '.join(map(str, valid))} for {known['B']} rows of width {known['D']}"
    )


@equation(B=at_least(2), num_groups=spanned, permutation=permutation_of("D"))
def shuffled_group_whitening(
    x_BD: Tensor,
    num_groups: Count,
    permutation: Tensor | None = None,
    eps: Share = 1e-5,
    kind: Decomposition = "zca",
    grad: Literal["detach", "through"] = "detach",
) -> Tensor:
    """Whiten each of `num_groups` groups of channels over the batch (Eq. 6). Each channel keeps its place.

    permutation: (D,) int64. Shuffled channel j is channel permutation[j]. None: neighbouring channels form a group.
    eps: the shrinkage of C to (1 - eps) C + eps (tr C / s) I. The authors' code has eps = 0.
    kind: zca | pca | cholesky.
    grad: "detach" treats W as a constant (the authors' code). "through" differentiates W too.

    For example:

        >>> x = torch.tensor([[2.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 3.0], [1.0, 4.0, 2.0, 2.0]])
        >>> z = shuffled_group_whitening(x, num_groups=2, permutation=torch.tensor([0, 2, 1, 3]))
        >>> z.var(0, correction=0)
        tensor([1.0000, 1.0000, 1.0000, 1.0000])
    """
    permutations_1D = None if permutation is None else permutation[None]
    return whiten_views(x_BD[None], num_groups, permutations_1D, eps=eps, kind=kind, grad=grad)[0]


@equation(M=at_least(2), weights=one_less_than("M"))
def multi_positive(
    views_MBD: Tensor, temperature: Positive, weights: Sequence[NonNegative] | None = None, kind: Kind = "L1"
) -> Tensor:
    """Return the loss of view 0 against each of the M - 1 other views, a scalar. weights: lambda_p; None means 1 each.

    L1          sum_p lambda_p mean_i l_ip  (Eq. 7)
    L2_softmin  mean_i log sum_p lambda_p exp(l_ip): the least similar positive dominates, as Eq. 8 intends
    L2_hard     -mean_i log sum_p lambda_p exp(-l_ip): the most similar positive dominates (the authors' variant)
    L2_literal  -mean_i log sum_p lambda_p exp(-sim_ip) / Z_ip: Eq. 8 as published, which pushes positives apart

    For example:

        >>> anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> multi_positive(torch.stack([anchors, positives, anchors]), temperature=0.5)
        tensor(0.4044)
    """
    h_MBD = normalize(views_MBD, dim=-1)
    sim_PB = (h_MBD[0] * h_MBD[1:]).sum(2) / temperature

    def log_z(start: int, end: int) -> Tensor:
        return (h_MBD[0, start:end] @ h_MBD[1:].mT / temperature).logsumexp(2).T

    log_z_PB = blockwise(log_z, h_MBD.shape[1], sim_PB.numel()).T
    l_PB = log_z_PB - sim_PB
    weights_P = l_PB.new_ones(len(l_PB))
    if weights is not None:
        weights_P = to_device(torch.tensor(weights, dtype=l_PB.dtype), l_PB.device)
    if kind == "L1":
        return weights_P @ l_PB.mean(1)
    log_weights_P1 = weights_P.log()[:, None]
    if kind == "L2_softmin":
        return (log_weights_P1 + l_PB).logsumexp(0).mean()
    if kind == "L2_hard":
        return -(log_weights_P1 - l_PB).logsumexp(0).mean()
    if kind == "L2_literal":
        return -(log_weights_P1 - sim_PB - log_z_PB).logsumexp(0).mean()
    assert_never(kind)


class WhitenedCSE(Objective):
    """An objective that whitens each of m views of the pooled embedding, applies the head, and contrasts the views.

    head: a partial of a module; it is called with `dim`. whitening: a partial of ShuffledGroupWhitening.
    m: the number of views of a sentence, including the anchor. source: "dropout": m passes through the encoder (the
    authors' code); "shared_backbone": one pass, whitened m times (the paper's text). pooler: the embedding that is
    scored: "cls_before_mlp", "mlp_no_whitening", or "mlp_whitening" (running moments and one fixed permutation).
    """

    min_rows = 2

    def __init__(
        self,
        dim: int,
        head: Callable[[int], nn.Module],
        whitening: Callable[..., ShuffledGroupWhitening],
        m: Several,
        source: Literal["dropout", "shared_backbone"],
        loss: Kind,
        weights: list[NonNegative] | None,
        temperature: Positive,
        pooler: Literal["cls_before_mlp", "mlp_no_whitening", "mlp_whitening"],
    ):
        super().__init__()
        if weights is not None and len(weights) != m - 1:
            raise UserError(f"`weights` needs {m - 1} numbers, one for each positive of `m`={m}, not {len(weights)}")
        self.num_views = self.views_of({"m": m, "source": source})
        self.head: nn.Module = head(dim)
        with within("whitening"):
            self.whitening = whitening(dim, track=pooler == "mlp_whitening")
        self.min_rows = self.whitening.min_rows
        self.m = m
        self.loss = loss
        self.weights = weights and list(weights)
        self.temperature = temperature
        self.pooler = pooler
        if source == "shared_backbone" and not self.whitening.diversifies:
            raise UserError(
                "each positive would equal its anchor: the positives differ only if `whitening` has shuffle=true, "
                "layout=per_view, 1 < num_groups < width, and a kind other than none",
                key="source",
                value=source,
            )
        if pooler == "mlp_whitening" and self.whitening.kind == "none":
            instead = "use `pooler`=mlp_no_whitening"
            raise UserError("it needs `whitening`, but its kind is none", key="pooler", value=pooler, instead=instead)

    def negatives(self, anchors: int) -> int:
        """Return the number of other rows in one view: the softmax of each positive is over the positive's view."""
        return anchors - 1

    @classmethod
    def views_of(cls, settings: Settings) -> int:
        """Return the number of passes through the encoder: m, or 1 if the output is whitened m times."""
        return settings["m"] if settings["source"] == "dropout" else 1

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the multi-positive loss of the head's output for whitened views. Raises RunError after a collapse."""
        x_MBD = torch.stack([view.pooled_BD for view in views[: self.num_views]])
        with full_precision(x_MBD) as (x_MBD,):
            z_MBD = self.whitening(x_MBD.expand(self.m, -1, -1))
        h_MBD = self.head(z_MBD.flatten(0, 1)).unflatten(0, (self.m, -1))
        with full_precision(h_MBD) as (h_MBD,):
            contrastive = multi_positive(h_MBD, self.temperature, self.weights, self.loss)
        return Loss(contrastive, {"contrastive": contrastive})

    @torch.no_grad()
    def test_head(self) -> nn.Module | None:
        """Return None, the head, or a head that includes the running whitening, depending on `pooler`."""
        if self.pooler == "cls_before_mlp":
            return None
        if self.pooler == "mlp_no_whitening":
            return self.head
        # The running whitening is affine, so the head's linear layer can include it: W A^T x + b - W A^T mean
        matrix_DD, mean_D = self.whitening.affine()
        head = deepcopy(self.head)
        linear = cast(nn.Linear, head.get_submodule("linear"))
        linear.weight.copy_(linear.weight @ matrix_DD.T)
        linear.bias.sub_(linear.weight @ mean_D)
        return head
