"""SimCSE (arXiv:2104.08821), Eq. 4 (two dropout views of a sentence) and Eq. 5 (entailment pair and hard negative).

    l_i = -log  exp(sim(h_i, h_i+) / t)  /  sum_j [ exp(sim(h_i, h_j+) / t) + a^[i=j] exp(sim(h_i, h_j-) / t) ]

B is the number of rows in the global batch, D the width. sim is the cosine and t the temperature. log a is
hard_negative_weight; the authors' code adds it to the logit. The loss is the mean of l_i, in one direction only: from
anchors to positives.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.equation import equation
from cse.errors import UserError
from cse.objective.blockwise import blockwise
from cse.ranges import NonNegative, Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


@equation()
def info_nce(
    anchors_BD: Tensor,
    positives_BD: Tensor,
    temperature: Positive,
    hard_negatives_BD: Tensor | None = None,
    hard_negative_weight: float = 0.0,
) -> Tensor:
    """The mean of l_i over the batch, a scalar. Each hard negative is compared with all B anchors (Eq. 5).

    For example:

        >>> anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> info_nce(anchors, positives, temperature=0.5)
        tensor(0.2775)
    """
    anchors_BD = normalize(anchors_BD, dim=1)
    others_CD = normalize(positives_BD, dim=1)
    if hard_negatives_BD is not None:
        others_CD = torch.cat([others_CD, normalize(hard_negatives_BD, dim=1)])

    def losses(start: int, end: int) -> Tensor:
        logits_bC = anchors_BD[start:end] @ others_CD.T / temperature
        if hard_negatives_BD is not None:
            logits_bC[:, len(anchors_BD) + start :].diagonal().add_(hard_negative_weight)
        return cross_entropy(logits_bC, torch.arange(start, end, device=logits_bC.device), reduction="none")

    return blockwise(losses, len(anchors_BD), len(others_CD)).mean()


class Simcse(Objective):
    """SimCSE, unsupervised (two views) and supervised (pairs, or pairs with hard negatives).

    head: a partial of a module; it is called with `dim`. keep_head: whether the head stays at test time (supervised) or
    is dropped (unsupervised). mlm_weight: the weight of the masked-language-model loss on masked copies of all views; 0
    for none.
    """

    min_rows = 2
    third_is_negative = True

    def __init__(
        self,
        dim: int,
        num_views: Annotated[int, Ge(2), Le(3)],
        temperature: Positive,
        head: Callable[[int], nn.Module],
        keep_head: bool,
        hard_negative_weight: float,
        mlm_weight: NonNegative,
    ):
        super().__init__()
        self.num_views = num_views
        self.masking = "copies" if mlm_weight else "none"
        self.temperature = temperature
        self.head: nn.Module = head(dim)
        self.keep_head = keep_head
        if hard_negative_weight and num_views < 3:
            raise UserError("it needs `num_views`=3", key="hard_negative_weight", value=hard_negative_weight)
        self.hard_negative_weight = hard_negative_weight
        self.mlm_weight = mlm_weight

    def forward(self, views: list[Encoded]) -> Loss:
        """Eq. 4 for two views, Eq. 5 for three, plus the weighted MLM loss. The last view holds the masked copies."""
        h_MBD = [self.head(view.pooled_BD) for view in views[: self.num_views]]
        with full_precision(*h_MBD) as (anchors_BD, positives_BD, *hard):
            hard_negatives_BD = hard[0] if hard else None
            contrastive = info_nce(
                anchors_BD, positives_BD, self.temperature, hard_negatives_BD, self.hard_negative_weight
            )
        if not self.mlm_weight:
            return Loss(contrastive, {"contrastive": contrastive})
        mlm = views[-1].mlm_loss()
        return Loss(contrastive + self.mlm_weight * mlm, {"contrastive": contrastive, "mlm": mlm})

    def negatives(self, anchors: int) -> int:
        """All rows of the other views except the anchor's own positive."""
        return (self.num_views - 1) * anchors - 1

    def test_head(self) -> nn.Module | None:
        """The head if keep_head, else None."""
        return self.head if self.keep_head else None
