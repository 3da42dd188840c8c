"""The three schemes give the accuracies of SentEval's procedure run one fit at a time."""

import numpy as np
import pytest
from eval.senteval import one_fit
from eval.senteval.one_fit import FAST, GRID, TEST, classifier, made_up

from cse.eval.senteval.sklearn_logreg import SklearnLogisticRegression
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
    assert found.test == round(100 * float(np.mean(found.predicted_N == y["test"])), 2)


@pytest.mark.parametrize("settings", [TEST, FAST], ids=["test", "fast"])
def test_given_split_without_the_second_fit_of_the_same(settings):
    x, y = parts(classes=3)
    found = given_split(x, y, classifier(**settings))
    assert (found.dev, found.test) == one_fit.split(x, y, GRID, **settings)


def test_scikit_learns_variant_takes_its_own_grids_and_converges():
    x, y = parts(classes=2)
    c = {"nested": [0.01, 1.0], "cross": [1.0, 10.0], "split": [0.1]}
    sklearn = SklearnLogisticRegression(c=c, max_iter=1000, seed=1111)
    from sklearn.linear_model import LogisticRegression

    expected = LogisticRegression(C=0.1, max_iter=1000).fit(x["train"], y["train"])
    found = given_split(x, y, sklearn)
    assert found.dev == round(100 * expected.score(x["dev"], y["dev"]), 2)
    assert found.test == round(100 * expected.score(x["test"], y["test"]), 2)
    assert cross_validation(x, y, sklearn, 3).test > 60
    assert len(nested_cross_validation(x["train"], y["train"], sklearn, 3).folds) == 3
