"""Tests that every objective of conf/ has to pass: gradient, blocks of rows, order of the batch, float32 arithmetic.

Those of chunks and of two processes are in tests/training.
"""

from copy import deepcopy

import pytest
import torch
from objectives import OBJECTIVES, make
from torch import Tensor, nn
from toy_batches import DIM, batch_for, built
from toys import composed

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
    views = [Encoded(x_RD[rows], more) for rows, more in zip(places, fields, strict=True)]
    return deepcopy(objective)(views).total


SAID = {  # of 8 anchors: views, masking, negatives, and whether the head stays at test time
    "simcse": (2, "none", 7, False), "simcse_sup": (3, "none", 15, True), "simcse_mlm": (2, "copies", 7, False),
    "barlow": (2, "none", 0, False), "vicreg": (2, "none", 0, False), "whitenedcse": (3, "none", 7, False),
    "whitenedcse_shared": (1, "none", 7, False), "declutr": (2, "first", 14, False),
    "declutr_memory": (2, "first", 84, False), "declutr_memory_pml": (2, "first", 68, False),
    "mlm": (1, "first", 0, False), "dcl": (2, "none", 14, False),
    "adnce": (2, "none", 7, False), "arccon": (2, "none", 7, False), "gist": (3, "none", 29, False),
    "gist_pairs": (2, "none", 21, False),  "rankcse": (2, "none", 7, False), "angle": (2, "none", 14, False),
    "cosent": (2, "none", 0, False), "cosine": (2, "none", 0, False), "simcse by width": (2, "none", 7, False),
    "simcse_negatives": (5, "none", 31, False), "gist_negatives": (5, "none", 45, False),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_an_objective_says_of_itself(name):
    one = make(name)
    assert (one.num_views, one.masking, one.negatives(8), one.test_head() is not None) == SAID[name]


@pytest.mark.parametrize("name", ["cosent", "angle", "cosine", "gist"])
def test_a_head_that_is_no_default_trains_and_is_dropped_at_test_time(name):
    part = "objective.head={_target_:cse.model.heads.MLPHead,_partial_:true}"
    headed = built(composed("data=text", *OBJECTIVES[name], part).objective)
    x_RD, places, known = views_for(headed, 13)
    views = [Encoded(x_RD[rows], {key: value[rows] for key, value in known.items()}) for rows in places]
    loss = headed(views).total
    torch.testing.assert_close(loss, loss_of(make(name), headed.head(x_RD), places, known))
    loss.backward()
    assert headed.head.linear.weight.grad.any()
    assert headed.test_head() is None


@pytest.mark.parametrize("name", ["mlm", "simcse_mlm", "declutr"])
def test_a_language_model_loss_is_the_weighted_mean_over_masked_tokens(name):
    """Not over rows; 0 without masked tokens."""
    objective = make(name)
    x_RD, places, known = views_for(objective, 13)
    nll_B, count_B = known["mlm_nll_B"], known["mlm_count_B"]
    masked = places[-1 if objective.masking == "copies" else 0]
    weight = 1.0 if name == "mlm" else objective.mlm_weight
    nothing = known | {"mlm_nll_B": 0 * nll_B, "mlm_count_B": 0 * count_B}
    difference = loss_of(objective, x_RD, places, known) - loss_of(objective, x_RD, places, nothing)
    torch.testing.assert_close(difference, weight * nll_B[masked].sum() / count_B[masked].sum())


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "mlm"])
def test_the_gradient_is_that_of_finite_differences(name):
    objective = make(name)
    x_RD, places, known = views_for(objective, 5)
    assert torch.autograd.gradcheck(lambda x: loss_of(objective, x, places, known), x_RD.requires_grad_())


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name != "mlm"])
@pytest.mark.parametrize("cells", [1, 100])
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
