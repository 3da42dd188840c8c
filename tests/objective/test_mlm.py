import pytest
import torch
from torch.nn.functional import cross_entropy

from cse.objective.mlm import Mlm
from cse.types import Encoded


def test_mean_over_the_masked_tokens_of_the_batch():
    """Equal to cross-entropy over all of them, however they fall into rows; with its gradient."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(7, 11, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(11, (7,), generator=generator)
    nll = cross_entropy(logits, labels, reduction="none")
    rows = nll.split([4, 0, 1, 2])
    view = Encoded(
        torch.zeros(4, 3), mlm_nll_B=torch.stack([row.sum() for row in rows]), mlm_count_B=torch.tensor([4, 0, 1, 2])
    )
    loss = Mlm(dim=3)([view])
    expected = cross_entropy(logits, labels)
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(*(torch.autograd.grad(x, logits, retain_graph=True)[0] for x in (loss.total, expected)))
    assert loss.parts["mlm"] is loss.total


def test_a_batch_without_masked_tokens_costs_nothing():
    view = Encoded(torch.zeros(2, 3), mlm_nll_B=torch.zeros(2), mlm_count_B=torch.zeros(2, dtype=torch.int64))
    assert Mlm(dim=3)([view]).total.item() == 0


def test_asks_for_one_masked_view_and_no_head():
    module = Mlm(dim=3)
    assert (module.num_views, module.masking, module.test_head()) == (1, "first", None)
    assert list(module.parameters()) == []
    with pytest.raises(ValueError, match="not masked"):
        module([Encoded(torch.zeros(2, 3))])
