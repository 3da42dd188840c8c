"""ESimCSE (arXiv:2109.04380): SimCSE with word repetition (cse.augmentation.repetition) and a queue of negatives.

    l_i = -log  exp(sim(h_i, h_i+) / t)  /  ( sum_j exp(sim(h_i, h_j+) / t) + sum_q exp(sim(h_i, g_q) / t) )

g_q are embeddings of sentences from earlier batches. The momentum encoder (without dropout) and the head computed them
at the step of their batch. B is the number of rows in the global batch, D the width, and Q the number of rows in the
queue. The equation is from the authors' code and from four summaries of Section 3.2. The paper's text was not available
(docs/papers/esimcse.md).
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.equation import at_least, equation, integers
from cse.objective.blockwise import blockwise
from cse.ranges import BelowOne, Count, Positive
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


@equation(Q=at_least(0), rows_B=integers, rows_Q=integers)
def esimcse(
    anchors_BD: Tensor,
    positives_BD: Tensor,
    queue_QD: Tensor,
    temperature: Positive,
    rows_B: Tensor | None = None,
    rows_Q: Tensor | None = None,
) -> Tensor:
    """Return the mean of l_i, a scalar. A row of zeros in the queue is an empty place, and is ignored.

    rows_B, rows_Q: the indices of the anchors and of the queue's vectors in the data. A row is never its own negative.

    For example:

        >>> anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> queue = torch.tensor([[0.6, -0.8], [0.0, 0.0]])
        >>> esimcse(anchors, positives, queue, temperature=0.5)
        tensor(0.5085)
    """
    anchors_BD = normalize(anchors_BD, dim=1)
    others_CD = normalize(torch.cat([positives_BD, queue_QD]), dim=1)
    left_out_BQ = (~queue_QD.any(1)).expand(len(anchors_BD), -1)
    if rows_B is not None and rows_Q is not None:
        left_out_BQ = left_out_BQ | (rows_B[:, None] == rows_Q)

    def losses(start: int, end: int) -> Tensor:
        logits_bC = anchors_BD[start:end] @ others_CD.T / temperature
        logits_bC[:, len(anchors_BD) :].masked_fill_(left_out_BQ[start:end], -torch.inf)
        return cross_entropy(logits_bC, torch.arange(start, end, device=logits_bC.device), reduction="none")

    return blockwise(losses, len(anchors_BD), len(others_CD)).mean()


class Esimcse(Objective):
    """ESimCSE on two views. The first view is the unchanged sentence.

    head: a partial of a module; it is called with `dim`. The module is used in training only. momentum: the coefficient
    of cse.training.momentum. memory_size: the number of rows in the queue. After each loss, the batch replaces the
    queue's oldest rows. The loss of a row leaves out copies of the same row from an earlier epoch. The authors train
    for one epoch, so their queue has no such copies.
    """

    num_views = 2
    min_rows = 2
    reads_rows = True

    def __init__(
        self,
        dim: int,
        head: Callable[[int], nn.Module],
        temperature: Positive,
        momentum: BelowOne,
        memory_size: Count,
    ):
        super().__init__()
        self.head: nn.Module = head(dim)
        self.temperature, self.momentum, self.memory_size = temperature, momentum, memory_size
        self.memory_QD: Tensor
        self.rows_Q: Tensor
        self.register_buffer("memory_QD", torch.zeros(memory_size, cast(int, self.head.out_dim)))
        self.register_buffer("rows_Q", torch.full((memory_size,), -1))

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the mean of l_i, and put the batch into the queue."""
        first, second = views
        with torch.no_grad():
            keys_BD = self.head(first.known["momentum_BD"])
        vectors = self.head(first.pooled_BD), self.head(second.pooled_BD), keys_BD
        rows_B = first.known["rows_B"]
        with full_precision(*vectors) as (x_BD, y_BD, keys_BD):
            contrastive = esimcse(x_BD, y_BD, self.memory_QD, self.temperature, rows_B, self.rows_Q)
        self.rows_Q = torch.cat([self.rows_Q, rows_B])[-self.memory_size :]
        self.memory_QD = torch.cat([self.memory_QD, keys_BD])[-self.memory_size :]
        return Loss(contrastive, {"contrastive": contrastive})

    def negatives(self, anchors: int) -> int:
        """Return the number of other rows in view 1, plus the rows of the queue."""
        return anchors - 1 + self.memory_size
