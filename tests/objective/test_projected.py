"""What Barlow Twins and VICReg, the objectives of two projected views, have in common."""

from functools import partial

import pytest
import torch

from cse.model.heads import Projector
from cse.objective.barlow import Barlow, barlow_twins
from cse.objective.vicreg import Vicreg, vicreg
from cse.types import Encoded

HEAD = partial(Projector, hidden=32, out=32, layers=3, bias_hidden=True, bias_last=False)
MODULES = {
    "barlow": partial(Barlow, lambd=0.005, eps=1e-5),
    "vicreg": partial(Vicreg, invariance=1.0, variance=10.0, covariance=0.1, log10_variance=None, log10_covariance=None,
                      norm="paper", eps=1e-4),
}  # fmt: skip
LOSSES = {"barlow": partial(barlow_twins, lambd=0.005),
          "vicreg": partial(vicreg, invariance=1.0, variance=10.0, covariance=0.1)}  # fmt: skip
both = pytest.mark.parametrize("name", MODULES)


def objective(name, **changes):
    torch.manual_seed(0)
    return MODULES[name](dim=6, head=HEAD, **changes)


def encoded(dtype=torch.float32):
    x_MBD = torch.randn(2, 8, 6, generator=torch.Generator().manual_seed(0)).to(dtype)
    return [Encoded(x_BD.requires_grad_()) for x_BD in x_MBD]


@both
def test_each_view_is_projected_by_itself(name):
    """BatchNorm takes its statistics over one view. So scaling one view's projections cannot reach the other's."""
    module, views = objective(name).double(), encoded(torch.float64)
    loss = module(views)
    z1_BP, z2_BP = (objective(name).double().head(view.pooled_BD) for view in views)
    torch.testing.assert_close(loss.total, LOSSES[name](z1_BP, z2_BP).total)
    loss.total.backward()
    assert all(view.pooled_BD.grad.norm() > 0 for view in views)


@both
@pytest.mark.parametrize("width", [8, 96])  # the P x P products, and the B x B ones
def test_products_in_bf16_change_the_loss_by_no_more_than_its_precision(name, width):
    generator = torch.Generator().manual_seed(0)
    z1_BP, z2_BP = (torch.randn(32, width, generator=generator).requires_grad_() for _ in range(2))
    losses, gradients = [], []
    for products in ("fp32", "bf16"):
        loss = LOSSES[name](z1_BP, z2_BP, products=products).total
        losses.append(loss.item())
        gradients.append(torch.autograd.grad(loss, z1_BP)[0])
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=2e-3)
    assert (gradients[1] - gradients[0]).norm() < 0.01 * gradients[0].norm()


def test_vicreg_takes_its_weights_as_powers_of_ten():
    views, plain = encoded(), {"variance": 100.0, "covariance": 0.01}
    expected = objective("vicreg", **plain)(views).total
    for powers in ({"log10_variance": 2, "log10_covariance": -2}, {"variance": 100.0, "log10_covariance": -2}):
        torch.testing.assert_close(objective("vicreg", **powers)(views).total, expected)
