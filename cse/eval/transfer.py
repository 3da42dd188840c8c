"""SentEval transfer: how well a linear classifier solves a task from frozen embeddings."""

from functools import partial
from typing import Annotated, Any

from annotated_types import MinLen

from cse.eval.files import senteval_folder, senteval_needs
from cse.eval.senteval import data
from cse.eval.senteval.suite import Suite, Task, embedded, features, scored_parts
from cse.eval.senteval.validation import Mode, Procedure
from cse.needs import Need, Settings
from cse.ranges import Name, OneOf
from cse.score import Items, Score
from cse.types import Encode

TASKS = {
    **{name: Task(partial(data.read_binary, task=name), "nested") for name in data.BINARY},
    **{name: Task(partial(data.read_parts, task=name), "split") for name in ("SST2", "SST5", "SICK-E")},
    "TREC": Task(partial(data.read_parts, task="TREC"), "cross"),
    "MRPC": Task(partial(data.read_parts, task="MRPC"), "cross", f1=True),
    "SNLI": Task(data.read_snli, "snli"),
    "SICKRelatedness": Task(partial(data.read_parts, task="SICK-R"), "regression"),
    "STSBenchmark": Task(partial(data.read_parts, task="STS-B"), "regression"),
}
SIMCSE_SEVEN = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")  # SimCSE, Table 9: "Avg."


class Transfer(Suite):
    """An evaluator with `<task>/accuracy` in percent. `<task>/dev_accuracy` selects the strength of the L2 penalty.

    mode: a key of `classifiers`, "test" (SentEval's full procedure) or "fast" (SentEval's faster procedure). The score
    `average` is the mean of SimCSE's seven tasks and needs all seven.
    """

    averaged = SIMCSE_SEVEN

    def __init__(
        self,
        senteval: Name | None,
        tasks: Annotated[list[Annotated[str, OneOf(TASKS)]], MinLen(1)],
        mode: Mode,
        classifiers: dict[Mode, Procedure],
        regression: Any,
        allow_partial: bool = False,
    ):
        chosen = {name: TASKS[name] for name in tasks}
        super().__init__(senteval_folder(senteval, allow_partial), chosen, mode, classifiers)
        self.regression = regression

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return SentEval's data as a Need."""
        return senteval_needs(settings)

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return the scores of every task that has data. One call of `encode` encodes the sentences of all tasks."""
        examples = [examples for parts in self.data.values() for examples in parts.values()]
        return super().__call__(embedded(encode, examples), split)

    def score_task(self, task: str, parts: data.Parts, encode: Encode) -> list[Score]:
        """Return the accuracies of a task, or the correlations and error of a regression."""
        if self.tasks[task].scheme != "regression":
            return super().score_task(task, parts, encode)
        x, y = features(parts, encode, "regression")
        found, predicted_N = self.regression.run(x, y)
        tested, chosen = scored_parts(parts)
        rows = len(tested)
        dev = f"dev_{self.regression.stop_on}"
        items = Items("spearman", predicted_N, y["test"], digest=tested.digest())
        return [
            Score("pearson", found["pearson"], rows, "Pearson's correlation x 100"),
            Score("spearman", found["spearman"], rows, "Spearman's correlation x 100", items=items, headline=False),
            Score("mse", found["mse"], rows, "mean squared error", lower_is_better=True, headline=False),
            Score(dev, found[dev], len(chosen), "correlation on dev x 100", headline=False),
        ]
