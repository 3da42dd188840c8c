"""The results of an evaluator: scores with their unit and items, and the source of their data."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Required

from typing_extensions import TypeAliasType, TypedDict  # typing's can be checked by pydantic from Python 3.12 on

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Items:
    """The N items of a score. Each has the encoder's answer and the gold answer.

    kind: the statistic of values_N and gold_N that is the score, times 100. cosines: the correlation of cosines with
    human scores. spearman: the correlation of other numbers with human scores. accuracy, f1, macro_f1: of predicted and
    true classes; f1 is of class 1, macro_f1 the mean over classes. mean: of values from 0 to 1, such as each query's
    nDCG. units_UN: the numbers of the units of each item, if items share units (pairs share documents); None if items
    are independent. digest: of the texts and units; it identifies the same items. "" if the evaluator gives none.
    """

    kind: Literal["cosines", "spearman", "accuracy", "f1", "macro_f1", "mean"]
    values_N: "np.ndarray"
    gold_N: "np.ndarray"
    units_UN: "np.ndarray | None" = None
    digest: str = ""


def digest_of(texts: Iterable[str], units_UN: "np.ndarray | None" = None) -> str:
    """16 hex digits over an evaluator's texts, in their order, and over the units of its items; see Items."""
    content = hashlib.sha256()
    for text in texts:
        content.update(text.encode(errors="surrogatepass") + b"\0")
    if units_UN is not None:
        content.update(units_UN.astype("<i8").tobytes())
    return content.hexdigest()[:16]


def evaluator_of(name: str) -> str:
    """The key of the evaluator in a score's full name: stsb in dev/stsb/spearman; "" if the name has none."""
    return name.partition("/")[2].partition("/")[0]


Average = TypeAliasType("Average", "list[str | Average]")
"""A score that is a mean: the names of the scores in it. A list inside it is averaged first."""

ItemScores = dict[str, Items | Average]
"""The basis of each score, by name; see Behind."""

Behind = TypeAliasType("Behind", "Items | str | Sequence[Behind] | None")
"""The basis of a score: items; another score, by name; the mean of several; None if it is not kept."""


class AboutScore(TypedDict, total=False):
    """The facts of a score in addition to its name and value; see Score."""

    rows: int
    unit: str
    lower_is_better: bool
    modified: bool


@dataclass(frozen=True)
class Score:
    """One number of an evaluator.

    name: `STS12/spearman`. In a run the split and the evaluator's key come first: `test/sts/STS12/spearman`. rows: the
    rows of its data, 0 if unknown. unit: the label of an axis. modified: whether its data is incomplete or modified
    (allow_partial). items: its basis, see Behind. headline: whether a table on the terminal shows it.
    """

    name: str
    value: float
    rows: int = 0
    unit: str = ""
    lower_is_better: bool = False
    modified: bool = False
    items: Behind = None
    headline: bool = True

    def better_than(self, other: "Score | None") -> bool:
        """Whether this value is better than another value of the score. NaN and infinity are never better.

        Any number is better than NaN, infinity and None.
        """
        if not math.isfinite(self.value) or other is None or not math.isfinite(other.value):
            return math.isfinite(self.value)
        return self.value < other.value if self.lower_is_better else self.value > other.value

    def within(self, prefix: str) -> "Score":
        """The score with `prefix` before its name and the names in its average. Its numbers have Python's types."""
        items = renamed(prefix, self.items)
        return replace(self, name=prefix + self.name, value=float(self.value), rows=int(self.rows), items=items)

    def about(self) -> AboutScore:
        """The facts that results.json keeps in addition to the value."""
        return {
            "rows": self.rows,
            "unit": self.unit,
            "lower_is_better": self.lower_is_better,
            "modified": self.modified,
        }


Scores = dict[str, Score]
"""Scores by their names."""


def renamed(prefix: str, items: Behind) -> Behind:
    """The basis of a score, with `prefix` before every name."""
    if isinstance(items, str):
        return prefix + items
    return [renamed(prefix, one) for one in items] if isinstance(items, list) else items


def values(scores: Iterable[Score]) -> dict[str, float]:
    """The numbers alone, by name."""
    return {score.name: score.value for score in scores}


def no_better(scores: Mapping[str, Score], name: str, before: Mapping[str, float | None]) -> bool:
    """Whether the score of this name is no better than before; False if one of the two is unknown."""
    score, earlier = scores.get(name), before.get(name)
    return score is not None and earlier is not None and not score.better_than(replace(score, value=earlier))


def in_short(value: float) -> str:
    """A score as tables show it."""
    return f"{value:z.{decimals(value)}f}"


def decimals(value: float) -> int:
    """The number of decimals of a score in tables: two, or four below 1."""
    return 2 if not 0 < abs(value) < 1 else 4


class DataFile(TypedDict, total=False):
    """A data file: its checksum and its number of usable rows."""

    sha256: str
    rows: int


class Source(TypedDict, total=False):
    """The data and protocol of an evaluator's scores, JSON-ready. An evaluator may add its own keys.

    place: the folder or hub name of the data. revisions: the version of each data set that has no file checksum.
    problems: one sentence for each problem of the data.
    """

    protocol: Required[str]
    place: str | None
    files: dict[str, DataFile]
    revisions: dict[str, str]
    problems: list[str]
