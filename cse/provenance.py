"""What an evaluator's scores are and what they are based on: protocol, files, rows, items, problems."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Required

from typing_extensions import TypeAliasType, TypedDict  # typing's can be checked by pydantic from Python 3.12 on

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Nature:
    """What kind of number an evaluator's score is.

    unit: the label of an axis. decimals: how many to show. headline: whether the closing table shows it; results.json
    has all scores. kind: "sts" for the correlation of cosines with human scores of sentence pairs; "geometry" for how
    embeddings are distributed, which does not say how good they are.
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
that is not named there is based on all rows of its task or split; the parts of an average are its tasks."""


class Problem(TypedDict):
    """A fault in the data. split, task: the scores that it affects; None: those of every split or task."""

    split: str | None
    task: str | None
    problem: str


class DataFile(TypedDict, total=False):
    """A data file: its checksum, and how many usable rows it has."""

    sha256: str
    rows: int


class DataSources(TypedDict, total=False):
    """Where an evaluator's data comes from, and what is wrong with it (partial: whether anything is).

    revisions: by data set, what identifies its version if no file's checksum does.
    """

    source: str | None
    files: dict[str, DataFile]
    revisions: dict[str, str]
    partial: bool
    problems: list[Problem]


class Provenance(DataSources, total=False):
    """What an evaluator's scores are based on, JSON-ready; an evaluator may add keys of its own.

    An evaluator made of `parts`, whose scores are named `<part>/<score>`, may omit rows.
    """

    protocol: Required[str]
    rows: RowCounts
    parts: "dict[str, Provenance]"


@dataclass(frozen=True)
class Items:
    """The N items behind a score: the encoder's answer to each, and the right one.

    kind: the score, computed from values_N and gold_N, times 100: spearman (similarities and human scores), accuracy or
    f1 (predicted and true classes). units_UN: if items share something (pairs their documents), the numbers of the
    units to which each belongs; None if they are independent.
    """

    kind: Literal["spearman", "accuracy", "f1"]
    values_N: "np.ndarray"
    gold_N: "np.ndarray"
    units_UN: "np.ndarray | None" = None


Average = TypeAliasType("Average", "list[str | Average]")
"""The scores whose mean a score is; a list inside it counts once."""

ItemScores = dict[str, Items | Average]
"""What each score is computed from: items, or other scores."""
