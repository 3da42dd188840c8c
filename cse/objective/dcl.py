"""DCL, decoupled contrastive learning (arXiv:2110.06848): InfoNCE without the positive pair in the denominator.

    l_i^(k) = -w_i <z_i^(1), z_i^(2)> / t  +  log sum_{l in {1, 2}, j != i} exp(<z_i^(k), z_j^(l)> / t)
    DCL: w_i = 1;   DCLW: w_i = 2 - exp(<z_i^(1), z_i^(2)> / sigma) / mean_j exp(<z_j^(1), z_j^(2)> / sigma)

z^(k) is view k on the unit sphere, and t the temperature. B is the number of rows in the global batch, D the width, and
R = 2B the rows of both views. The loss is the mean of l over rows and views. In the paper's text it is the sum.
"""

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
def dcl(z1_BD: Tensor, z2_BD: Tensor, temperature: Positive, sigma: Positive | None = None) -> Tensor:
    """Return the mean of l, a scalar. sigma: None for DCL, a number for DCLW. The gradient flows through DCLW's w_i.

    For example:

        >>> z1 = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> z2 = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
        >>> dcl(z1, z2, temperature=0.5)
        tensor(-0.4218)
    """
    z_RD = torch.cat([normalize(z1_BD, dim=1), normalize(z2_BD, dim=1)])
    positive_B = (z_RD[: len(z1_BD)] * z_RD[len(z1_BD) :]).sum(1)
    rows_R = torch.arange(len(z1_BD), device=z_RD.device).repeat(2)

    def log_negatives(start: int, end: int) -> Tensor:
        logits_rR = z_RD[start:end] @ z_RD.T / temperature
        return logits_rR.masked_fill(rows_R[start:end, None] == rows_R, -torch.inf).logsumexp(1)

    weights_B = 1.0 if sigma is None else 2 - len(positive_B) * (positive_B / sigma).softmax(0)
    return blockwise(log_negatives, len(z_RD), len(z_RD)).mean() - (weights_B * positive_B).mean() / temperature


class DCL(Contrast):
    """DCL of two views, or DCLW if sigma is a number. The rows of both views are anchors."""

    def __init__(
        self, dim: int, head: Callable[[int], nn.Module] | None, temperature: Positive, sigma: Positive | None
    ):
        super().__init__(dim, head, partial(dcl, temperature=temperature, sigma=sigma))

    def negatives(self, anchors: int) -> int:
        """Return the number of rows in both views, without the anchor and its positive."""
        return 2 * anchors - 2
