"""RankCSE (arXiv:2305.16726): SimCSE's loss, and a listwise loss that learns a teacher's ranking of the batch.

    L = InfoNCE(S / t1) + beta JS( softmax(S / t1), softmax(S' / t1) ) + gamma L_rank(S / t2, T)

S_ij is the cosine of view 0 of row i and view 1 of row j. S' = S^T is the other direction. T_ij is the weighted mean of
this cosine over the teachers. JS is the Jensen-Shannon divergence. L_rank is ListNet or ListMLE. ListNet is the cross
entropy between softmax(T / t3) and softmax(S / t2). ListMLE is -log of the Plackett-Luce probability of the order of T
under S / t2. B is the number of rows in the global batch, b the number of rows in a block, and E the teachers' width.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, nll_loss, normalize

from cse.equation import at_least, equation, finite
from cse.objective.blockwise import blockwise
from cse.ranges import AnyPooling, EncoderName, NonNegative, Positive, Share
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


def off_diagonal(x_bB: Tensor, start: int) -> Tensor:
    """Return each row without its diagonal entry, (b, B - 1). start: the index of the block's first row."""
    rows, columns = x_bB.shape
    own_b1 = torch.arange(start, start + rows, device=x_bB.device)[:, None]
    return torch.where(torch.arange(columns - 1, device=x_bB.device) < own_b1, x_bB[:, :-1], x_bB[:, 1:])


def divergences(p_bB: Tensor, q_bB: Tensor) -> Tensor:
    """Return the Jensen-Shannon divergence of each row, (b,). p, q: the log-probabilities of the two distributions."""
    middle_bB = torch.logaddexp(p_bB, q_bB) - math.log(2)
    return (p_bB.exp() * (p_bB - middle_bB) + q_bB.exp() * (q_bB - middle_bB)).sum(1) / 2


@equation()
def consistency(similarities_BB: Tensor, temperature: Positive) -> Tensor:
    """Return the mean over rows of the Jensen-Shannon divergence between the distributions of the two directions.

    For example:

        >>> similarities = torch.tensor([[0.9, 0.1, 0.3], [0.4, 0.8, 0.2], [0.0, 0.5, 0.7]])
        >>> consistency(similarities, temperature=0.5)
        tensor(0.0177)
    """
    p_BB = (similarities_BB / temperature).log_softmax(1)
    q_BB = (similarities_BB.T / temperature).log_softmax(1)
    return divergences(p_BB, q_BB).mean()


def listnet_costs(
    student_bB: Tensor, teacher_bB: Tensor, temperature: float, teacher_temperature: float, start: int
) -> Tensor:
    """Return `listnet` of each row, (b,). start: the index of the block's first row."""
    target = (off_diagonal(teacher_bB, start) / teacher_temperature).softmax(1)
    return -(target * (off_diagonal(student_bB, start) / temperature).log_softmax(1)).sum(1)


@equation(B=at_least(2), teacher_BB=finite)
def listnet(student_BB: Tensor, teacher_BB: Tensor, temperature: Positive, teacher_temperature: Positive) -> Tensor:
    """Return the mean over rows of the cross entropy between teacher's and student's distributions over other rows.

    For example:

        >>> student = torch.tensor([[0.9, 0.1, 0.3], [0.4, 0.8, 0.2], [0.0, 0.5, 0.7]])
        >>> teacher = torch.tensor([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
        >>> listnet(student, teacher, temperature=0.5, teacher_temperature=0.25)
        tensor(0.7094)
    """
    return listnet_costs(student_BB, teacher_BB, temperature, teacher_temperature, start=0).mean()


def listmle_costs(student_bB: Tensor, teacher_bB: Tensor, temperature: float) -> Tensor:
    """Return `listmle` of each row, (b,)."""
    order_bB = teacher_bB.argsort(stable=True, dim=1, descending=True)
    ranked_bB = student_bB.gather(1, order_bB) / temperature
    return (ranked_bB.flip(1).logcumsumexp(1).flip(1) - ranked_bB).sum(1)


@equation(teacher_BB=finite)
def listmle(student_BB: Tensor, teacher_BB: Tensor, temperature: Positive) -> Tensor:
    """Return the mean over rows of -log P(the teacher's order). Ties keep the order of the batch.

    For example:

        >>> student = torch.tensor([[0.9, 0.1, 0.3], [0.4, 0.8, 0.2], [0.0, 0.5, 0.7]])
        >>> teacher = torch.tensor([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
        >>> listmle(student, teacher, temperature=0.5)
        tensor(1.2525)
    """
    return listmle_costs(student_BB, teacher_BB, temperature).mean()


class Rankcse(Objective):
    """RankCSE on two dropout views.

    teacher, second_teacher: any checkpoints that model.name accepts; None: no second teacher. teacher_weight: alpha,
    the weight of the first teacher. teacher_pooling: the pooling of both teachers; None: the pooling that each
    teacher records. head: a partial of a module; it is called with `dim`. The module is dropped at test time.
    """

    num_views = 2
    min_rows = 2

    def __init__(
        self,
        dim: int,
        teacher: EncoderName,
        second_teacher: EncoderName | None,
        teacher_weight: Share,
        teacher_pooling: AnyPooling | None,
        ranking: Literal["listmle", "listnet"],
        temperature: Positive,
        student_temperature: Positive,
        teacher_temperature: Positive,
        consistency_weight: NonNegative,
        ranking_weight: NonNegative,
        head: Callable[[int], nn.Module],
    ):
        super().__init__()
        self.head: nn.Module = head(dim)
        self.teachers, self.teacher_pooling = {teacher: 1.0}, teacher_pooling
        if second_teacher not in (None, teacher):
            self.teachers = {teacher: teacher_weight, str(second_teacher): 1 - teacher_weight}
        self.ranking = ranking
        self.temperature = temperature
        self.student_temperature, self.teacher_temperature = student_temperature, teacher_temperature
        self.consistency_weight, self.ranking_weight = consistency_weight, ranking_weight

    def forward(self, views: list[Encoded]) -> Loss:
        """Return the weighted sum of the three terms. `parts` holds the unweighted terms."""
        vectors = [self.head(view.pooled_BD) for view in views] + [view.known["teacher_BE"] for view in views]
        with full_precision(*vectors) as (x_BD, y_BD, of_first_BE, of_second_BE):
            x_BD, y_BD = normalize(x_BD, dim=1), normalize(y_BD, dim=1)

            def costs(start: int, end: int) -> Tensor:  # (b, 3): the terms of each row
                some = slice(start, end)
                student_bB, teacher_bB = x_BD[some] @ y_BD.T, of_first_BE[some] @ of_second_BE.T
                places_b = torch.arange(start, end, device=x_BD.device)
                contrastive_b = cross_entropy(student_bB / self.temperature, places_b, reduction="none")
                p_bB = (student_bB / self.temperature).log_softmax(1)
                back_bB = student_bB.T if len(student_bB) == len(x_BD) else y_BD[some] @ x_BD.T
                q_bB = (back_bB / self.temperature).log_softmax(1)
                ranking_b = self.rank(student_bB, teacher_bB, start)
                return torch.stack([contrastive_b, divergences(p_bB, q_bB), ranking_b], 1)

            contrastive_B, consistency_B, ranking_B = blockwise(costs, len(x_BD), len(x_BD)).T.contiguous()
            parts = {
                # the mean: nll_loss adds the rows in the same order as cross_entropy; `mean` does not
                "contrastive": nll_loss(-contrastive_B[:, None], torch.zeros_like(contrastive_B, dtype=torch.long)),
                "consistency": consistency_B.mean(),
                "ranking": ranking_B.mean(),
            }
        weighted = self.consistency_weight * parts["consistency"] + self.ranking_weight * parts["ranking"]
        return Loss(parts["contrastive"] + weighted, parts)

    def rank(self, student_bB: Tensor, teacher_bB: Tensor, start: int) -> Tensor:
        """Return L_rank of each row, (b,). start: the index of the block's first row."""
        if self.ranking == "listnet":
            temperatures = self.student_temperature, self.teacher_temperature
            return listnet_costs(student_bB, teacher_bB, *temperatures, start=start)
        return listmle_costs(student_bB, teacher_bB, self.student_temperature)

    def negatives(self, anchors: int) -> int:
        """Return the number of other rows in view 1."""
        return anchors - 1
