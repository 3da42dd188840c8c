"""STS-B in other languages: stsb_multi_mt, STS-B's sentences translated by machine, with STS-B's human scores."""

import csv
import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from annotated_types import MinLen

from cse.eval.files import DataFolder
from cse.eval.senteval.data import Examples, Row, human_score, labelled
from cse.eval.sts import Readers, ScoredPairs
from cse.needs import Need, Place, Settings
from cse.ranges import Name, OneOf, Widths
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import DatasetNeed
from cse.sources.senteval import STSB_ROWS

ABOUT = DATASETS["stsb_multi"]
LANGUAGES = ABOUT.languages


class LanguageNeed(DatasetNeed):
    """A need for the data set in one language. `name` is stsb_multi:LANGUAGE."""

    @property
    def language(self) -> str:
        """The language at the end of the name."""
        return self.name.partition(":")[2]

    def find(self) -> Place:
        """See Need."""
        return Path(self.copy) if self.copy else hub.find_prepared(str(ABOUT.repo), self.language)

    def fetch(self) -> Place:
        """See Need."""
        for split in ("dev", "test"):
            hub.fetch_split(repo_of_language(self.language, split), self.language, split)
        return self.find()


class StsbMulti(ScoredPairs):
    """An evaluator with `<language>/spearman` and `<language>/pearson`, times 100, and the mean of the Spearman scores.

    stsb_multi: the folder of stsb-<language>-<split>.csv (sentence, sentence, score; no header); None: the hub's copy.
    """

    primary = "average"
    protocol = "Spearman and Pearson x100 of cosines with STS-B's human scores"

    def __init__(
        self,
        stsb_multi: Name | None,
        languages: Annotated[list[Annotated[str, OneOf(LANGUAGES)]], MinLen(1)],
        allow_partial: bool = False,
        widths: Widths | None = None,
    ):
        source = f"{ABOUT.repo}@{ABOUT.revision}"
        what, find = "the folder of stsb-<language>-<split>.csv", None if stsb_multi else partial(Path, source)
        super().__init__(DataFolder(stsb_multi or source, "stsb_multi", what, allow_partial, find), languages, widths)
        self.read = read_file if stsb_multi else read_hub

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return each language as a Need."""
        copy = settings.get("stsb_multi")
        return [LanguageNeed(f"stsb_multi:{language}", copy) for language in settings.get("languages") or []]

    def readers(self, split: str) -> Readers:
        """Return one reader for each language."""
        return {language: [partial(self.read, language=language, split=split)] for language in self.averaged}


def parse_row(cells: Sequence[str]) -> Row:
    """Return the cells of a line as (sentence, sentence, score). Raises ValueError for other cells."""
    first, second, score = cells
    return first, second, human_score(score)


def read_file(folder: DataFolder, language: str, split: str) -> Examples:
    """Return the pairs of one file. Raises MissingResource or UserError."""
    name = f"stsb-{language}-{split}.csv"
    rows = folder.rows(name, "utf-8", lambda line: parse_row(next(csv.reader([line]))), STSB_ROWS[split])
    return labelled(folder, name, rows)


def repo_of_language(language: str, split: str) -> hub.Repo:
    """Return the data set's repository on the hub. language, split: for messages."""
    instead = "give the folder of stsb-<language>-<split>.csv with `stsb_multi`=DIR (or CSE_STSB_MULTI=DIR)"
    return ABOUT.hub_repo(f"stsb_multi, {language} {split}", instead)


def read_hub(folder: DataFolder, language: str, split: str) -> Examples:
    """Return the pairs of one language and split of the hub's data set. Put the pairs' checksum into folder.files.

    Raises MissingResource if the hub cannot deliver the pairs.
    """
    name = f"{language}-{split}"
    data = hub.fetch_split(repo_of_language(language, split), language, split)
    rows = list(zip(*(data[column] for column in ABOUT.columns), strict=True))
    text = "".join(f"{first}\t{second}\t{score}\n" for first, second, score in rows)
    folder.files[name] = {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    return labelled(folder, name, folder.converted(name, rows, parse_row, STSB_ROWS[split]))
