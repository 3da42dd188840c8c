"""Losses over blocks of rows are the losses over the whole matrix, in value and gradient."""

from functools import partial

import pytest
import torch

from cse.objective import blockwise
from cse.objective.declutr import nt_xent
from cse.objective.simcse import info_nce
from cse.objective.whitenedcse import multi_positive

LOSSES = {
    "info_nce": lambda x: info_nce(x[0], x[1], 0.05),
    "info_nce, hard negatives": lambda x: info_nce(x[0], x[1], 0.05, x[2], 0.7),
    "nt_xent": lambda x: nt_xent(x[0], x[1], 0.05),
    "nt_xent, memory, sum, floor": lambda x: nt_xent(x[0], x[1], 0.05, x[2, :5], "sum", 1e-5),
    **{f"multi_positive {kind}": partial(multi_positive, temperature=0.05, weights=[1, 0.8], kind=kind)
       for kind in ("L1", "L2_softmin", "L2_hard", "L2_literal")},
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("cells", [1, 40, 100])
def test_blocks_of_rows_change_nothing(name, cells, monkeypatch):
    """13 rows: blocks of one row, of a few with a short last one."""
    x_MBD = torch.randn(3, 13, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    whole = LOSSES[name](x_MBD)
    (wanted,) = torch.autograd.grad(whole, x_MBD)
    monkeypatch.setattr(blockwise, "MAX_ELEMENTS", cells)
    blocked = LOSSES[name](x_MBD)
    (found,) = torch.autograd.grad(blocked, x_MBD)
    torch.testing.assert_close(blocked, whole, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def test_a_block_is_no_larger_than_it_may_be(monkeypatch):
    monkeypatch.setattr(blockwise, "MAX_ELEMENTS", 40)
    asked = []

    def block(start, end):
        asked.append((start, end))
        return torch.ones(end - start)

    assert blockwise.blockwise(block, 9, 13).sum() == 9
    assert asked == [(0, 3), (3, 6), (6, 9)]
    assert blockwise.blockwise(block, 3, 13).sum() == 3
    assert asked[-1] == (0, 3)
