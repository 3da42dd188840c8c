"""SimCSE (arXiv:2104.08821), Eq. 4 (two dropout views of a sentence) and Eq. 5 (entailment pair and hard negative).

    l_i = -log  exp(sim(h_i, h_i+) / t)  /  sum_j [ exp(sim(h_i, h_j+) / t) + sum_k a^[i=j] exp(sim(h_i, h_jk-) / t) ]

B is the number of rows in the global batch, D the width, K the number of hard negatives of a row (1 in the paper), and
N = K B. sim is the cosine and t the temperature. log a is hard_negative_weight; the authors' code adds it to the logit.
A missing negative adds nothing. The loss is the mean of l_i, in one direction only: from anchors to positives.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.equation import equation, multiple_of, real
from cse.errors import UserError
from cse.objective.blockwise import blockwise
from cse.ranges import NonNegative, Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective, missing_rows


@equation(N=multiple_of("B"), missing_N=real)
def info_nce(
    anchors_BD: Tensor,
    positives_BD: Tensor,
    temperature: Positive,
    hard_negatives_ND: Tensor | None = None,
    hard_negative_weight: float = 0.0,
    missing_N: Tensor | None = None,
) -> Tensor:
    """Return the mean of l_i over the batch, a scalar.

    hard_negatives_ND: the first hard negative of every row, then the second of every row, and so on. Each hard negative
    is compared with all B anchors (Eq. 5). missing_N: whether each hard negative is missing.

    For example:

        >>> anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> info_nce(anchors, positives, temperature=0.5)
        tensor(0.2775)
    """
    anchors_BD = normalize(anchors_BD, dim=1)
    others_CD = normalize(positives_BD, dim=1)
    rows = len(anchors_BD)
    if hard_negatives_ND is not None:
        others_CD = torch.cat([others_CD, normalize(hard_negatives_ND, dim=1)])

    def losses(start: int, end: int) -> Tensor:
        logits_bC = anchors_BD[start:end] @ others_CD.T / temperature
        for first in range(rows, len(others_CD), rows):  # each row's own first negative, own second, ...
            logits_bC[:, first + start :].diagonal().add_(hard_negative_weight)
        if missing_N is not None:
            logits_bC[:, rows:].masked_fill_(missing_N, -torch.inf)
        return cross_entropy(logits_bC, torch.arange(start, end, device=logits_bC.device), reduction="none")

    return blockwise(losses, rows, len(others_CD)).mean()


class Simcse(Objective):
    """SimCSE, unsupervised (two views) and supervised (pairs, or pairs with any number of hard negatives).

    num_views: the number of views (anchor, positive, negatives); None: one view for each column of the data, or two
    views of plain text. head: a partial of a module; it is called with `dim`. None: the loss reads the embeddings.
    keep_head: whether the head stays at test time (supervised) or is dropped (unsupervised). mlm_weight: the weight of
    the masked-language-model loss on masked copies of all views; 0: no such loss. symmetric: whether to average l with
    the loss from positives to anchors, without hard negatives (sentence-transformers'
    MultipleNegativesSymmetricRankingLoss).
    """

    min_rows = 2
    further_are_negatives = True

    def __init__(
        self,
        dim: int,
        num_views: Annotated[int, Ge(2)] | None,
        temperature: Positive,
        head: Callable[[int], nn.Module] | None,
        keep_head: bool,
        hard_negative_weight: float,
        mlm_weight: NonNegative,
        symmetric: bool = False,
    ):
        super().__init__()
        self.num_views = num_views or 2
        self.masking = "copies" if mlm_weight else "none"
        self.temperature = temperature
        self.head = None if head is None else head(dim)
        self.keep_head = keep_head
        if hard_negative_weight and self.num_views < 3:
            why = "it needs hard negatives: use objective=simcse_sup with a third column in data.columns"
            raise UserError(why, key="hard_negative_weight", value=hard_negative_weight)
        self.hard_negative_weight = hard_negative_weight
        self.mlm_weight, self.symmetric = mlm_weight, symmetric

    def forward(self, views: list[Encoded]) -> Loss:
        """Return Eq. 4 for two views, Eq. 5 for more, plus the weighted MLM loss of the last view (masked copies)."""
        missing_N = missing_rows(views[2 : self.num_views])
        h_MBD = [self.through_head(view.pooled_BD) for view in views[: self.num_views]]
        with full_precision(*h_MBD) as (anchors_BD, positives_BD, *hard):
            negatives_ND = torch.cat(hard) if hard else None
            weight = self.hard_negative_weight
            contrastive = info_nce(anchors_BD, positives_BD, self.temperature, negatives_ND, weight, missing_N)
            if self.symmetric:
                contrastive = (contrastive + info_nce(positives_BD, anchors_BD, self.temperature)) / 2
        if not self.mlm_weight:
            return Loss(contrastive, {"contrastive": contrastive})
        mlm = views[-1].mlm_loss()
        return Loss(contrastive + self.mlm_weight * mlm, {"contrastive": contrastive, "mlm": mlm})

    def negatives(self, anchors: int) -> int:
        """Return the number of rows in the other views, including missing rows, without the anchor's own positive."""
        return (self.num_views - 1) * anchors - 1

    def test_head(self) -> nn.Module | None:
        """Return the head if keep_head is true, or else None."""
        return self.head if self.keep_head else None
