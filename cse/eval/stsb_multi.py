"""STS-B in other languages (stsb_multi_mt: STS-B translated by machine, the human scores kept)."""

import csv
import hashlib
from operator import methodcaller
from pathlib import Path
from typing import Annotated

from annotated_types import MinLen

from cse.errors import UserError
from cse.eval.senteval.files import DataFolder
from cse.eval.senteval.pairs import Pairs, golds
from cse.eval.sts import ScoredPairs, Tasks
from cse.ranges import Name, OneOf
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.senteval import STSB_ROWS

ABOUT = DATASETS["stsb_multi"]
LANGUAGES = ABOUT.languages


class StsbMulti(ScoredPairs):
    """Spearman and Pearson x100, `<language>/spearman`, and the Spearman average over the languages.

    stsb_multi: the folder of stsb-<language>-<split>.csv (sentence, sentence, score; no header), or None: the hub's.
    """

    protocol = "Spearman and Pearson x100 of cosines with STS-B's human scores"

    def __init__(
        self,
        stsb_multi: Name | None,
        languages: Annotated[list[Annotated[str, OneOf(LANGUAGES)]], MinLen(1)],
        allow_partial: bool = False,
    ):
        what = "the folder of stsb-<language>-<split>.csv"
        source = HubFiles if stsb_multi is None else LocalFiles
        path = stsb_multi or f"{ABOUT.repo}@{ABOUT.revision}"
        super().__init__(source(path, "paths.stsb_multi", what, allow_partial), languages)

    def read(self, split: str) -> Tasks:
        """The languages that have data."""
        reads = {language: methodcaller("pairs", language, split) for language in self.averaged}
        return {language: [pairs] for language, pairs in self.folder.present(reads, split).items()}

    def scores(self, split: str) -> tuple[str, ...]:
        """Two of each language, and the average."""
        return (*(f"{one}/{kind}" for one in self.averaged for kind in ("spearman", "pearson")), "average")


class LocalFiles(DataFolder):
    """stsb-<language>-<split>.csv: sentence, sentence, score; no header."""

    def pairs(self, language: str, split: str) -> Pairs:
        """The pairs of one file. Raises MissingResource or UserError."""
        name = f"stsb-{language}-{split}.csv"
        rows = [row for row in csv.reader(self.read(name, "utf-8").splitlines()) if row]
        if any(len(row) != 3 for row in rows):
            raise UserError(f"{self.root / name} is not rows of sentence,sentence,score: restore it.")
        self.expect(name, len(rows), STSB_ROWS[split])
        first, second, gold = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
        return Pairs(first, second, golds(self, name, gold))


class HubFiles(DataFolder):
    """What stands in for a folder: each part of the hub's data set is a file, its checksum that of its rows."""

    @property
    def root(self) -> Path:
        """The name and revision, where other sources have a path."""
        return Path(str(self.path))

    def pairs(self, language: str, split: str) -> Pairs:
        """The pairs of one part. Raises MissingResource where the hub does not give it."""
        rows = hub.dataset(hub_repo(f"stsb_multi, {language} {split}"), language, split)
        first, second, gold = (list(rows[column]) for column in ABOUT.columns)
        text = "".join(f"{a}\t{b}\t{score}\n" for a, b, score in zip(first, second, gold, strict=True))
        self.files[f"{language}-{split}"] = {"sha256": hashlib.sha256(text.encode()).hexdigest()}
        self.expect(f"{language}-{split}", len(gold), STSB_ROWS[split])
        return Pairs(first, second, golds(self, f"{language}-{split}", gold))


def hub_repo(asked: str) -> hub.Repo:
    """The repository that has every language. asked: what asks for it, for messages."""
    instead = "give the folder of stsb-<language>-<split>.csv with paths.stsb_multi=DIR (or CSE_STSB_MULTI=DIR)"
    return ABOUT.hub_repo(asked, instead)
