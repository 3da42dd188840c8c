"""SentEval's trained regression: a softmax over the scores 1..5. The expectation of the softmax is the prediction.

The gold score y becomes the distribution of Tai et al. 2015 (arXiv:1503.00075, section 4.2) over floor(y) and
floor(y) + 1. For a score below 1 (STS-B has some) the distribution does not sum to 1, as in SentEval.
N is the number of rows, F of features, and C of classes. Class c means the score c + 1.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch.nn.functional import mse_loss

from cse.eval.senteval.stopping import train_until_worse
from cse.eval.sts import CORRELATIONS
from cse.ranges import Count, Natural, Positive, Seed

CLASSES = 5


@dataclass(frozen=True)
class Relatedness:
    """A linear layer trained by Adam on the mean squared error between distributions, with early stopping on dev.

    stop_on: the dev score for early stopping, pearson (facebookresearch/SentEval) or spearman (SimCSE's fork).
    """

    stop_on: Literal["pearson", "spearman"]
    lr: Positive
    batch_size: Count
    epoch_size: Count  # passes between two checks
    tenacity: Natural  # checks without improvement that are allowed
    max_epoch: Natural
    seed: Seed

    def run(self, x: dict[str, np.ndarray], y: dict[str, np.ndarray]) -> tuple[dict[str, float], np.ndarray]:
        """Fit the layer to features x and gold scores y of train, with early stopping on dev.

        Return ({name: score}, predictions of test (N,)). The scores are correlations x100 and mse on test, and
        dev_STOP_ON x100.
        """
        train_NF, target_NC = torch.from_numpy(x["train"]), torch.from_numpy(label_distribution(y["train"]))
        order = np.random.RandomState(self.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            layer = torch.nn.Linear(train_NF.shape[1], CLASSES)
        optimizer = torch.optim.Adam(layer.parameters(), lr=self.lr)

        def train() -> None:
            for _ in range(self.epoch_size):
                rows_N = torch.from_numpy(order.permutation(len(train_NF)))
                for rows_B in rows_N.split(self.batch_size):
                    optimizer.zero_grad()
                    mse_loss(layer(train_NF[rows_B]).softmax(1), target_NC[rows_B]).backward()
                    optimizer.step()

        def dev_score() -> float:
            return _correlate(self.stop_on, _expected_score(x["dev"], layer), y["dev"])

        checks = range(0, self.max_epoch + 1, self.epoch_size)
        best = train_until_worse(layer, train, dev_score, checks, self.tenacity)
        predicted_N, gold_N = _expected_score(x["test"], layer), y["test"]
        scores = {
            "pearson": 100 * _correlate("pearson", predicted_N, gold_N),
            "spearman": 100 * _correlate("spearman", predicted_N, gold_N),
            "mse": float(np.mean((predicted_N - gold_N) ** 2)),
            f"dev_{self.stop_on}": 100 * best,
        }
        return scores, predicted_N


def label_distribution(y_N: np.ndarray) -> np.ndarray:
    """Return (N, 5) float32: y - floor(y) at the score floor(y) + 1, 1 - (y - floor(y)) at floor(y), 0 elsewhere."""
    floor_N, rows = np.floor(y_N).astype(int), np.arange(len(y_N))
    distribution_NC = np.zeros((len(y_N), CLASSES + 2), np.float32)  # a spare class at each end
    distribution_NC[rows, floor_N] = floor_N - y_N + 1
    distribution_NC[rows, floor_N + 1] = y_N - floor_N
    return distribution_NC[:, 1 : CLASSES + 1]


@torch.no_grad()
def _expected_score(x_NF: np.ndarray, layer: torch.nn.Linear) -> np.ndarray:
    return layer(torch.from_numpy(x_NF)).softmax(1).numpy() @ np.arange(1, CLASSES + 1)


def _correlate(kind: str, predicted_N: np.ndarray, gold_N: np.ndarray) -> float:
    value = float(CORRELATIONS[kind](predicted_N, gold_N)[0])
    return 0.0 if np.isnan(value) else value  # a constant prediction scores 0, as in SentEval
