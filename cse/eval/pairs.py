"""The user's own pairs of texts with human scores: eval=pairs eval.pairs.test=FILE."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated

from annotated_types import Len

from cse.data.columns import Columns, ScoreColumn, names_of
from cse.data.listing import KINDS, ending_of, files_of
from cse.data.readers import read_rows
from cse.data.text_needs import TextNeed, names_typed
from cse.data.usable import IS_EMPTY, fault
from cse.errors import UserError, naming
from cse.eval.files import DataFolder
from cse.eval.senteval.data import Examples, Row, labelled
from cse.eval.sts import Readers, ScoredPairs
from cse.needs import Need, Settings
from cse.ranges import Encoding, File, Name, Widths


class Pairs(ScoredPairs):
    """An evaluator of pairs: `<file>/spearman` and `<file>/pearson`, times 100, for each split's file.

    conf/eval/pairs.yaml explains the settings. Raises UserError if `dev` and `test` are both None, or the same file.
    """

    protocol = "Spearman and Pearson x100 of cosines with the scores of a file of the user's own"

    def __init__(
        self,
        dev: File | None,
        test: File | None,
        columns: Annotated[list[Name], Len(2, 2)],
        score: Name,
        encoding: Encoding = "utf-8",
        widths: Widths | None = None,
    ):
        self.files = {split: file for split, file in (("dev", dev), ("test", test)) if file}
        if not self.files:
            raise UserError("eval=pairs needs a file: `test`=FILE, or `dev`=FILE for model selection")
        if dev and test and Path(dev).expanduser().resolve() == Path(test).expanduser().resolve():
            raise UserError(f"`dev` and `test` are the same file, {test}: give another file for `dev`, or only `test`")
        if len({*columns, score}) < 3:
            raise UserError(f"`columns`={columns} and `score`={score}: name three different columns")
        super().__init__(DataFolder("pairs", "pairs", "", allow_partial=None, find=Path), (), widths)
        self.splits, self.primary = tuple(self.files), f"{name_of_file(dev or test or '')}/spearman"
        self.encoding = encoding
        self.columns: list[str | ScoreColumn] = [*columns, ScoreColumn(score, ends=None)]

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the files of both splits as Needs."""
        encoding = settings.get("encoding") or "utf-8"
        named = {split: settings.get(split) for split in ("dev", "test")}
        return [
            TextNeed(file, key, columns=names_typed(settings.get("columns")), encoding=encoding)
            for key, file in named.items()
            if file
        ]

    def readers(self, split: str) -> Readers:
        """Return the reader of the split's file."""
        file = self.files[split]
        read = partial(read_pairs, name=file, columns=self.columns, key=split, encoding=self.encoding)
        return {name_of_file(file): [read]}


def name_of_file(file: str) -> str:
    """Return the name of a file's scores: the file's name without its ending, as one word."""
    ending = ending_of(Path(file))
    name = Path(file).name.removesuffix(".gz").removesuffix(ending if ending in KINDS else "")
    return re.sub(r"\W+", "_", name)


def read_pairs(
    folder: DataFolder, name: str, columns: list[str | ScoreColumn], key: str, encoding: str = "utf-8"
) -> Examples:
    """Return the pairs of a file with columns, or of a folder of such files; see `read_own`."""
    rows: list[Row] = [
        (one, other, float(score)) for one, other, score in read_own(folder, name, columns, key, encoding)
    ]
    return labelled(folder, name, rows)


def read_own(
    folder: DataFolder, name: str, columns: Columns, key: str, encoding: str, texts: int = 2
) -> list[tuple[str, ...]]:
    """Return the rows of a file with columns, or of a folder of such files. White space in the cells is unchanged.

    key: the parameter that names the file or folder. texts: the number of text columns, which come first. A text is
    unusable for the same reasons as in training (cse.data.usable), such as NA, which programs write for a missing text.
    In another column NA may be a label. Raises MissingResource or UserError. An unusable text or an empty cell is a
    UserError.
    """
    rows: list[tuple[str, ...]] = []
    with naming(path=key, scores="score"):
        for file in files_of(Path(name).expanduser()):
            folder.read_bytes(str(file))  # only for the digest: read_rows opens the file again
            rows += read_rows(file, columns, encoding)
    unusable = []
    for number, row in enumerate(rows, 1):
        reasons = [*map(fault, row[:texts]), *(None if cell.strip() else IS_EMPTY for cell in row[texts:])]
        cells = zip(names_of(columns), reasons, strict=True)
        unusable += [f"row {number}, where {column} {reason}" for column, reason in cells if reason][:1]
    if unusable:
        raise UserError(
            f"{name}: {len(unusable)} of {len(rows)} rows lack a text or a label (the first: {unusable[0]}): repair or "
            "delete these rows"
        )
    folder.expect(name, len(rows), None)
    return rows
