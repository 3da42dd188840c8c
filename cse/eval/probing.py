"""SentEval probing (Conneau et al. 2018, arXiv:1805.01070): which linguistic property a linear classifier finds.

Ten tasks of 100k / 10k / 10k sentences, one file each: `tr|va|te TAB label TAB ... TAB sentence`. The classifier and
its scheme are those of SST (a given dev set). N rows.
"""

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import MinLen

from cse.errors import UserError
from cse.eval.senteval.files import DataFolder
from cse.eval.senteval.folder import words
from cse.eval.senteval.suite import Suite, embedded
from cse.eval.senteval.transfer_data import Parts, in_sentevals_order
from cse.eval.senteval.validation import Mode, Procedure, given_split
from cse.provenance import Items, Provenance
from cse.ranges import Name, OneOf
from cse.types import Encode

FILES = {  # in the order of DeCLUTR's Table S4
    "Length": "sentence_length",
    "WordContent": "word_content",
    "Depth": "tree_depth",
    "TopConstituents": "top_constituents",
    "BigramShift": "bigram_shift",
    "Tense": "past_present",
    "SubjNumber": "subj_number",
    "ObjNumber": "obj_number",
    "OddManOut": "odd_man_out",
    "CoordinationInversion": "coordination_inversion",
}
PARTS = {"tr": "train", "va": "dev", "te": "test"}
ROWS = {"train": 100_000, "dev": 10_000, "test": 10_000}


class Probing(Suite):
    """Accuracy in percent, `<task>/accuracy` and `<task>/dev_accuracy`; `average` over the ten tasks if all are there.

    folder: SentEval's probing/ folder; None is the one beside paths.senteval, where SentEval keeps it.
    """

    averaged = tuple(FILES)

    def __init__(
        self,
        senteval: Name | None,
        folder: Name | None,
        tasks: Annotated[list[Annotated[str, OneOf(FILES)]], MinLen(1)],
        mode: Mode,
        classifiers: dict[Mode, Procedure],
        allow_partial: bool = False,
    ):
        if folder is None and senteval is not None:
            folder = str(Path(senteval).parent / "probing")
        what = "the folder data/probing of facebookresearch/SentEval"
        data = DataFolder(folder, "eval.probing.folder", what, allow_partial)
        super().__init__(data, {task: partial(read, task=task) for task in tasks}, mode, classifiers)

    def score_task(self, task: str, parts: Parts, encode: Encode) -> dict[str, float]:
        """Accuracy and dev accuracy; only this task's 120k sentences are in memory."""
        vectors = embedded(encode, parts.values())
        x = {part: np.asarray(vectors(examples.sentences[0]), np.float32) for part, examples in parts.items()}
        y = {part: examples.labels_N for part, examples in parts.items()}
        accuracies = given_split(x, y, self.settings["fit"])
        self.scored[f"{task}/accuracy"] = Items("accuracy", accuracies.predicted_N, y["test"])
        return {"accuracy": accuracies.test, "dev_accuracy": accuracies.dev}

    def provenance(self) -> Provenance:
        """The classifier, the rows of each task, and the files."""
        return {"protocol": self.protocol(), "rows": self.rows(), **self.folder.provenance()}


def read(folder: DataFolder, task: str) -> Parts:
    """A task's three parts; labels are numbered in the alphabetical order of those in train."""
    name = f"{FILES[task]}.txt"
    rows: dict[str, list[tuple[str, str]]] = {part: [] for part in ROWS}
    for number, line in enumerate(folder.read(name, "utf-8").removesuffix("\n").split("\n"), 1):
        cells = line.rstrip().split("\t")
        if len(cells) < 3 or cells[0] not in PARTS:
            raise UserError(f"{folder.root / name}, line {number}: not `tr|va|te TAB label TAB sentence`; restore it.")
        rows[PARTS[cells[0]]].append((words(cells[-1]), cells[1]))
    for part, official in ROWS.items():
        folder.expect(f"{name} ({part})", len(rows[part]), official)
    classes = {label: index for index, label in enumerate(sorted({label for _, label in rows["train"]}))}
    if unseen := {label for part in ("dev", "test") for _, label in rows[part]} - set(classes):
        raise UserError(f"{folder.root / name}: labels {sorted(unseen)} are not in its train part; restore the file.")
    return {part: in_sentevals_order([(text, classes[label]) for text, label in rows[part]]) for part in ROWS}
