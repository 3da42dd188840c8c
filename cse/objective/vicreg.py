"""VICReg (arXiv:2105.04906) for sentences (Pappadopulo & Farina 2024, Eq. 3):

    L = l_I / B sum_n |z1_n - z2_n|^2
      + l_V / P sum_I sum_i max(0, 1 - sqrt(C_ii + eps))
      + l_C / P sum_I sum_{i != j} C_ij^2

I runs over both views. C is the unbiased covariance of a view over the batch. B is the number of rows, P the width of
the projector.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import relu

from cse.equation import at_least, equation
from cse.objective.two_views import TwoViews
from cse.ranges import Exponent, NonNegative
from cse.tensors import Precision, squared_product_norm
from cse.types import Loss

Norm = Literal["paper", "reference"]


def invariance_term(z1_BP: Tensor, z2_BP: Tensor) -> Tensor:
    """Return the squared distance of the two views, averaged over rows."""
    return (z1_BP - z2_BP).square().sum(1).mean()


def variance_term(z_BP: Tensor, eps: float) -> Tensor:
    """Return max(0, 1 - standard deviation), averaged over channels."""
    return relu(1 - (z_BP.var(0) + eps).sqrt()).mean()


def covariance_term(z_BP: Tensor, products: Precision) -> Tensor:
    """Return the sum of the squared off-diagonal covariances, divided by P."""
    rows, width = z_BP.shape
    centred_BP = z_BP - z_BP.mean(0)
    all_squares = squared_product_norm(centred_BP, centred_BP, products) / (rows - 1) ** 2
    return (all_squares - z_BP.var(0).square().sum()) / width


@equation(B=at_least(2))
def vicreg(
    z1_BP: Tensor,
    z2_BP: Tensor,
    invariance: NonNegative,
    variance: NonNegative,
    covariance: NonNegative,
    norm: Norm = "paper",
    eps: NonNegative = 1e-4,
    products: Precision = "fp32",
) -> Loss:
    """Return the loss of Eq. 3. `parts` holds the three unweighted terms.

    invariance, variance, covariance: the weights of the terms, lambda_I, lambda_V and lambda_C.
    norm: "paper" is Eq. 3. "reference" is VICReg's code, which also averages the invariance term over channels, and the
    variance term over the two views. So with the weights s, v, c: reference(s, v, c) = paper(s / P, v / 2, c).
    products: the precision of the matrix product of the covariances (cse.tensors).

    For example:

        >>> z1 = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> z2 = torch.tensor([[0.8, 0.6], [0.0, 1.0], [1.0, 1.0]])
        >>> vicreg(z1, z2, invariance=1.0, variance=1.0, covariance=1.0).total
        tensor(1.2051)
    """
    terms = {
        "invariance": invariance_term(z1_BP, z2_BP),
        "variance": variance_term(z1_BP, eps) + variance_term(z2_BP, eps),
        "covariance": covariance_term(z1_BP, products) + covariance_term(z2_BP, products),
    }
    if norm == "reference":
        terms["invariance"] = terms["invariance"] / z1_BP.shape[1]
        terms["variance"] = terms["variance"] / 2
    total = invariance * terms["invariance"] + variance * terms["variance"] + covariance * terms["covariance"]
    return Loss(total, terms)


class Vicreg(TwoViews):
    """VICReg on the projections of two views.

    head: a partial of the projector; it is called with `dim`. The projector is dropped at test time. log10_variance,
    log10_covariance: the weights as exponents of ten, for a search that is uniform in the exponent. An exponent that is
    not None replaces the plain weight.
    """

    def __init__(
        self,
        dim: int,
        head: Callable[[int], nn.Module] | None,
        invariance: NonNegative,
        variance: NonNegative,
        covariance: NonNegative,
        log10_variance: Exponent | None,
        log10_covariance: Exponent | None,
        norm: Norm,
        eps: NonNegative,
        products: Precision = "fp32",
    ):
        variance = variance if log10_variance is None else 10**log10_variance
        covariance = covariance if log10_covariance is None else 10**log10_covariance
        equation = partial(vicreg, invariance=invariance, variance=variance, covariance=covariance)
        super().__init__(dim, head, partial(equation, norm=norm, eps=eps, products=products))
