"""SentEval's procedure as its authors run it, the slow way: one batch and one classifier after the other.

The tests hold cse.eval to the same scores; benchmarks/bench_eval.py compares the times.
"""

import copy

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import nn

from cse.eval.senteval.logreg import LogisticRegression

SEED = 1111
TEST = dict(optimizer="adam", lr=1e-3, batch_size=64, epoch_size=4, tenacity=5, max_epoch=200)
FAST = dict(optimizer="rmsprop", lr=1e-2, batch_size=128, epoch_size=2, tenacity=3, max_epoch=200)
GRID = [1e-5, 1e-4, 1e-3, 1e-2]


def made_up(rows: int, width: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features (rows, width) and classes (rows,) that follow from them with some noise."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, width)).astype(np.float32)
    logits = x @ rng.standard_normal((width, classes)) + 3 * rng.standard_normal((rows, classes))
    return x, logits.argmax(1)


def classifier(device: str = "cpu", **settings) -> LogisticRegression:
    return LogisticRegression(l2=GRID, seed=1111, device=device, **settings)


class Classifier:
    def __init__(self, width, classes, l2, optimizer, lr, batch_size, epoch_size, tenacity, max_epoch, device="cpu"):
        np.random.seed(SEED)
        torch.manual_seed(SEED)
        self.device = device
        self.model = nn.Linear(width, classes).to(device)
        kind = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[optimizer]
        self.optimizer = kind(self.model.parameters(), lr=lr, weight_decay=l2)
        self.batch_size, self.epoch_size = batch_size, epoch_size
        self.tenacity, self.max_epoch = tenacity, max_epoch

    def fit(self, x, y, dev=None):
        """Returns the best dev accuracy; without dev, a random 5% of x is held out."""
        if dev is None:
            order = np.random.permutation(len(x))
            held = int(0.05 * len(x))
            dev = (x[order[:held]], y[order[:held]])
            x, y = x[order[held:]], y[order[held:]]
        x, y = torch.tensor(x, device=self.device), torch.tensor(y, device=self.device)
        best, misses, passes, stop, kept = -1.0, 0, 0, False, None
        while not stop and passes <= self.max_epoch:
            for _ in range(self.epoch_size):
                order = np.random.permutation(len(x))
                for start in range(0, len(x), self.batch_size):
                    rows = torch.from_numpy(order[start : start + self.batch_size]).to(self.device)
                    self.optimizer.zero_grad()
                    self.loss(x[rows], y[rows]).backward()
                    self.optimizer.step()
            passes += self.epoch_size
            accuracy = self.score(*dev)
            if accuracy > best:
                best, kept = accuracy, copy.deepcopy(self.model)
            else:
                stop = misses >= self.tenacity
                misses += 1
        self.model = kept
        return best

    def loss(self, x, y):
        return nn.functional.cross_entropy(self.model(x), y)

    def score(self, x, y):
        with torch.no_grad():
            predicted = self.model(torch.tensor(x, device=self.device)).argmax(1).cpu().numpy()
        return float((predicted == y).sum()) / len(y)


def folds(y, k):
    return StratifiedKFold(n_splits=k, shuffle=True, random_state=SEED).split(np.zeros(len(y)), y)


def nested(x, y, k, grid, outer=None, **settings):
    """outer: how many of the k outer folds are run, None for all."""
    classes, devs, tests = int(y.max()) + 1, [], []
    for train, test in list(folds(y, k))[:outer]:
        scores = []
        for l2 in grid:
            found = []
            for inner, held in folds(y[train], k):
                classifier = Classifier(x.shape[1], classes, l2, **settings)
                rows, dev = train[inner], train[held]
                found.append(classifier.fit(x[rows], y[rows], (x[dev], y[dev])))
            scores.append(round(100 * np.mean(found), 2))
        classifier = Classifier(x.shape[1], classes, grid[int(np.argmax(scores))], **settings)
        classifier.fit(x[train], y[train])
        devs.append(max(scores))
        tests.append(round(100 * classifier.score(x[test], y[test]), 2))
    return round(np.mean(devs), 2), round(np.mean(tests), 2), tests


def cross(x, y, k, grid, **settings):
    classes, scores = int(y["train"].max()) + 1, []
    for l2 in grid:
        found = []
        for train, held in folds(y["train"], k):
            classifier = Classifier(x["train"].shape[1], classes, l2, **settings)
            dev = (x["train"][held], y["train"][held])
            found.append(classifier.fit(x["train"][train], y["train"][train], dev))
        scores.append(round(100 * np.mean(found), 2))
    classifier = Classifier(x["train"].shape[1], classes, grid[int(np.argmax(scores))], **settings)
    classifier.fit(x["train"], y["train"])
    return max(scores), round(100 * classifier.score(x["test"], y["test"]), 2)


def split(x, y, grid, **settings):
    """Fits the chosen l2 a second time, as the authors do."""
    classes, dev = int(y["train"].max()) + 1, (x["dev"], y["dev"])
    scores = []
    for l2 in grid:
        classifier = Classifier(x["train"].shape[1], classes, l2, **settings)
        scores.append(round(100 * classifier.fit(x["train"], y["train"], dev), 2))
    classifier = Classifier(x["train"].shape[1], classes, grid[int(np.argmax(scores))], **settings)
    classifier.fit(x["train"], y["train"], dev)
    return max(scores), round(100 * classifier.score(x["test"], y["test"]), 2)
