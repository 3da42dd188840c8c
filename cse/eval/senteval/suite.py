"""The base of SentEval's two suites of linear classifiers, Transfer and Probing.

u and v are the embeddings of the sentences of a pair; a single sentence has only u. D is the embedding width, N the
number of rows, and F of features.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import Literal

import numpy as np

from cse.errors import UserError
from cse.eval.files import DataFolder
from cse.eval.scoring import MemoizedEncode, mean_of
from cse.eval.senteval.data import Examples, Parts
from cse.eval.senteval.validation import SCHEMES, Arrays, Mode, Procedure
from cse.progress import track
from cse.score import Score, Source, values
from cse.types import Encode, Evaluator

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """One task of a suite.

    scheme: how SentEval trains the classifier and selects the strength of its L2 penalty. f1: whether to report F1.
    """

    read: Callable[[DataFolder], Parts]
    scheme: Literal["nested", "cross", "split", "snli", "regression"]
    f1: bool = False


class SuiteSource(Source):
    """The source of a suite's scores. classifier: the classifier's settings. folds: {task: accuracy of each outer
    fold}."""

    classifier: dict[str, object]
    folds: dict[str, list[float]]


class Suite(Evaluator):
    """Base class of Transfer and Probing. mode: the key in `classifiers`."""

    splits = ("test",)
    primary = "average"
    averaged: tuple[str, ...]
    """The tasks of the average. The average needs all of them."""

    def __init__(self, folder: DataFolder, tasks: Mapping[str, Task], mode: Mode, classifiers: dict[Mode, Procedure]):
        self.folder, self.tasks = folder, tasks
        self.mode, self.settings = mode, classifiers[mode]
        self.data: dict[str, Parts] = {}
        self.folds: dict[str, list[float]] = {}  # by task: accuracy of each outer fold, for the encoder scored last

    def prepare(self) -> None:
        """Read all tasks. Raises MissingResource or UserError."""
        found = {name: self.folder.attempt(task.read) for name, task in self.tasks.items()}
        self.data = {name: parts for name, parts in found.items() if parts is not None}
        self.folder.require(self.data)
        for name, parts in self.data.items():
            check_folds(name, self.tasks[name].scheme, parts, self.settings["kfold"], self.mode)

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return the scores of every task that has data. If all tasks in `averaged` have data, also return `average`
        and `dev_average`."""
        found: dict[str, list[Score]] = {}
        for task, parts in track(list(self.data.items()), itemgetter(0)):
            start = time.perf_counter()
            scores = self.score_task(task, parts, encode)
            log.info("%s %s (%.0f s)", task, values(scores), time.perf_counter() - start)
            modified = self.folder.modified or self.mode == "fast"  # fast has other scores under the same names
            found[task] = [replace(one.within(f"{task}/"), modified=modified) for one in scores]
        named = {one.name: one for scores in found.values() for one in scores}
        if set(self.averaged) <= set(found):
            for name in ("", "dev_"):
                average = mean_of(f"{name}average", [named[f"{task}/{name}accuracy"] for task in self.averaged])
                named[average.name] = replace(average, headline=not name)
        return [*named.values()]

    def score_task(self, task: str, parts: Parts, encode: Encode) -> list[Score]:
        """Return the accuracies of a task, and F1 if the task reports F1."""
        scheme, procedure = self.tasks[task].scheme, self.settings
        classifier = replace(procedure["fit"], **(procedure["snli"] if scheme == "snli" else {}))
        found = SCHEMES[scheme](*features(parts, encode, scheme), classifier, procedure["kfold"])
        if found.folds:
            self.folds[task] = found.folds
        tested, chosen = scored_parts(parts)
        items = replace(found.items, digest=tested.digest())
        scores = [
            Score("accuracy", found.test, len(tested), "accuracy, %", items=items),
            Score("dev_accuracy", found.dev, len(chosen), "accuracy on dev, %", headline=False),
        ]
        if self.tasks[task].f1:
            from sklearn.metrics import f1_score

            f1 = round(100 * float(f1_score(items.gold_N, items.values_N)), 2)
            scores.append(Score("f1", f1, len(tested), "F1, %", items=replace(items, kind="f1"), headline=False))
        return scores

    def texts(self) -> Iterator[str]:
        """Yield the sentences of all parts of each task."""
        for parts in self.data.values():
            for examples in parts.values():
                yield from examples.texts()

    def source(self) -> SuiteSource:
        """Return the protocol, the classifier, the accuracy of each outer fold, and the files."""
        return {
            **self.folder.source(f"SentEval's torch logistic regression, mode {self.mode}"),
            "classifier": asdict(self.settings["fit"]) | {"kfold": self.settings["kfold"]},
            "folds": self.folds,
        }


def check_folds(task: str, scheme: str, parts: Parts, k: int, mode: Mode) -> None:
    """Raise UserError if the smallest class of a task has too few rows to give each fold a row."""
    if scheme not in ("nested", "cross"):
        return

    def fits(rows: int, folds: int) -> bool:
        """Return whether `rows` rows of a class give each fold a row. Nested folds divide the rows of the other folds
        again."""
        return rows - (math.ceil(rows / folds) if scheme == "nested" else 0) >= folds

    fewest = int(np.unique(parts["all" if scheme == "nested" else "train"].labels_N, return_counts=True)[1].min())
    if not fits(fewest, k):
        fewer = next((folds for folds in range(k, 1, -1) if fits(fewest, folds)), None)
        instead = f", or set `classifiers.{mode}.kfold`={fewer}" if fewer else ""
        within = f" within {k} folds" if scheme == "nested" else ""
        raise UserError(
            f"{task}: its smallest class has {fewest} rows, too few for {k} folds{within}: add rows{instead}"
        )


def scored_parts(parts: Parts) -> tuple[Examples, Examples]:
    """Return (the examples of the accuracy, the examples of the dev accuracy)."""
    tested = next(parts[part] for part in ("test", "all") if part in parts)
    chosen = next(parts[part] for part in ("dev", "train", "all") if part in parts)
    return tested, chosen


def embedded(encode: Encode, examples: Iterable[Examples]) -> MemoizedEncode:
    """Encode all sentences of the examples in one call. Return a memoized `encode` with their vectors."""
    vectors = MemoizedEncode(encode, limit=None)
    vectors.add(text for one in examples for text in one.texts())
    return vectors


def features(parts: Parts, encode: Encode, scheme: str) -> tuple[Arrays, Arrays]:
    """Return ({part: features of the classifier}, {part: labels})."""
    x = {
        part: combined([np.asarray(encode(texts), np.float32) for texts in examples.sentences], scheme)
        for part, examples in parts.items()
    }
    return x, {part: examples.labels_N for part, examples in parts.items()}


def combined(vectors: list[np.ndarray], scheme: str) -> np.ndarray:
    """Return the features (N, F): u; for a pair [|u - v|; u * v]; for SNLI [u; v; u * v; |u - v|]."""
    if len(vectors) == 1:
        return vectors[0]
    u_ND, v_ND = vectors
    if scheme == "snli":
        return np.concatenate([u_ND, v_ND, u_ND * v_ND, np.abs(u_ND - v_ND)], 1)
    return np.concatenate([np.abs(u_ND - v_ND), u_ND * v_ND], 1)
