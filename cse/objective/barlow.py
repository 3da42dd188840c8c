"""Barlow Twins (arXiv:2103.03230) for sentences (Pappadopulo & Farina 2024, Eq. 2):

    L = sum_i (1 - rho_ii)^2 + lambda sum_i sum_{j != i} rho_ij^2

rho_ij is the correlation, over the rows of the batch, between channel i of view 1 and channel j of view 2. B is the
number of rows, P the width of the projector.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from cse.equation import at_least, equation
from cse.objective.two_views import TwoViews
from cse.ranges import NonNegative
from cse.tensors import Precision, squared_product_norm
from cse.types import Loss


def standardize(z_BP: Tensor, eps: float) -> Tensor:
    """Scale each channel to mean 0 and variance 1 over the batch, like BatchNorm in training without its affine
    part."""
    variance_P, mean_P = torch.var_mean(z_BP, 0, correction=0)
    return (z_BP - mean_P) * (variance_P + eps).rsqrt()


@equation(B=at_least(2))
def barlow_twins(
    z1_BP: Tensor, z2_BP: Tensor, lambd: NonNegative, eps: NonNegative = 1e-5, *, products: Precision = "fp32"
) -> Loss:
    """Return the loss of Eq. 2. `parts` holds the two terms, without the factor lambda.

    eps: added to each variance. The authors' BatchNorm uses 1e-5; 0 gives the exact rho.
    products: the precision of the matrix product of the correlations (cse.tensors).

    For example:

        >>> z1 = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> z2 = torch.tensor([[0.8, 0.6], [0.0, 1.0], [1.0, 1.0]])
        >>> barlow_twins(z1, z2, lambd=0.005).total
        tensor(0.0021)
    """
    a_BP, b_BP = standardize(z1_BP, eps), standardize(z2_BP, eps)
    diagonal_P = (a_BP * b_BP).mean(0)
    invariance = (1 - diagonal_P).square().sum()
    redundancy = squared_product_norm(a_BP, b_BP, products) / len(a_BP) ** 2 - diagonal_P.square().sum()
    return Loss(invariance + lambd * redundancy, {"invariance": invariance, "redundancy": redundancy})


class Barlow(TwoViews):
    """Barlow Twins on the projections of two views. head: a partial of the projector; it is called with `dim`."""

    def __init__(
        self,
        dim: int,
        head: Callable[[int], nn.Module] | None,
        lambd: NonNegative,
        eps: NonNegative,
        products: Precision = "fp32",
    ):
        super().__init__(dim, head, partial(barlow_twins, lambd=lambd, eps=eps, products=products))
