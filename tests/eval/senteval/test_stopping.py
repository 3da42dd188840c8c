"""SentEval's early stopping by a score on dev."""

import pytest
import torch

from cse.eval.senteval.stopping import train_until_worse


@pytest.mark.parametrize(("checks", "trained", "best"), [(100, 7, 5), (4, 4, 3)])
def test_misses_add_up_in_spite_of_a_gain_and_the_best_weights_are_kept(checks, trained, best):
    """Of 100 checks the seventh is the last one: the fourth without improvement."""
    layer, passes = torch.nn.Linear(1, 1), []
    dev = [0.1, 0.05, 0.2, 0.1, 0.3, 0.1, 0.1, 0.9]

    def train():
        passes.append(1)
        torch.nn.init.constant_(layer.weight, len(passes))

    found = train_until_worse(layer, train, lambda: dev[len(passes) - 1], range(checks), tenacity=3)
    assert (len(passes), layer.weight.item(), found) == (trained, best, dev[best - 1])
