"""ADNCE, adjusted InfoNCE (arXiv:2310.11048): a negative's weight depends on its cosine, and is largest at mu.

    l_i = -log  exp(s_ii / t)  /  ( exp(s_ii / t) + sum_{j != i} w_ij exp(s_ij / t) )
    w_ij = g(s_ij) / mean_{j != i} g(s_ij),   g(s) = exp(-(s - mu)^2 / (2 sigma^2)) / (sigma sqrt(2 pi))

s_ij is the cosine of anchor i and positive j, and t the temperature. The gradient treats w as a constant. B is the
number of rows in the global batch, D the width. The loss is the mean of l_i. A likely false negative (cosine above mu)
has a smaller weight. An easy negative (cosine below mu) also has a smaller weight.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from cse.equation import at_least, equation
from cse.objective.blockwise import blockwise
from cse.objective.two_views import Contrast
from cse.ranges import Positive


@equation(B=at_least(2))
def adnce(
    anchors_BD: Tensor,
    positives_BD: Tensor,
    temperature: Positive,
    mu: float,
    sigma: Positive,
    *,
    weigh_positive: bool,
) -> Tensor:
    """Return the mean of l_i, a scalar.

    weigh_positive: whether the positive has a weight in the denominator, and counts in the mean of g (authors: True).

    For example:

        >>> anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> positives = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> adnce(anchors, positives, temperature=0.5, mu=0.4, sigma=1.0, weigh_positive=True)
        tensor(0.2621)
    """
    anchors_BD, positives_BD = normalize(anchors_BD, dim=1), normalize(positives_BD, dim=1)

    def losses(start: int, end: int) -> Tensor:
        s_bB = anchors_BD[start:end] @ positives_BD.T
        own_bB = torch.zeros_like(s_bB, dtype=torch.bool)
        own_bB[:, start:].fill_diagonal_(True)
        log_g_bB = -((s_bB.detach() - mu) / sigma).square() / 2
        log_g_bB = log_g_bB if weigh_positive else log_g_bB.masked_fill(own_bB, -torch.inf)
        count = s_bB.shape[1] - (not weigh_positive)
        log_w_bB = log_g_bB - log_g_bB.logsumexp(1, keepdim=True) + math.log(count)
        log_w_bB = log_w_bB if weigh_positive else log_w_bB.masked_fill(own_bB, 0)
        return (s_bB / temperature + log_w_bB).logsumexp(1) - s_bB.diagonal(start) / temperature

    return blockwise(losses, len(anchors_BD), len(positives_BD)).mean()


class ADNCE(Contrast):
    """ADNCE of two views."""

    def __init__(
        self,
        dim: int,
        head: Callable[[int], nn.Module] | None,
        temperature: Positive,
        mu: float,
        sigma: Positive,
        weigh_positive: bool,
    ):
        equation = partial(adnce, temperature=temperature, mu=mu, sigma=sigma, weigh_positive=weigh_positive)
        super().__init__(dim, head, equation)
