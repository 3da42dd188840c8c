"""Which l2 strength wins a tie. tests/eval/test_transfer.py compares each scheme with single fits."""

from types import SimpleNamespace

import numpy as np
from eval.senteval.one_fit import made_up

from cse.eval.senteval.validation import cross_validation, given_split, nested_cross_validation


class Tied:
    """A classifier whose second and third strength have equal accuracies once these are rounded."""

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
    """SentEval takes the maximum of accuracies that it has rounded to two decimals."""
    rows, labels = made_up(260, 10, 2)
    cuts = {"train": slice(0, 150), "dev": slice(150, 200), "test": slice(200, 260)}
    x, y = ({part: every[cut] for part, cut in cuts.items()} for every in (rows, labels))
    tied = Tied()
    assert cross_validation(x, y, tied, 3).dev == 70.0
    assert tied.refitted == [2.0]
    nested_cross_validation({"all": x["train"]}, {"all": y["train"]}, tied, 3)
    assert tied.refitted == [2.0] * 4
    tied.read.clear()
    given_split(x, y, tied, 3)
    assert tied.read == [1]
