"""The arithmetic of a loss."""

import pytest
import torch

from cse.tensors import squared_product_norm


@pytest.mark.parametrize(("rows", "width"), [(6, 9), (9, 9), (20, 4), (64, 512)])
@pytest.mark.parametrize("same", [False, True])
def test_squared_product_norm_equals_the_plain_sum_in_value_and_gradient(rows, width, same):
    generator = torch.Generator().manual_seed(0)
    a_BP, b_BP = torch.randn(2, rows, width, generator=generator, dtype=torch.float64, requires_grad=True).unbind()
    b_BP = a_BP if same else b_BP
    ours, expected = squared_product_norm(a_BP, b_BP, "fp32"), (a_BP.T @ b_BP).square().sum()
    torch.testing.assert_close(ours, expected)
    for mine, theirs in zip(*(torch.autograd.grad(x, (a_BP, b_BP)) for x in (ours, expected)), strict=True):
        torch.testing.assert_close(mine, theirs)
