"""SentEval transfer: how well a linear classifier reads a task off the frozen embedding.

u, v are the embeddings of a sentence, or of a pair's sentences. D embedding width, N rows, F features.
"""

import dataclasses
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cse.errors import UserError
from cse.eval.senteval import transfer_data as data
from cse.eval.senteval.files import chosen
from cse.eval.senteval.folder import SentEvalFolder
from cse.eval.senteval.transfer_data import Examples, Parts
from cse.eval.senteval.validation import cross_validation, given_split, nested_cross_validation
from cse.types import Encode, Evaluator

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Task:
    """scheme: nested | cross | split | snli | regression, SentEval's way to train and choose. f1: report it too."""

    read: Callable[[SentEvalFolder], Parts]
    scheme: str
    f1: bool = False


TASKS = {
    **{name: Task(partial(data.read_binary, task=name), "nested") for name in data.BINARY},
    "SST2": Task(data.read_sst2, "split"),
    "SST5": Task(data.read_sst5, "split"),
    "TREC": Task(data.read_trec, "cross"),
    "MRPC": Task(data.read_mrpc, "cross", f1=True),
    "SICK-E": Task(data.read_sick_entailment, "split"),
    "SNLI": Task(data.read_snli, "snli"),
    "SICKRelatedness": Task(data.read_sick_relatedness, "regression"),
    "STSBenchmark": Task(data.read_stsb_scores, "regression"),
}
SIMCSE_SEVEN = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")  # SimCSE, Table 9: "Avg."


class Transfer(Evaluator):
    """Accuracy in percent of each task, `<task>/accuracy` on test and `<task>/dev_accuracy` where it was chosen.

    mode names one of `classifiers`: SentEval's own procedure (test, fast), or scikit-learn's, whose scores are keyed
    `accuracy_sklearn`. `average` is over SimCSE's seven tasks and appears when all seven were scored.
    """

    splits = ("test",)

    def __init__(
        self,
        senteval: str | None,
        tasks: list[str],
        mode: str,
        classifiers: dict[str, dict[str, Any]],
        regression: Any,
        allow_partial: bool = False,
    ):
        self.tasks = chosen("eval.transfer.tasks", tasks, TASKS)
        if mode not in classifiers:
            raise UserError(f"eval.transfer.mode={mode}: choose from {', '.join(classifiers)}.")
        self.folder = SentEvalFolder(senteval, allow_partial)
        self.mode, self.settings, self.regression = mode, classifiers[mode], regression
        self.suffix = "_sklearn" if mode == "sklearn" else ""
        self.data: dict[str, Parts] = {}
        self.folds: dict[str, list[float]] = {}  # accuracy of each outer fold, of the encoder scored last

    def prepare(self) -> None:
        if not self.data:
            self.data = self.folder.present({task: TASKS[task].read for task in self.tasks})
            self.folder.need(self.data)

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        self.prepare()
        vectors = embed(encode, [examples for parts in self.data.values() for examples in parts.values()])
        scores: dict[str, float] = {}
        for task, parts in self.data.items():
            start = time.perf_counter()
            found = self._score(task, parts, vectors)
            log.info("%s %s (%.0f s)", task, found, time.perf_counter() - start)
            scores |= {f"{task}/{statistic}": value for statistic, value in found.items()}
        if all(task in self.data for task in SIMCSE_SEVEN):
            for statistic in (f"accuracy{self.suffix}", f"dev_accuracy{self.suffix}"):
                name = statistic.replace("accuracy", "average")
                scores[name] = float(np.mean([scores[f"{task}/{statistic}"] for task in SIMCSE_SEVEN]))
        return scores

    def _score(self, name: str, parts: Parts, vectors: Callable[[list[str]], np.ndarray]) -> dict[str, float]:
        task = TASKS[name]
        x = {part: features([vectors(texts) for texts in e.sentences], task.scheme) for part, e in parts.items()}
        y = {part: examples.labels_N for part, examples in parts.items()}
        if task.scheme == "regression":
            return self.regression.run(x, y)
        classifier, k = self.settings["fit"], self.settings["kfold"]
        if task.scheme == "nested":
            outcome = nested_cross_validation(x["all"], y["all"], classifier, k)
            self.folds[name] = outcome.folds
        elif task.scheme == "cross":
            outcome = cross_validation(x, y, classifier, k)
        elif task.scheme == "snli":
            outcome = given_split(x, y, dataclasses.replace(classifier, **self.settings["snli"]))
        else:
            outcome = given_split(x, y, classifier)
        scores = {f"accuracy{self.suffix}": outcome.test, f"dev_accuracy{self.suffix}": outcome.dev}
        if task.f1:
            from sklearn.metrics import f1_score

            scores[f"f1{self.suffix}"] = round(100 * float(f1_score(y["test"], outcome.predicted_N)), 2)
        return scores

    def provenance(self) -> dict[str, Any]:
        kind = "scikit-learn, not the papers' classifier" if self.suffix else "SentEval's torch logistic regression"
        rows: dict[str, Any] = {
            task: {part: len(e.labels_N) for part, e in parts.items()} for task, parts in self.data.items()
        }
        if all(task in rows for task in SIMCSE_SEVEN):
            rows[f"average{self.suffix}"] = {task: rows[task] for task in SIMCSE_SEVEN}
        return {
            "protocol": f"{kind}, mode {self.mode}",
            "classifier": dataclasses.asdict(self.settings["fit"]) | {"kfold": self.settings["kfold"]},
            "folds": self.folds,
            "rows": rows,
            **self.folder.provenance(),
        }


def embed(encode: Encode, sets: list[Examples]) -> Callable[[list[str]], np.ndarray]:
    """Encode every distinct sentence of all sets in one call; returns a lookup, texts -> (n, D) float32."""
    distinct = list(dict.fromkeys(text for examples in sets for texts in examples.sentences for text in texts))
    vectors_ND = np.asarray(encode(distinct), np.float32)
    row = {text: index for index, text in enumerate(distinct)}
    return lambda texts: vectors_ND[[row[text] for text in texts]]


def features(vectors: list[np.ndarray], scheme: str) -> np.ndarray:
    """What the classifier sees (N, F): u; for a pair [|u - v|; u * v]; for SNLI [u; v; u * v; |u - v|]."""
    if len(vectors) == 1:
        return vectors[0]
    u_ND, v_ND = vectors
    if scheme == "snli":
        return np.concatenate([u_ND, v_ND, u_ND * v_ND, np.abs(u_ND - v_ND)], 1)
    return np.concatenate([np.abs(u_ND - v_ND), u_ND * v_ND], 1)
