"""SentEval's three procedures for an accuracy: nested cross-validation, cross-validation, and a given split.

Folds are StratifiedKFold(k, shuffle=True, random_state=1111) on rows in SentEval's order. Accuracies are in percent.
They are rounded to two decimals wherever SentEval rounds, because SentEval selects the strength of the L2 penalty by
the first maximum of the rounded dev means. N is the number of rows, F of features, S of splits, L of L2 strengths.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from typing_extensions import TypedDict

from cse.eval.senteval.logreg import LogisticRegression
from cse.files import Json
from cse.ranges import Several
from cse.score import Items

SEED = 1111  # SentEval's, for the folds

Mode = Literal["test", "fast"]

Arrays = dict[str, np.ndarray]
"""Features or labels of each part of a data set; {"all": ...} for a data set without parts."""


class Procedure(TypedDict):
    """One mode of conf/eval/classifier: the folds, the classifier, and the settings that SNLI changes."""

    kfold: Several
    fit: LogisticRegression
    snli: Json


@dataclass(frozen=True)
class Accuracies:
    """Accuracies in percent.

    items: the test rows (nested cross-validation: all rows). folds: the accuracy of each outer fold.
    """

    dev: float
    test: float
    items: Items
    folds: list[float] = field(default_factory=list)


def stratified_folds(y_N: np.ndarray, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (train rows, held-out rows) of each fold."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(k, shuffle=True, random_state=SEED).split(np.zeros(len(y_N)), y_N))


def nested_cross_validation(features: Arrays, labels: Arrays, classifier: LogisticRegression, k: int) -> Accuracies:
    """Score MR, CR, SUBJ or MPQA. In each of k outer folds, k inner folds select the L2 strength of the refit."""
    x, y_N, grid = classifier.place(features["all"]), labels["all"], classifier.l2
    outer = stratified_folds(y_N, k)
    inner = [(train_N[a], train_N[b]) for train_N, _ in outer for a, b in stratified_folds(y_N[train_N], k)]
    scan = classifier.fit(x, y_N, [classifier.fold(*rows) for rows in inner], np.tile(grid, (len(inner), 1)))
    devs, chosen = [], []
    for fold in range(k):
        scores = _mean_percent(scan.accuracy_SL[fold * k : (fold + 1) * k])
        devs.append(max(scores))
        chosen.append([grid[int(np.argmax(scores))]])
    refit = classifier.fit(x, y_N, [classifier.hold_out(train_N) for train_N, _ in outer], np.array(chosen))
    predicted_N = np.empty_like(y_N)
    for fold, (_, test_N) in enumerate(outer):
        predicted_N[test_N] = refit.predict(x[test_N], fold, 0)
    tests = [_percent(predicted_N[test_N], y_N[test_N]) for _, test_N in outer]
    items = Items("accuracy", predicted_N, y_N)
    return Accuracies(float(round(np.mean(devs), 2)), float(round(np.mean(tests), 2)), items, folds=tests)


def cross_validation(x: Arrays, y: Arrays, classifier: LogisticRegression, k: int) -> Accuracies:
    """Score TREC or MRPC. k folds of train select the strength. A refit on 95% of train is scored on test."""
    train, grid = classifier.place(x["train"]), classifier.l2
    folds = [classifier.fold(*rows) for rows in stratified_folds(y["train"], k)]
    scores = _mean_percent(classifier.fit(train, y["train"], folds, np.tile(grid, (k, 1))).accuracy_SL)
    strength = np.array([[grid[int(np.argmax(scores))]]])
    refit = classifier.fit(train, y["train"], [classifier.hold_out(np.arange(len(y["train"])))], strength)
    predicted_N = refit.predict(classifier.place(x["test"]), 0, 0)
    return _of_test(max(scores), predicted_N, y["test"])


def given_split(x: Arrays, y: Arrays, classifier: LogisticRegression, k: int) -> Accuracies:
    """Score SST, SICK-E, SNLI or a probing task. Dev selects the strength and stops the training. `k` is not used.

    SentEval then fits again with the same data and seed. This second fit is left out: its weights would be equal.
    """
    sizes = len(y["train"]), len(y["dev"])
    grid = classifier.l2
    split = classifier.fold(np.arange(sizes[0]), sizes[0] + np.arange(sizes[1]))
    rows = classifier.place(np.concatenate([x["train"], x["dev"]]))
    fitted = classifier.fit(rows, np.concatenate([y["train"], y["dev"]]), [split], np.array([grid]))
    scores = _mean_percent(fitted.accuracy_SL)
    predicted_N = fitted.predict(classifier.place(x["test"]), 0, int(np.argmax(scores)))
    return _of_test(max(scores), predicted_N, y["test"])


SCHEMES = {"nested": nested_cross_validation, "cross": cross_validation, "split": given_split, "snli": given_split}


def _mean_percent(accuracy_SL: np.ndarray) -> list[float]:
    """Return each strength's mean accuracy over splits, in percent, rounded to two decimals."""
    return [float(round(100 * np.mean(list(column)), 2)) for column in accuracy_SL.T]


def _percent(predicted_N: np.ndarray, gold_N: np.ndarray) -> float:
    return round(100 * (float((predicted_N == gold_N).sum()) / len(gold_N)), 2)


def _of_test(dev: float, predicted_N: np.ndarray, gold_N: np.ndarray) -> Accuracies:
    return Accuracies(dev, _percent(predicted_N, gold_N), Items("accuracy", predicted_N, gold_N))
