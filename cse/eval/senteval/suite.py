"""What SentEval's two suites of linear classifiers share: modes, schemes, features and averages.

u, v are the embeddings of a pair's sentences; u alone is that of a single sentence. D embedding width, N rows,
F features.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import ClassVar, Literal

import numpy as np

from cse.eval.files import DataFolder
from cse.eval.score import ACCURACY, AVERAGE, DEV_ACCURACY, MemoizedEncode
from cse.eval.senteval.data import Examples, Parts
from cse.eval.senteval.validation import SCHEMES, Arrays, Mode, Procedure
from cse.progress import track
from cse.provenance import ItemScores, Nature, Provenance, RowCounts
from cse.types import Encode, Evaluator

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """scheme: how SentEval trains and chooses the strength; split and snli have a dev set. f1: whether to report F1."""

    read: Callable[[DataFolder], Parts]
    scheme: Literal["nested", "cross", "split", "snli", "regression"]
    f1: bool = False


class SuiteProvenance(Provenance):
    """classifier: its settings. folds: the accuracy of each outer fold, by task."""

    classifier: dict[str, object]
    folds: dict[str, list[float]]


class Suite(Evaluator):
    """Base class of Transfer and Probing. mode: which of `classifiers` to use."""

    splits = ("test",)
    natures: ClassVar[Mapping[str, Nature]] = {
        "accuracy": ACCURACY,
        "dev_accuracy": DEV_ACCURACY,
        "average": AVERAGE,
        "dev_average": replace(AVERAGE, headline=False),
    }
    more_than_encoding = True
    averaged: tuple[str, ...]
    """The tasks of the average, which needs all of them."""

    def __init__(self, folder: DataFolder, tasks: Mapping[str, Task], mode: Mode, classifiers: dict[Mode, Procedure]):
        self.folder, self.tasks = folder, tasks
        self.mode, self.settings = mode, classifiers[mode]
        self.data: dict[str, Parts] = {}
        self.scored: ItemScores = {}
        self.folds: dict[str, list[float]] = {}  # by task: accuracy of each outer fold, for the encoder scored last

    @property
    def whole(self) -> bool:
        """Whether every task of the average has data."""
        return set(self.averaged) <= set(self.data)

    def prepare(self) -> None:
        """Read all tasks. Raises MissingResource or UserError."""
        if not self.data:
            found = {name: self.folder.attempt(task.read, task=name) for name, task in self.tasks.items()}
            self.data = {name: parts for name, parts in found.items() if parts is not None}
            self.folder.require(self.data)

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """The scores of every task that has data, one after the other."""
        self.prepare()
        scores: dict[str, float] = {}
        for task, parts in track(list(self.data.items()), itemgetter(0)):
            start = time.perf_counter()
            statistics = self.score_task(task, parts, encode)
            log.info("%s %s (%.0f s)", task, statistics, time.perf_counter() - start)
            scores |= {f"{task}/{statistic}": value for statistic, value in statistics.items()}
        return scores | self.averages(scores)

    def score_task(self, task: str, parts: Parts, encode: Encode) -> dict[str, float]:
        """The accuracies of a task, and F1 if it reports it; the items behind them go into `scored`."""
        scheme, procedure = self.tasks[task].scheme, self.settings
        classifier = replace(procedure["fit"], **(procedure["snli"] if scheme == "snli" else {}))
        found = SCHEMES[scheme](*features(parts, encode, scheme), classifier, procedure["kfold"])
        if found.folds:
            self.folds[task] = found.folds
        self.scored[f"{task}/accuracy"] = found.items
        scores = {"accuracy": found.test, "dev_accuracy": found.dev}
        if self.tasks[task].f1:
            from sklearn.metrics import f1_score

            scores["f1"] = round(100 * float(f1_score(found.items.gold_N, found.items.values_N)), 2)
            self.scored[f"{task}/f1"] = replace(found.items, kind="f1")
        return scores

    def averages(self, scores: dict[str, float]) -> dict[str, float]:
        """`average` and `dev_average` of the accuracies of `averaged`; {} unless all of these tasks have data."""
        if not self.whole:
            return {}
        return {
            f"{part}average": float(np.mean([scores[f"{task}/{part}accuracy"] for task in self.averaged]))
            for part in ("", "dev_")
        }

    def items(self, split: str) -> ItemScores:
        """The test rows of each task, and what their average is over."""
        return self.scored | ({"average": [f"{task}/accuracy" for task in self.averaged]} if self.whole else {})

    def texts(self) -> Iterator[str]:
        """The sentences of all parts of each task."""
        for parts in self.data.values():
            for examples in parts.values():
                yield from examples.texts()

    def provenance(self) -> SuiteProvenance:
        """The classifier, the rows of each task's parts, the accuracy of each outer fold, and the files."""
        rows: RowCounts = {task: {part: len(examples) for part, examples in parts.items()}
                           for task, parts in self.data.items()}  # fmt: skip
        if self.whole:
            rows["average"] = {task: rows[task] for task in self.averaged}
        return {
            "protocol": f"SentEval's torch logistic regression, mode {self.mode}",
            "classifier": asdict(self.settings["fit"]) | {"kfold": self.settings["kfold"]},
            "folds": self.folds,
            "rows": rows,
            **self.folder.provenance(),
        }


def embedded(encode: Encode, examples: Iterable[Examples]) -> MemoizedEncode:
    """A memoized `encode` that has encoded every distinct sentence of all the examples in one call."""
    vectors = MemoizedEncode(encode, limit=None)
    vectors.add(text for one in examples for text in one.texts())
    return vectors


def features(parts: Parts, encode: Encode, scheme: str) -> tuple[Arrays, Arrays]:
    """(the classifier's features, labels) of each part."""
    x = {
        part: combined([np.asarray(encode(texts), np.float32) for texts in examples.sentences], scheme)
        for part, examples in parts.items()
    }
    return x, {part: examples.labels_N for part, examples in parts.items()}


def combined(vectors: list[np.ndarray], scheme: str) -> np.ndarray:
    """The features (N, F): u; of a pair [|u - v|; u * v]; for SNLI [u; v; u * v; |u - v|]."""
    if len(vectors) == 1:
        return vectors[0]
    u_ND, v_ND = vectors
    if scheme == "snli":
        return np.concatenate([u_ND, v_ND, u_ND * v_ND, np.abs(u_ND - v_ND)], 1)
    return np.concatenate([np.abs(u_ND - v_ND), u_ND * v_ND], 1)
