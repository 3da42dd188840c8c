"""RankCSE (arXiv:2305.16726): SimCSE's loss, and a listwise loss that learns a teacher's ranking of the batch.

    L = InfoNCE(S / t1) + beta JS( softmax(S / t1), softmax(S' / t1) ) + gamma L_rank(S / t2, T)

S_ij is the cosine of view 0 of row i and view 1 of row j. S' = S^T is the other direction. T is the teachers' weighted
mean of the same cosines. L_rank is ListNet or ListMLE. ListNet is the cross entropy between softmax(T / t3) and
softmax(S / t2). ListMLE is -log of the Plackett-Luce probability of the order of T under S / t2. B is the number of
rows in the global batch, E the width of the teachers' vectors.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.equation import at_least, equation, finite
from cse.ranges import AnyPooling, EncoderName, NonNegative, Positive, Share
from cse.tensors import full_precision
from cse.types import Encoded, Loss, Objective


def off_diagonal(x_BB: Tensor) -> Tensor:
    """(B, B - 1): each row without its own entry."""
    rows = len(x_BB)
    return x_BB.flatten()[1:].view(rows - 1, rows + 1)[:, :-1].reshape(rows, rows - 1)


@equation()
def consistency(similarities_BB: Tensor, temperature: Positive) -> Tensor:
    """The Jensen-Shannon divergence between both directions' distributions over the batch: the mean over rows.

    For example:

        >>> similarities = torch.tensor([[0.9, 0.1, 0.3], [0.4, 0.8, 0.2], [0.0, 0.5, 0.7]])
        >>> consistency(similarities, temperature=0.5)
        tensor(0.0177)
    """
    p_BB = (similarities_BB / temperature).log_softmax(1)
    q_BB = (similarities_BB.T / temperature).log_softmax(1)
    middle_BB = torch.logaddexp(p_BB, q_BB) - math.log(2)
    divergences = (p_BB.exp() * (p_BB - middle_BB) + q_BB.exp() * (q_BB - middle_BB)).sum(1) / 2
    return divergences.mean()


@equation(B=at_least(2), teacher_BB=finite)
def listnet(student_BB: Tensor, teacher_BB: Tensor, temperature: Positive, teacher_temperature: Positive) -> Tensor:
    """The cross entropy between the teacher's and the student's distributions over the other rows: the mean over rows.

    For example:

        >>> student = torch.tensor([[0.9, 0.1, 0.3], [0.4, 0.8, 0.2], [0.0, 0.5, 0.7]])
        >>> teacher = torch.tensor([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
        >>> listnet(student, teacher, temperature=0.5, teacher_temperature=0.25)
        tensor(0.7094)
    """
    target = (off_diagonal(teacher_BB) / teacher_temperature).softmax(1)
    return -(target * (off_diagonal(student_BB) / temperature).log_softmax(1)).sum(1).mean()


@equation(teacher_BB=finite)
def listmle(student_BB: Tensor, teacher_BB: Tensor, temperature: Positive) -> Tensor:
    """-log P(order of the teacher): the mean over rows. Ties keep the order of the batch.

    For example:

        >>> student = torch.tensor([[0.9, 0.1, 0.3], [0.4, 0.8, 0.2], [0.0, 0.5, 0.7]])
        >>> teacher = torch.tensor([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
        >>> listmle(student, teacher, temperature=0.5)
        tensor(1.2525)
    """
    order_BB = teacher_BB.argsort(stable=True, dim=1, descending=True)
    ranked_BB = student_BB.gather(1, order_BB) / temperature
    costs_BB = ranked_BB.flip(1).logcumsumexp(1).flip(1) - ranked_BB
    return costs_BB.sum(1).mean()


class Rankcse(Objective):
    """RankCSE on two dropout views.

    teacher, second_teacher: any checkpoints that model.name accepts; None: no second teacher. teacher_weight: alpha,
    the weight of the first teacher. teacher_pooling: the pooling of both teachers; None: the pooling that they
    record. head: a partial of a module; it is called with `dim`, and dropped at test time.
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
        """The weighted sum of the three terms. The parts are the terms, unweighted."""
        vectors = [self.head(view.pooled_BD) for view in views] + [view.known["teacher_BE"] for view in views]
        with full_precision(*vectors) as (x_BD, y_BD, of_first_BE, of_second_BE):
            student_BB = normalize(x_BD, dim=1) @ normalize(y_BD, dim=1).T
            teacher_BB = of_first_BE @ of_second_BE.T
            rows_B = torch.arange(len(x_BD), device=x_BD.device)
            parts = {
                "contrastive": cross_entropy(student_BB / self.temperature, rows_B),
                "consistency": consistency(student_BB, self.temperature),
                "ranking": self.rank(student_BB, teacher_BB),
            }
        weighted = self.consistency_weight * parts["consistency"] + self.ranking_weight * parts["ranking"]
        return Loss(parts["contrastive"] + weighted, parts)

    def rank(self, student_BB: Tensor, teacher_BB: Tensor) -> Tensor:
        """L_rank."""
        if self.ranking == "listnet":
            return listnet(student_BB, teacher_BB, self.student_temperature, self.teacher_temperature)
        return listmle(student_BB, teacher_BB, self.student_temperature)

    def negatives(self, anchors: int) -> int:
        """All other rows."""
        return anchors - 1
