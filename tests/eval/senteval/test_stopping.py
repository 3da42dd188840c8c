"""SentEval's early stopping by a score on dev."""

import torch

from cse.eval.senteval.stopping import train_until_worse


def test_misses_add_up_in_spite_of_a_gain_and_the_best_weights_are_kept():
    layer = torch.nn.Linear(1, 1)
    dev = iter([0.1, 0.05, 0.2, 0.1, 0.3, 0.1, 0.1, 0.9])
    trained = 0

    def train():
        nonlocal trained
        trained += 1
        torch.nn.init.constant_(layer.weight, trained)

    assert train_until_worse(layer, train, lambda: next(dev), range(100), tenacity=3) == 0.3
    assert (trained, layer.weight.item()) == (7, 5)  # the seventh check is the fourth without improvement


def test_there_are_no_more_checks_than_allowed():
    scores = iter(range(9))
    assert train_until_worse(torch.nn.Linear(1, 1), lambda: None, lambda: next(scores), range(5), 0) == 4
