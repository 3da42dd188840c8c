"""What SentEval's two suites of linear classifiers share: modes, rows, averages, and one pass through the encoder."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from cse.eval.score import ACCURACY, AVERAGE, DEV_ACCURACY, MemoizedEncode
from cse.eval.senteval.files import DataFolder
from cse.eval.senteval.transfer_data import Examples, Parts
from cse.eval.senteval.validation import Mode, Procedure
from cse.progress import track
from cse.provenance import ItemScores, RowCounts
from cse.types import Encode, Evaluator, Nature

log = logging.getLogger(__name__)


class Suite(Evaluator):
    """Base of Transfer and Probing. mode names one of `classifiers`, {"fit": classifier, "kfold": folds, ...}."""

    splits = ("test",)
    natures: ClassVar[Mapping[str, Nature]] = {
        "accuracy": ACCURACY,
        "dev_accuracy": DEV_ACCURACY,
        "average": AVERAGE,
        "dev_average": replace(AVERAGE, headline=False),
    }
    more_than_encoding = True
    averaged: tuple[str, ...]
    """The tasks of the average, which appears when all of them were scored."""

    def __init__(
        self,
        folder: DataFolder,
        reads: Mapping[str, Callable[[Any], Parts]],
        mode: Mode,
        classifiers: dict[Mode, Procedure],
    ):
        self.folder, self.reads = folder, reads
        self.mode, self.settings = mode, classifiers[mode]
        self.data: dict[str, Parts] = {}
        self.scored: ItemScores = {}

    def score_task(self, task: str, parts: Parts, encode: Encode) -> dict[str, float]:
        """The statistics of one task; what they are computed from goes to `scored`."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Read all tasks. Raises MissingResource or UserError."""
        if not self.data:
            self.data = self.folder.present(self.reads)
            self.folder.need(self.data)

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """Scores of every task that has data, one after the other."""
        self.prepare()
        scores: dict[str, float] = {}
        for task, parts in track(list(self.data.items()), itemgetter(0)):
            start = time.perf_counter()
            statistics = self.score_task(task, parts, encode)
            log.info("%s %s (%.0f s)", task, statistics, time.perf_counter() - start)
            scores |= {f"{task}/{statistic}": value for statistic, value in statistics.items()}
        return scores | self.averages(scores)

    def averages(self, scores: dict[str, float]) -> dict[str, float]:
        """`average` and `dev_average` of the accuracies of `averaged`; {} if one of these tasks has no data."""
        if not set(self.averaged) <= set(self.data):
            return {}
        return {
            f"{part}average": float(np.mean([scores[f"{task}/{part}accuracy"] for task in self.averaged]))
            for part in ("", "dev_")
        }

    def items(self, split: str) -> ItemScores:
        """The test rows of each task."""
        if not set(self.averaged) <= set(self.data):
            return self.scored
        return {**self.scored, "average": [f"{task}/accuracy" for task in self.averaged]}

    def texts(self) -> Iterator[str]:
        """The sentences of all parts of each task."""
        for parts in self.data.values():
            for examples in parts.values():
                for texts in examples.sentences:
                    yield from texts

    def rows(self) -> RowCounts:
        """Rows of each part of each task."""
        return {
            task: {part: len(examples.labels_N) for part, examples in parts.items()}
            for task, parts in self.data.items()
        }

    def protocol(self) -> str:
        """Whose classifier it is, in words."""
        return f"SentEval's torch logistic regression, mode {self.mode}"


def embedded(encode: Encode, examples: Iterable[Examples]) -> MemoizedEncode:
    """`encode` after one call for every distinct sentence of all the examples."""
    vectors = MemoizedEncode(encode, limit=None)
    vectors.add(text for one in examples for texts in one.sentences for text in texts)
    return vectors
