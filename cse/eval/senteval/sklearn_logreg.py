"""scikit-learn's logistic regression in SentEval's schemes: its `usepytorch=False`. NOT the papers' classifier.

Converges to one optimum instead of stopping early, so its scores differ from the torch classifier's by up to a few
tenths. S splits, L strengths C.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import MinLen

from cse.eval.senteval.logreg import Split
from cse.eval.senteval.validation import Scheme
from cse.progress import track
from cse.ranges import Count, Positive, Seed

if TYPE_CHECKING:  # takes a second to import
    from sklearn.linear_model import LogisticRegression


@dataclass(frozen=True)
class SklearnFitted:
    """The models [split][C], and their accuracies (0..1) on the rows held out."""

    models: "list[list[LogisticRegression]]"
    accuracy_SL: np.ndarray

    def predict(self, x_NF: np.ndarray, split: int, column: int) -> np.ndarray:
        """The predicted class of each row."""
        return self.models[split][column].predict(x_NF)


@dataclass(frozen=True)
class SklearnLogisticRegression:
    """c: the values of C to choose from, by scheme (SentEval's validation.py)."""

    c: dict[Scheme, Annotated[list[Positive], MinLen(1)]]
    max_iter: Count
    seed: Seed

    def grid(self, scheme: Scheme) -> list[float]:
        """The values of C to choose from in a scheme."""
        return list(self.c[scheme])

    def fold(self, train_N: np.ndarray, held_N: np.ndarray) -> Split:
        """A split of given rows."""
        return Split(train_N, held_N, np.random.RandomState(self.seed))

    def hold_out(self, rows_N: np.ndarray) -> Split:
        """Nothing stops early, so nothing is held out."""
        return self.fold(rows_N, rows_N)

    def place(self, x_NF: np.ndarray) -> np.ndarray:
        """The features as they are: scikit-learn takes them."""
        return x_NF

    def fit(self, x_NF: np.ndarray, y_N: np.ndarray, splits: list[Split], c_SL: np.ndarray) -> SklearnFitted:
        """One fit for each split and value of C (S, L), one after the other."""
        from sklearn.linear_model import LogisticRegression

        models = [
            [
                LogisticRegression(C=c, random_state=self.seed, max_iter=self.max_iter).fit(
                    x_NF[split.train_N], y_N[split.train_N]
                )
                for c in row
            ]
            for split, row in track(list(zip(splits, c_SL, strict=True)), "fit")
        ]
        accuracy_SL = np.array(
            [
                [model.score(x_NF[split.held_N], y_N[split.held_N]) for model in row]
                for split, row in zip(splits, models, strict=True)
            ]
        )
        return SklearnFitted(models, accuracy_SL)
