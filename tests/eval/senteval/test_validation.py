"""The three schemes give the accuracies of SentEval's procedure run one fit at a time."""

from types import SimpleNamespace

import numpy as np
import pytest
from eval.senteval import one_fit
from eval.senteval.one_fit import FAST, GRID, TEST, classifier, made_up

from cse.eval.senteval.validation import cross_validation, given_split, nested_cross_validation


def parts(classes: int, width: int = 10) -> tuple[dict, dict]:
    x, y = made_up(260, width, classes)
    cuts = {"train": slice(0, 150), "dev": slice(150, 200), "test": slice(200, 260)}
    return {name: x[cut] for name, cut in cuts.items()}, {name: y[cut] for name, cut in cuts.items()}


@pytest.mark.parametrize(("settings", "k"), [(TEST, 3), (FAST, 4)], ids=["test", "fast"])
def test_nested_cross_validation(settings, k):
    x, y = made_up(130, 8, 2)
    dev, test, folds = one_fit.nested(x, y, k, GRID, **settings)
    found = nested_cross_validation(x, y, classifier(**settings), k)
    assert (found.dev, found.test, found.folds) == (dev, test, folds)


@pytest.mark.parametrize(("settings", "k"), [(TEST, 4), (FAST, 5)], ids=["test", "fast"])
def test_cross_validation_is_the_authors_fit_by_fit(settings, k):
    x, y = parts(classes=6)
    found = cross_validation(x, y, classifier(**settings), k)
    assert (found.dev, found.test) == one_fit.cross(x, y, k, GRID, **settings)
    assert found.test == round(100 * float(np.mean(found.items.values_N == y["test"])), 2)
    assert (found.items.gold_N == y["test"]).all()


@pytest.mark.parametrize("settings", [TEST, FAST], ids=["test", "fast"])
def test_given_split_without_the_second_fit_of_the_same(settings):
    x, y = parts(classes=3)
    found = given_split(x, y, classifier(**settings))
    assert (found.dev, found.test) == one_fit.split(x, y, GRID, **settings)


class Tied:
    """A classifier whose second and third strength are equally good, once accuracies are rounded."""

    l2 = (1.0, 2.0, 3.0)

    def __init__(self):
        self.refitted, self.read = [], []

    def fold(self, train_N, held_N):
        return train_N

    def hold_out(self, rows_N):
        return rows_N

    def place(self, x_NF):
        return x_NF

    def fit(self, x_NF, y_N, splits, strength_SL):
        if strength_SL.shape[1] == 1:
            self.refitted += strength_SL[:, 0].tolist()

        def predict(rows, split, column):
            self.read.append(column)
            return np.zeros(len(rows), np.int64)

        accuracy_SL = np.tile([0.5, 0.70001, 0.70002], (len(splits), 1))
        return SimpleNamespace(accuracy_SL=accuracy_SL, predict=predict)


def test_the_first_of_equal_strengths_wins():
    """SentEval looks for the maximum of accuracies that it has rounded to two decimals."""
    x, y = parts(classes=2)
    tied = Tied()
    assert cross_validation(x, y, tied, 3).dev == 70.0
    assert tied.refitted == [2.0]
    nested_cross_validation(x["train"], y["train"], tied, 3)
    assert tied.refitted == [2.0] * 4
    tied.read.clear()
    given_split(x, y, tied)
    assert tied.read == [1]
