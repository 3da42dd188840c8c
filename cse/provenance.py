"""What an evaluator's scores are, and what they rest on: protocol, files, rows behind each score, items, problems."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Required

from typing_extensions import TypeAliasType, TypedDict  # typing's can be checked by pydantic from Python 3.12 on

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Nature:
    """What a number is that an evaluator gives.

    unit: what it counts, in the words of an axis. decimals: as many as it is shown with. headline: whether the closing
    table shows it; results.json has the others too. kind: "sts" for the correlation of cosines with human scores of
    sentence pairs; "geometry" for how embeddings lie, which does not say how good they are.
    """

    unit: str
    lower_is_better: bool = False
    decimals: int = 2
    headline: bool = True
    kind: Literal["sts", "geometry", "other"] = "other"

    def better(self, value: float, best: float) -> bool:
        """Whether a value is better than the best so far. NaN never is, and any number is better than NaN."""
        if math.isnan(best):
            return not math.isnan(value)
        return value < best if self.lower_is_better else value > best


RowCounts = TypeAliasType("RowCounts", "dict[str, int | RowCounts]")
"""Rows behind scores, nested by score, task or split in any order: {"STS12": 3108}, {"dev": {"STS-B": 1500}}. A score
without a name of its own there rests on all rows of its task or split; the parts of an average are its tasks."""


class Problem(TypedDict):
    """Something wrong with the data. split, task: the scores that it concerns; None: those of every split or task."""

    split: str | None
    task: str | None
    problem: str


class DataFile(TypedDict, total=False):
    """A file that scores rest on: its checksum, and the usable rows in it."""

    sha256: str
    rows: int


class DataSources(TypedDict, total=False):
    """Where the data of an evaluator was read, and what is wrong with it (partial: anything at all).

    revisions: by data set, what tells one version of it from another, where no file's checksum does.
    """

    source: str | None
    files: dict[str, DataFile]
    revisions: dict[str, str]
    partial: bool
    problems: list[Problem]


class Provenance(DataSources, total=False):
    """What an evaluator's scores rest on, JSON-ready; an evaluator may add keys of its own.

    rows may be left out by an evaluator that is made of `parts`, whose scores are named `<part>/<score>`.
    """

    protocol: Required[str]
    rows: RowCounts
    parts: "dict[str, Provenance]"


@dataclass(frozen=True)
class Items:
    """The N items that a score is of: what the encoder made of each, and what is right.

    kind: the score, of values_N and gold_N, times 100: spearman (similarities and human scores), accuracy or f1
    (predicted classes and true ones). units_UN: of items that share something (pairs their documents), the numbers of
    the units that each belongs to; None where each stands for itself.
    """

    kind: Literal["spearman", "accuracy", "f1"]
    values_N: "np.ndarray"
    gold_N: "np.ndarray"
    units_UN: "np.ndarray | None" = None


Average = TypeAliasType("Average", "list[str | Average]")
"""The scores that a score is the mean of; a list inside it counts once."""

ItemScores = dict[str, Items | Average]
"""By score, what it rests on: items, or other scores."""
