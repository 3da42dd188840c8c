"""Objectives of cse that are functions of embeddings: the arguments of each, and its training head.

A loss takes the views of a batch, each (B, D), or (B, P) after the head, and returns a scalar. The
masked-language-model loss is missing here, because it needs the vocabulary head of an encoder (objective=mlm, or with
DeCLUTR objective=declutr).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cse.model.heads import MLPHead, Projector
from cse.objective.barlow import barlow_twins
from cse.objective.declutr import nt_xent
from cse.objective.simcse import info_nce
from cse.objective.vicreg import vicreg
from cse.objective.whitenedcse import multi_positive, shuffled_group_whitening


@dataclass(frozen=True)
class Recipe:
    """loss: maps the head's outputs, one for each view, to a scalar. head: maps the encoder's width to the head.
    views: the number of views of each sentence."""

    loss: Callable[..., Tensor]
    head: Callable[[int], nn.Module]
    views: int = 2


def whitened(*views_BD: Tensor) -> Tensor:
    """WhitenedCSE's loss. The views are already whitened."""
    return multi_positive(torch.stack(views_BD), temperature=0.05)


class WhitenedHead(nn.Module):
    """Shuffled group whitening, with a new shuffle for each view, then the head."""

    def __init__(self, dim: int, num_groups: int):
        super().__init__()
        self.num_groups = num_groups
        self.head = MLPHead(dim)

    def forward(self, x_BD: Tensor) -> Tensor:
        """(B, D) -> (B, D)."""
        permutation = torch.randperm(x_BD.shape[1], device=x_BD.device)
        return self.head(shuffled_group_whitening(x_BD, self.num_groups, permutation))


def projector(dim: int) -> Projector:
    """The projector of the non-contrastive losses, narrower than the papers' 8192."""
    return Projector(dim, hidden=1024, out=1024, layers=3, bias_hidden=True, bias_last=False)


OBJECTIVES = {
    "simcse": Recipe(lambda a, b: info_nce(a, b, temperature=0.05), MLPHead),
    "simcse_sup": Recipe(lambda a, b, hard: info_nce(a, b, temperature=0.05, hard_negatives_ND=hard), MLPHead, views=3),
    "whitenedcse": Recipe(whitened, lambda dim: WhitenedHead(dim, num_groups=dim // 2), views=3),
    "declutr": Recipe(lambda a, b: nt_xent(a, b, temperature=0.05), lambda dim: nn.Identity()),
    "barlow": Recipe(lambda a, b: barlow_twins(a, b, lambd=5e-3).total, projector),
    "vicreg": Recipe(lambda a, b: vicreg(a, b, invariance=1, variance=1000, covariance=0.003).total, projector),
}
