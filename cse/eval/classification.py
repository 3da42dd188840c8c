"""Classification of the user's own labelled texts: eval=classification eval.train=FILE eval.test=FILE.

SentEval's linear classifier learns the labels of the training texts from their embeddings. The accuracy on dev selects
the strength of the L2 penalty and stops training early. The dev scores are the same classifier's scores on dev, as in
SentEval. If there is no file for dev, a random tenth of the training texts becomes dev.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Len

from cse.data.text_needs import TextNeed, names_typed
from cse.errors import UserError
from cse.eval.files import DataFolder
from cse.eval.pairs import read_own
from cse.eval.scoring import MemoizedEncode
from cse.eval.senteval.data import Examples, Parts
from cse.eval.senteval.suite import features
from cse.eval.senteval.validation import SEED, Mode, Procedure, given_split
from cse.needs import Need, Settings
from cse.ranges import Encoding, File, Name
from cse.score import Items, Score, Source
from cse.types import Encode, Evaluator

log = logging.getLogger(__name__)

DEV = 10  # without a file for dev, one in this many training texts is in dev


class Classification(Evaluator):
    """An evaluator with `accuracy` and `macro_f1` in percent. conf/eval/classification.yaml explains the settings.

    Raises UserError if `train` is None.
    """

    primary = "accuracy"

    def __init__(
        self,
        train: File | None,
        dev: File | None,
        test: File | None,
        columns: Annotated[list[Name], Len(2, 2)],
        mode: Mode,
        classifiers: dict[Mode, Procedure],
        encoding: Encoding = "utf-8",
    ):
        if train is None:
            raise UserError("eval=classification needs `train`=FILE of texts and labels; `test`=FILE is optional")
        self.files = {name: file for name, file in (("train", train), ("dev", dev), ("test", test)) if file}
        self.columns, self.encoding, self.mode, self.procedure = columns, encoding, mode, classifiers[mode]
        self.splits = ("dev", "test") if test else ("dev",)
        self.folder = DataFolder("classification", "train", "", allow_partial=None, find=Path)
        self.parts: Parts = {}

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the files as Needs."""
        columns, encoding = names_typed(settings.get("columns")), settings.get("encoding") or "utf-8"
        named = {part: settings.get(part) for part in ("train", "dev", "test")}
        return [TextNeed(file, part, columns=columns, encoding=encoding) for part, file in named.items() if file]

    def score_names(self, split: str) -> tuple[str, ...]:
        """Return the names of the two scores."""
        return "accuracy", "macro_f1"

    def prepare(self) -> None:
        """Read the files. Raises MissingResource or UserError."""
        rows = {
            part: read_own(self.folder, file, self.columns, part, self.encoding, texts=1)
            for part, file in self.files.items()
        }
        labels = sorted({label for _, label in rows["train"]})
        if len(labels) < 2:
            same = f"all {len(rows['train'])} rows have the label {labels[0]}"
            raise UserError(f"{self.files['train']}: {same}, but a classifier needs two labels")
        for part, found in rows.items():
            if unknown := sorted({label for _, label in found} - set(labels)):
                raise UserError(f"{self.files[part]}: the label {unknown[0]} is not in {self.files['train']}")
        if "dev" not in rows:
            order = np.random.RandomState(SEED).permutation(len(rows["train"])).tolist()
            dev = set(order[: max(1, len(order) // DEV)])
            whole = rows["train"]
            rows["dev"] = [row for number, row in enumerate(whole) if number in dev]
            rows["train"] = [row for number, row in enumerate(whole) if number not in dev]
            log.info("%-10s dev: %d of the %d training texts", "classify", len(dev), len(whole))
        numbers = {label: number for number, label in enumerate(labels)}
        for part, found in rows.items():
            classes_N = np.array([numbers[label] for _, label in found])
            self.parts[part] = Examples(([text for text, _ in found],), classes_N)

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Train the classifier, and return its scores on the split."""
        from sklearn.metrics import f1_score

        tested = self.parts[split]
        parts = {"train": self.parts["train"], "dev": self.parts["dev"], "test": tested}
        memoized = MemoizedEncode(encode, limit=None)
        memoized.add(text for part in parts.values() for text in part.texts())
        x, y = features(parts, memoized, "split")
        found = given_split(x, y, self.procedure["fit"], self.procedure["kfold"]).items
        predicted_N, gold_N, digest = found.values_N, found.gold_N, tested.digest()
        macro = 100 * float(f1_score(gold_N, predicted_N, average="macro"))
        return [
            Score("accuracy", 100 * float((predicted_N == gold_N).mean()), len(tested), "accuracy, %",
                  items=Items("accuracy", predicted_N, gold_N, digest=digest)),
            Score("macro_f1", macro, len(tested), "mean F1 of the classes, %",
                  items=Items("macro_f1", predicted_N, gold_N, digest=digest)),
        ]  # fmt: skip

    def texts(self) -> Iterator[str]:
        """Yield the texts of train, dev and test."""
        for examples in self.parts.values():
            yield from examples.texts()

    def source(self) -> Source:
        """Return the protocol and the files."""
        dev = "" if "dev" in self.files else f"; dev is a random tenth of train (seed {SEED})"
        return self.folder.source(f"SentEval's torch logistic regression, mode {self.mode}; dev selects{dev}")
