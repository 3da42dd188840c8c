"""ArcCon, the angular-margin contrast of ArcCSE (arXiv:2203.06875). ArcCSE's triplet loss is left out.

The paper's text was not available. An independent implementation confirmed the equation (docs/papers/arccon.md).

    l_i = -log  exp(cos(theta_ii + m) / t)  /  ( exp(cos(theta_ii + m) / t) + sum_{j != i} exp(cos(theta_ij) / t) )

theta_ij is the angle between the embeddings of anchor i and positive j, m the margin, and t the temperature. B is the
number of rows in the global batch, D the width. The loss is the mean of l_i, from anchors to positives.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated

import torch
from annotated_types import Ge, Lt
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from cse.equation import equation
from cse.objective.blockwise import blockwise
from cse.objective.two_views import Contrast
from cse.ranges import Positive

Margin = Annotated[float, Ge(0), Lt(90)]  # degrees


@equation()
def arccon(anchors_BD: Tensor, positives_BD: Tensor, temperature: Positive, margin: Margin) -> Tensor:
    """Return the mean of l_i, a scalar. margin: m in degrees.

    For example:

        >>> anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> arccon(anchors, positives, temperature=0.5, margin=10.0)
        tensor(0.3038)
    """
    anchors_BD, positives_BD = normalize(anchors_BD, dim=1), normalize(positives_BD, dim=1)
    cos_B = (anchors_BD * positives_BD).sum(1)
    sin_B = (1 - cos_B.square()).clamp(min=1e-7).sqrt()  # the slope of sqrt is infinite at equal views
    own_B = cos_B * math.cos(math.radians(margin)) - sin_B * math.sin(math.radians(margin))  # cos(theta_ii + m)

    def losses(start: int, end: int) -> Tensor:
        logits_bB = anchors_BD[start:end] @ positives_BD.T
        logits_bB[:, start:].diagonal().copy_(own_B[start:end])
        places_b = torch.arange(start, end, device=logits_bB.device)
        return cross_entropy(logits_bB / temperature, places_b, reduction="none")

    return blockwise(losses, len(anchors_BD), len(positives_BD)).mean()


class ArcCon(Contrast):
    """ArcCon of two views. margin: m in degrees."""

    def __init__(self, dim: int, head: Callable[[int], nn.Module] | None, temperature: Positive, margin: Margin):
        super().__init__(dim, head, partial(arccon, temperature=temperature, margin=margin))
