"""GISTEmbed (arXiv:2402.16829): a contrastive loss without the false negatives that a guide finds.

    l_i = -log  exp(sim(q_i, p_i) / t)  /  sum_{(x, y) in K_i} exp(sim(x, y) / t)
    K_i = the kept pairs of  { (q_i, p_j), (q_i, q_j), (p_i, p_j), (q_i, n_j) }

A negative pair is left out of K_i if the guide finds it more similar than the row's own pair: sim_guide >
sim_guide(q_i, p_i). A negative pair of equal similarity is kept, as in the paper. So if several rows have the same
positive, the positive of one row is a negative of the others. n_j are hard negatives. A row may have any number of
them. B is the number of rows in the global batch, N the number of hard negatives, D the width, and E the guide's width.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.equation import Known, at_least, equation, real
from cse.objective.blockwise import blockwise
from cse.ranges import AnyPooling, EncoderName, Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective, missing_rows

TIE = 1e-6  # cosines that differ by less are equal here: sums and matrix products round the same cosine differently


def of_all_negatives(size: int, known: Known) -> str:
    """Return "" if N is the number of rows in all views after the second, or else what N must be."""
    wanted = (known["M"] - 2) * known["B"]
    return "" if size == wanted else f"{wanted}, for {known['M'] - 2} hard negatives a row"


@equation(M=at_least(2), N=of_all_negatives, missing_N=real)
def guided(
    views_BD: list[Tensor], guides_BE: list[Tensor], temperature: Positive, missing_N: Tensor | None = None
) -> Tensor:
    """Return the mean of l_i, a scalar.

    views_BD: queries, positives and, optionally, hard negatives. guides_BE: the guide's vectors of the same texts.
    missing_N: whether each hard negative is missing, view after view.

    For example:

        >>> queries = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> guide = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> guided([queries, positives], [guide, guide], temperature=0.5)
        tensor(0.7198)
    """
    anchors_BD, positives_BD, *hard = (normalize(x_BD, dim=1) for x_BD in views_BD)
    guide_BE, guide_positives_BE, *guide_hard = (normalize(x_BE, dim=1) for x_BE in guides_BE)
    others_CD = torch.cat([positives_BD, anchors_BD, *hard])
    guide_others_CE = torch.cat([guide_positives_BE, guide_BE, *guide_hard])
    most_B1 = (guide_BE * guide_positives_BE).sum(1, keepdim=True) + TIE
    rows = len(anchors_BD)

    def losses(start: int, end: int) -> Tensor:
        some = slice(start, end)
        of_anchors_bC = anchors_BD[some] @ others_CD.T
        of_positives_bB = positives_BD[some] @ positives_BD.T
        left_out_bC = guide_BE[some] @ guide_others_CE.T > most_B1[some]
        left_out_bB = guide_positives_BE[some] @ guide_positives_BE.T > most_B1[some]
        if missing_N is not None:
            left_out_bC[:, 2 * rows :] |= missing_N
        left_out_bC[:, start:].fill_diagonal_(False)  # the pair itself
        left_out_bC[:, rows + start :].fill_diagonal_(True)  # no row is its own negative
        left_out_bB[:, start:].fill_diagonal_(True)
        logits = torch.cat([of_anchors_bC, of_positives_bB], 1) / temperature
        logits = logits.masked_fill(torch.cat([left_out_bC, left_out_bB], 1), -torch.inf)
        return cross_entropy(logits, torch.arange(start, end, device=logits.device), reduction="none")

    return blockwise(losses, rows, len(others_CD) + rows).mean()


class Gist(Objective):
    """GISTEmbed on the pooled embeddings of two views, or of more views with hard negatives.

    num_views: the number of views (anchor, positive, negatives); None: one view for each column of the data. teacher:
    the guide, any checkpoint that model.name accepts. teacher_pooling: the guide's pooling; None: the recorded pooling.
    head: a partial of a module; it is called with `dim`. The module is dropped at test time. None: the loss reads the
    embeddings.
    """

    min_rows = 2
    further_are_negatives = True
    pairs_texts = True

    def __init__(
        self,
        dim: int,
        num_views: Annotated[int, Ge(2)] | None,
        temperature: Positive,
        teacher: EncoderName,
        teacher_pooling: AnyPooling | None,
        head: Callable[[int], nn.Module] | None = None,
    ):
        super().__init__()
        self.head = None if head is None else head(dim)
        self.num_views = num_views or 2
        self.temperature = temperature
        self.teachers, self.teacher_pooling = {teacher: 1.0}, teacher_pooling

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the loss of one global batch."""
        guides_BE = [view.known["teacher_BE"] for view in views]
        missing_N = missing_rows(views[2:])
        with full_precision(*(self.through_head(view.pooled_BD) for view in views), *guides_BE) as exact:
            return Loss(guided(list(exact[: len(views)]), list(exact[len(views) :]), self.temperature, missing_N))

    def negatives(self, anchors: int) -> int:
        """Return the number of a row's negative pairs, kept or left out."""
        return 3 * (anchors - 1) + (self.num_views - 2) * anchors
