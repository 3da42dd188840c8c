"""The masked-language-model loss: the mean over the batch's masked tokens."""

import torch
from torch.nn.functional import cross_entropy

from cse.objective.mlm import Mlm
from cse.types import Encoded


def test_loss_and_gradient_are_those_of_cross_entropy_over_all_masked_tokens():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(7, 11, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(11, (7,), generator=generator)
    nll = cross_entropy(logits, labels, reduction="none")
    rows = nll.split([4, 0, 1, 2])
    view = Encoded(
        torch.zeros(4, 3),
        {"mlm_nll_B": torch.stack([row.sum() for row in rows]), "mlm_count_B": torch.tensor([4, 0, 1, 2])},
    )
    loss = Mlm(dim=3)([view])
    expected = cross_entropy(logits, labels)
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(*(torch.autograd.grad(x, logits, retain_graph=True)[0] for x in (loss.total, expected)))
    assert loss.parts["mlm"] is loss.total
