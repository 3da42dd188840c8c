"""SentEval probing (Conneau et al. 2018, arXiv:1805.01070): linguistic properties that a linear classifier predicts.

Each property is a task with one file: 100k sentences for train, 10k for dev and 10k for test. A line of the file is
`tr|va|te TAB label TAB ... TAB sentence`. The classifier is trained as for SST, with the given dev set.
"""

from functools import partial
from pathlib import Path
from typing import Annotated

from annotated_types import MinLen

from cse.errors import UserError
from cse.eval.files import DataFolder
from cse.eval.senteval.data import Parts, Row, in_columns, in_sentevals_order, words
from cse.eval.senteval.suite import Suite, Task, embedded
from cse.eval.senteval.validation import Mode, Procedure
from cse.needs import Need, Settings
from cse.ranges import Folder, Name, OneOf
from cse.score import Score
from cse.sources.fetch import DatasetNeed
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
    """An evaluator with `<task>/accuracy` and `<task>/dev_accuracy` in percent. `average` needs all ten tasks.

    conf/eval/probing.yaml explains the settings.
    """

    averaged = tuple(FILES)

    def __init__(
        self,
        senteval: Name | None,
        folder: Folder | None,
        tasks: Annotated[list[Annotated[str, OneOf(FILES)]], MinLen(1)],
        mode: Mode,
        classifiers: dict[Mode, Procedure],
        allow_partial: bool = False,
    ):
        folder = folder or beside_senteval(senteval)
        what = "the folder data/probing of facebookresearch/SentEval, as from cse-data fetch probing"
        data = DataFolder(folder, "folder", what, allow_partial)
        super().__init__(
            data, {task: Task(partial(read_probing, task=task), "split") for task in tasks}, mode, classifiers
        )

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the folder of the ten tasks as a Need."""
        beside = beside_senteval(settings.get("senteval"))
        there = beside if beside and Path(beside).is_dir() else None
        return [DatasetNeed("probing", settings.get("folder") or there)]

    def score_task(self, task: str, parts: Parts, encode: Encode) -> list[Score]:
        """Return a task's accuracy and dev accuracy. Only the 120k embeddings of this task are in memory."""
        return super().score_task(task, parts, embedded(encode, parts.values()))


def beside_senteval(senteval: str | None) -> str | None:
    """Return the folder `probing` beside the folder `senteval`, as in SentEval's repository."""
    return None if senteval is None else str(Path(senteval).parent / "probing")


def read_probing(folder: DataFolder, task: str) -> Parts:
    """Return train, dev and test of a task. A label becomes its number in the alphabetical order of train's labels."""

    def convert(line: str) -> Row:
        part, label, *_, text = line.rstrip().split("\t")
        return PARTS[part], words(text), label

    name = f"{FILES[task]}.txt"
    rows: dict[str, list[Row]] = {part: [] for part in ROWS}
    for part, *row in folder.rows(name, "utf-8", convert, None):
        rows[part].append(tuple(row))
    for part, official in ROWS.items():
        folder.expect(f"{name} ({part})", len(rows[part]), official)
    classes = {label: index for index, label in enumerate(sorted({label for _, label in rows["train"]}))}
    if unseen := {label for part in ("dev", "test") for _, label in rows[part]} - set(classes):
        raise UserError(f"{folder.root / name}: labels {sorted(unseen)} are not in its train part; restore the file")
    return {
        part: in_sentevals_order(in_columns([(text, classes[label]) for text, label in rows[part]])) for part in ROWS
    }
