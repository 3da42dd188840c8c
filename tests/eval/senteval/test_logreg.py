"""Many fits at once equal the fits of SentEval's authors, one after the other."""

import numpy as np
import pytest
import torch
from eval.senteval import one_fit
from eval.senteval.one_fit import FAST, GRID, TEST, classifier, made_up

from cse.eval.senteval import logreg
from cse.eval.senteval.logreg import LogisticRegression


def compare(fast: LogisticRegression, settings: dict, x, y, rows: list, l2_SL: np.ndarray) -> None:
    """Assert that every fit has the same best accuracy and predictions, and weights equal up to float32 rounding."""
    splits = [fast.hold_out(train) if held is None else fast.fold(train, held) for train, held in rows]
    found = fast.fit(fast.place(x), y, splits, l2_SL)
    for s, (train, held) in enumerate(rows):
        for column, l2 in enumerate(l2_SL[s]):
            alone = one_fit.Classifier(x.shape[1], int(y.max()) + 1, l2, **settings)
            best = alone.fit(x[train], y[train], None if held is None else (x[held], y[held]))
            assert found.accuracy_SL[s, column] == best
            weight, bias = alone.model.weight.detach(), alone.model.bias.detach()
            torch.testing.assert_close(found.weight_SLCF[s, column].cpu(), weight, atol=2e-6, rtol=0)
            torch.testing.assert_close(found.bias_SLC[s, column].cpu(), bias, atol=2e-6, rtol=0)
            predicted = found.predict(fast.place(x), s, column)
            assert (predicted == alone.model(torch.tensor(x)).argmax(1).numpy()).all()


@pytest.mark.parametrize(("settings", "classes"), [(TEST, 2), (FAST, 5)], ids=["adam", "rmsprop"])
def test_folds_of_unequal_length_and_several_l2_values_equal_single_fits(settings, classes):
    x, y = made_up(300, 12, classes)
    # lengths on both sides of a multiple of the batch, equal ones, and a random 5% held out
    rows = [(np.arange(n), np.arange(n, 300)) for n in (191, 192, 200, 200, 257)] + [(np.arange(300), None)]
    compare(classifier(**settings), settings, x, y, rows, np.tile(GRID, (len(rows), 1)))


def test_each_refit_may_have_its_own_l2():
    x, y = made_up(150, 8, 2)
    rows = [(np.arange(start, start + 140), None) for start in (0, 5, 10)]
    compare(classifier(**TEST), TEST, x, y, rows, np.array([[1e-1], [1e-5], [1e-2]]))


def test_the_size_of_a_stack_changes_nothing(monkeypatch):
    x, y = made_up(200, 8, 3)
    fast = classifier(**FAST)
    rows = [(np.arange(start, start + 150), np.arange(160, 200)) for start in range(8)]
    accuracies = []
    for floats in (1, 3 * 128 * 8, 2**20):
        monkeypatch.setattr(logreg, "GATHERED", floats)
        splits = [fast.fold(*pair) for pair in rows]
        accuracies.append(fast.fit(fast.place(x), y, splits, np.tile(GRID, (8, 1))).accuracy_SL)
    assert (accuracies[0] == accuracies[1]).all()
    assert (accuracies[0] == accuracies[2]).all()


def test_a_fit_ends_with_the_check_that_begins_at_max_epoch(monkeypatch):
    """Four passes per check, and the last begins at pass 200; tenacity: tests/eval/test_transfer.py."""
    rising = iter(range(99))
    monkeypatch.setattr(logreg._Stack, "_accuracy", lambda self: np.full((1, 1), next(rising) / 1000))
    x, y = made_up(20, 4, 2)
    fast = classifier(**TEST)
    fast.fit(fast.place(x), y, [fast.fold(np.arange(10), np.arange(10, 20))], np.array([[1e-5]]))
    assert next(rising) == 51


def test_training_elsewhere_is_not_disturbed():
    """Evaluation runs in the middle of training, so neither torch's nor numpy's generator may advance."""
    x, y = made_up(60, 4, 2)
    fast = classifier(**FAST)
    torch.manual_seed(3)
    np.random.seed(3)
    expected = torch.rand(4), np.random.rand(4)
    torch.manual_seed(3)
    np.random.seed(3)
    fast.fit(fast.place(x), y, [fast.hold_out(np.arange(60))], np.array([[1e-3]]))
    assert torch.equal(torch.rand(4), expected[0])
    assert (np.random.rand(4) == expected[1]).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_gpu_finds_what_the_cpu_finds():
    x, y = made_up(500, 16, 3)
    rows = [(np.arange(n), np.arange(n, 500)) for n in (400, 401, 420)]
    compare(classifier(device="cuda", **TEST), TEST, x, y, rows, np.tile(GRID, (3, 1)))
