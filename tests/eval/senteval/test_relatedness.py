"""The trained relatedness against the authors' steps written out, and Tai et al.'s label distribution."""

import numpy as np
import pytest
import torch
from eval.senteval.one_fit import Classifier
from scipy.stats import pearsonr, spearmanr
from torch import nn

from cse.eval.senteval.relatedness import Relatedness, label_distribution

SETTINGS = dict(lr=1e-3, batch_size=64, epoch_size=5, tenacity=3, max_epoch=60)


def test_a_score_is_shared_between_its_two_neighbours():
    found = label_distribution(np.array([1.0, 2.25, 4.9, 5.0, 0.4, 0.0]))
    assert found == pytest.approx(
        np.array(
            [
                [1, 0, 0, 0, 0],
                [0, 0.75, 0.25, 0, 0],
                [0, 0, 0, 0.1, 0.9],
                [0, 0, 0, 0, 1],
                [0.4, 0, 0, 0, 0],  # below 1: does not sum to 1, as in SentEval
                [0, 0, 0, 0, 0],
            ]
        )
    )


@pytest.mark.parametrize(("kind", "correlate"), [("pearson", pearsonr), ("spearman", spearmanr)])
def test_a_fit_equals_the_authors_steps(kind, correlate):
    rng = np.random.default_rng(0)
    x = {
        part: rng.standard_normal((n, 12)).astype(np.float32) for part, n in (("train", 130), ("dev", 40), ("test", 50))
    }
    w = rng.standard_normal(12)
    y = {part: np.clip(3 + (rows @ w) / 2 + rng.standard_normal(len(rows)), 0.2, 5) for part, rows in x.items()}

    class Authors(Classifier):
        def loss(self, x, y):
            return nn.functional.mse_loss(self.model(x).softmax(1), y)

        def predicted(self, x):
            return self.model(torch.tensor(x)).softmax(1).detach().numpy() @ np.arange(1, 6)

        def score(self, x, y):
            return correlate(self.predicted(x), y)[0]

    alone = Authors(12, 5, 0, optimizer="adam", **SETTINGS)
    best = alone.fit(x["train"], label_distribution(y["train"]), (x["dev"], y["dev"]))
    predicted = alone.predicted(x["test"])

    found, own = Relatedness(stop_on=kind, seed=1111, **SETTINGS).run(x, y)
    assert own == pytest.approx(predicted, rel=1e-4)
    assert found == pytest.approx(
        {
            "pearson": 100 * pearsonr(predicted, y["test"])[0],
            "spearman": 100 * spearmanr(predicted, y["test"])[0],
            "mse": np.mean((predicted - y["test"]) ** 2),
            f"dev_{kind}": 100 * best,
        },
        rel=1e-5,
    )


def test_constant_embeddings_score_0_instead_of_nan():
    x = {part: np.ones((20, 3), np.float32) for part in ("train", "dev", "test")}
    y = {part: np.linspace(1, 5, 20) for part in x}
    with pytest.warns(RuntimeWarning):
        found, _ = Relatedness(stop_on="pearson", seed=1111, **SETTINGS).run(x, y)
    assert (found["pearson"], found["spearman"], found["dev_pearson"]) == (0, 0, 0)
