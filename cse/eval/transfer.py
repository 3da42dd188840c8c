"""SentEval transfer: how well a linear classifier reads a task off the frozen embedding.

u, v are the embeddings of a sentence, or of a pair's sentences. D embedding width, N rows, F features.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import MinLen

from cse.eval.senteval import transfer_data as data
from cse.eval.senteval.folder import SentEvalFolder
from cse.eval.senteval.pairs import read_sickr, read_stsb
from cse.eval.senteval.suite import Suite, embedded
from cse.eval.senteval.transfer_data import Parts
from cse.eval.senteval.validation import Mode, Procedure, cross_validation, given_split, nested_cross_validation
from cse.provenance import Items, Provenance
from cse.ranges import Name, OneOf
from cse.types import Encode, Nature


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
    "SICKRelatedness": Task(partial(data.read_scored, read=read_sickr), "regression"),
    "STSBenchmark": Task(partial(data.read_scored, read=read_stsb), "regression"),
}
SIMCSE_SEVEN = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")  # SimCSE, Table 9: "Avg."


class TransferProvenance(Provenance):
    """classifier: its settings; folds: the accuracy of each outer fold, by task."""

    classifier: dict[str, object]
    folds: dict[str, list[float]]


class Transfer(Suite):
    """Accuracy in percent of each task, `<task>/accuracy` on test and `<task>/dev_accuracy` where it was chosen.

    mode: one of `classifiers`, SentEval's own procedure (test) or its faster one. `average` is over SimCSE's seven
    tasks and appears when all seven were scored.
    """

    averaged = SIMCSE_SEVEN
    natures: ClassVar[Mapping[str, Nature]] = {
        **Suite.natures,
        "f1": Nature("F1, %", headline=False),
        "spearman": Nature("Spearman's correlation x 100", headline=False),
        "pearson": Nature("Pearson's correlation x 100"),
        "dev_spearman": Nature("Spearman's correlation on dev x 100", headline=False),
        "dev_pearson": Nature("Pearson's correlation on dev x 100", headline=False),
        "mse": Nature("mean squared error", lower_is_better=True, decimals=3, headline=False),
    }

    def __init__(
        self,
        senteval: Name | None,
        tasks: Annotated[list[Annotated[str, OneOf(TASKS)]], MinLen(1)],
        mode: Mode,
        classifiers: dict[Mode, Procedure],
        regression: Any,
        allow_partial: bool = False,
    ):
        reads = {task: TASKS[task].read for task in tasks}
        super().__init__(SentEvalFolder(senteval, allow_partial), reads, mode, classifiers)
        self.regression = regression
        self.folds: dict[str, list[float]] = {}  # accuracy of each outer fold, of the encoder scored last

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """Scores of every task that has data; all their sentences go to `encode` in one call."""
        self.prepare()
        examples = [examples for parts in self.data.values() for examples in parts.values()]
        return super().__call__(embedded(encode, examples), split)

    def score_task(self, task: str, parts: Parts, encode: Encode) -> dict[str, float]:
        """Accuracies, with F1 where the task reports it, or the regression's statistics."""
        about = TASKS[task]
        x = {
            part: features([np.asarray(encode(texts), np.float32) for texts in e.sentences], about.scheme)
            for part, e in parts.items()
        }
        y = {part: examples.labels_N for part, examples in parts.items()}
        if about.scheme == "regression":
            scores, predicted_N = self.regression.run(x, y)
            self.scored[f"{task}/spearman"] = Items("spearman", predicted_N, y["test"])
            return scores
        classifier, k = self.settings["fit"], self.settings["kfold"]
        if about.scheme == "nested":
            accuracies = nested_cross_validation(x["all"], y["all"], classifier, k)
            self.folds[task] = accuracies.folds
        elif about.scheme == "cross":
            accuracies = cross_validation(x, y, classifier, k)
        elif about.scheme == "snli":
            accuracies = given_split(x, y, dataclasses.replace(classifier, **self.settings["snli"]))
        else:
            accuracies = given_split(x, y, classifier)
        gold_N = y["all"] if about.scheme == "nested" else y["test"]
        self.scored[f"{task}/accuracy"] = Items("accuracy", accuracies.predicted_N, gold_N)
        scores = {"accuracy": accuracies.test, "dev_accuracy": accuracies.dev}
        if about.f1:
            from sklearn.metrics import f1_score

            scores["f1"] = round(100 * float(f1_score(gold_N, accuracies.predicted_N)), 2)
            self.scored[f"{task}/f1"] = Items("f1", accuracies.predicted_N, gold_N)
        return scores

    def provenance(self) -> TransferProvenance:
        """The classifier, rows of each task, the accuracy of each outer fold, and the files."""
        rows = self.rows()
        if set(self.averaged) <= set(rows):
            rows["average"] = {task: rows[task] for task in self.averaged}
        return {
            "protocol": self.protocol(),
            "classifier": dataclasses.asdict(self.settings["fit"]) | {"kfold": self.settings["kfold"]},
            "folds": self.folds,
            "rows": rows,
            **self.folder.provenance(),
        }


def features(vectors: list[np.ndarray], scheme: str) -> np.ndarray:
    """What the classifier sees (N, F): u; for a pair [|u - v|; u * v]; for SNLI [u; v; u * v; |u - v|]."""
    if len(vectors) == 1:
        return vectors[0]
    u_ND, v_ND = vectors
    if scheme == "snli":
        return np.concatenate([u_ND, v_ND, u_ND * v_ND, np.abs(u_ND - v_ND)], 1)
    return np.concatenate([np.abs(u_ND - v_ND), u_ND * v_ND], 1)
