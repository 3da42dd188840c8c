"""STS-B's training pairs, from a folder with SentEval's data or from the hub's copy."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import MinLen

from cse.data.readers import lines_of
from cse.data.rows import TextRows
from cse.data.text import Found, Text
from cse.errors import MissingResource, UserError
from cse.needs import Need, Settings
from cse.ranges import Name
from cse.sources import fetch
from cse.sources.fetch import DatasetNeed
from cse.sources.senteval import STSB_ROWS

FILE = "STS/STSBenchmark/sts-train.csv"  # fields between tabs, without quotes and without a header
FIELDS = {"score": 4, "sentence1": 5, "sentence2": 6}


class Stsb(Text):
    """The pairs with their scores.

    senteval: SentEval's downstream/ folder; None for the hub's copy. allow_partial: accept another number of pairs than
    the official number. settings: the settings of Text.
    """

    def __init__(
        self,
        senteval: Name | None,
        allow_partial: bool,
        columns: Annotated[list[Literal["sentence1", "sentence2"]], MinLen(1)],
        scores: Literal["score"] | None,
        **settings,
    ):
        super().__init__(columns=[*columns], scores=scores, **settings)
        self.senteval, self.allow_partial, self.identity = senteval, allow_partial, FILE

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """SentEval's data."""
        return [DatasetNeed("senteval", settings.get("senteval"))]

    def open_source(self) -> Found:
        """See Text. Raises MissingResource for a folder without the file, or if the hub's copy is not available."""
        folder = Path(self.senteval).expanduser() if self.senteval else fetch.senteval("data=stsb")
        file = folder / FILE
        if not file.is_file():
            raise MissingResource(f"{file} is missing: `senteval` must be SentEval's downstream/ folder")
        return self.of_function(partial(self.pairs, file), copy=str(file))

    def read(self, found: Found | None = None, required: int | None = None) -> TextRows:
        """See Text. Raises UserError if the number of pairs is not the official number."""
        rows = super().read(found, required)
        number = len(rows.texts[0])
        if number != STSB_ROWS["train"] and not self.allow_partial:
            raise UserError(
                f"{rows.place} has {number:,} pairs, not the official {STSB_ROWS['train']:,}: restore it, or set "
                "allow_partial=true to train on these pairs"
            )
        return rows

    def pairs(self, file: Path) -> Iterator[tuple[str, ...]]:
        """The cells of each row: texts, and the score as text. Raises UserError for a damaged line."""
        number = 0
        for number, line in lines_of(file, "utf-8", "\n"):
            fields = (line or "").split("\t")
            if len(fields) <= max(FIELDS.values()):
                raise UserError(f"{file}, line {number}: {len(fields)} fields between tabs, not seven")
            texts = tuple(fields[FIELDS[name]].strip() for name in self.column_names)
            score = (self.scores.cell(fields[FIELDS["score"]], f"{file}, line {number}"),) if self.scores else ()
            yield *texts, *score
