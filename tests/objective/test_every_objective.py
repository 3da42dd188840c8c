"""Tests that every objective of conf/ has to pass: gradient, blocks of rows, order of the batch, float32 arithmetic.

Those of chunks and of two processes are in tests/training.
"""

from copy import deepcopy

import pytest
import torch
from objectives import DIM, OBJECTIVES, batch_for, make
from torch import Tensor, nn

from cse.objective import blockwise
from cse.types import Encoded, Objective

DETACHED = ("adnce", "whitenedcse", "declutr_memory_pml")  # of weights, of a whitening, of rows in a memory
SMOOTH = [name for name in OBJECTIVES if not name.startswith(DETACHED) or name == "whitenedcse_through"]


def views_for(objective: Objective, rows: int) -> tuple[Tensor, list[Tensor], dict[str, Tensor]]:
    """(pooled rows of all views as a leaf, row numbers of each view, what else is known of the rows)."""
    batch, total = batch_for(objective, rows), 0
    places = []
    for size in batch.sizes:
        places.append(torch.arange(total, total + size))
        total += size
    generator = torch.Generator().manual_seed(1)
    known = dict(batch.known)
    if objective.masking != "none":
        known |= {"mlm_nll_B": torch.rand(total, generator=generator, dtype=torch.float64),
                  "mlm_count_B": (batch.tokens.labels_BT != -100).sum(1)}  # fmt: skip
    return torch.randn(total, DIM, generator=generator, dtype=torch.float64), places, known


def loss_of(objective: Objective, x_RD: Tensor, places: list[Tensor], known: dict[str, Tensor]) -> Tensor:
    """The loss of a copy, since an objective may count its steps and remember rows."""
    fields = [{name: value[rows] for name, value in known.items()} for rows in places]
    views = [Encoded(x_RD[rows], **more) for rows, more in zip(places, fields, strict=True)]
    return deepcopy(objective)(views).total


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "mlm"])
def test_the_gradient_is_that_of_finite_differences(name):
    objective = make(name)
    x_RD, places, known = views_for(objective, 5)
    assert torch.autograd.gradcheck(lambda x: loss_of(objective, x, places, known), x_RD.requires_grad_())


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name != "mlm"])
@pytest.mark.parametrize("cells", [1, 40, 100])
def test_blocks_of_rows_change_nothing(name, cells, monkeypatch):
    """Blocks of one row, and of several with a shorter last one."""
    objective = make(name)
    x_RD, *rest = views_for(objective, 13)
    results = []
    for most in (blockwise.MAX_ELEMENTS, cells):
        monkeypatch.setattr(blockwise, "MAX_ELEMENTS", most)
        loss = loss_of(objective, x_RD.requires_grad_(), *rest)
        results.append((loss, *torch.autograd.grad(loss, x_RD)))
    torch.testing.assert_close(results[1], results[0], rtol=1e-10, atol=1e-12)


def test_a_block_has_at_most_max_elements(monkeypatch):
    monkeypatch.setattr(blockwise, "MAX_ELEMENTS", 40)
    asked = []

    def block(start, end):
        asked.append((start, end))
        return torch.ones(end - start)

    assert blockwise.blockwise(block, 9, 13).sum() == 9
    assert asked == [(0, 3), (3, 6), (6, 9)]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_order_of_the_batch_does_not_matter(name):
    """A row keeps its fields, and the positives of an anchor stay side by side."""
    objective = make(name)
    x_RD, places, known = views_for(objective, 13)
    order = torch.randperm(13, generator=torch.Generator().manual_seed(2))
    moved = [rows.view(13, -1)[order].flatten() for rows in places]
    if objective.masking == "copies":  # which are one view, of all the others'
        moved[-1] = places[-1]
    expected = loss_of(objective, x_RD, places, known)
    torch.testing.assert_close(loss_of(objective, x_RD, moved, known), expected)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if "memory" not in name])
def test_the_loss_is_computed_in_float32_under_autocast(name):
    """Of embeddings in bfloat16, without the head, which does run in it."""
    objective = make(name).float()
    for module in objective.modules():
        if getattr(module, "head", None) is not None:
            module.head = nn.Identity()
    x_RD, places, known = views_for(objective, 13)
    known = {key: value.float() if value.is_floating_point() else value for key, value in known.items()}
    expected = loss_of(objective, x_RD.bfloat16().float(), places, known)
    with torch.autocast("cpu", torch.bfloat16):
        found = loss_of(objective, x_RD.bfloat16(), places, known)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
