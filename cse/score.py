"""The results of an evaluator: scores with their unit and items, and the source of their data."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Required

from typing_extensions import TypeAliasType, TypedDict  # pydantic accepts typing.TypedDict only from Python 3.12 on

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Items:
    """The N items of a score. values_N: the encoder's value of each item. gold_N: the correct value.

    kind: the statistic of values_N and gold_N. The score is this statistic times 100. cosines, spearman: Spearman's
    correlation of cosines, or of other numbers, with human scores. accuracy, f1, macro_f1: the accuracy of the
    predicted classes, the F1 of class 1, the mean F1 of all classes. mean: the mean of values from 0 to 1, such as each
    query's nDCG. units_UN: the indices of each item's units, if items share units (pairs share documents); None if
    items are independent. digest: a digest of the texts and units; the same items have the same digest; "": unknown.
    """

    kind: Literal["cosines", "spearman", "accuracy", "f1", "macro_f1", "mean"]
    values_N: "np.ndarray"
    gold_N: "np.ndarray"
    units_UN: "np.ndarray | None" = None
    digest: str = ""


def digest_of(texts: Iterable[str], units_UN: "np.ndarray | None" = None) -> str:
    """Return a digest (16 hex digits) of an evaluator's texts, in order, and of the units of its items; see Items."""
    content = hashlib.sha256()
    for text in texts:
        content.update(text.encode(errors="surrogatepass") + b"\0")
    if units_UN is not None:
        content.update(units_UN.astype("<i8").tobytes())
    return content.hexdigest()[:16]


def evaluator_of(name: str) -> str:
    """Return the key of the evaluator in a score's full name: stsb in dev/stsb/spearman; "" if the name has no key."""
    return name.partition("/")[2].partition("/")[0]


Average = TypeAliasType("Average", "list[str | Average]")
"""A score that is a mean: the names of the averaged scores. A list in this list is averaged first."""

ItemScores = dict[str, Items | Average]
"""The basis of each score, by the score's name; see Behind."""

Behind = TypeAliasType("Behind", "Items | str | Sequence[Behind] | None")
"""The basis of a score: items, the name of another score, or several bases to average. None: no basis is kept."""


class AboutScore(TypedDict, total=False):
    """The facts of a score in addition to its name and value; see Score."""

    rows: int
    unit: str
    lower_is_better: bool
    modified: bool


@dataclass(frozen=True)
class Score:
    """One number of an evaluator.

    name: such as `STS12/spearman`. In a run the split and the evaluator's key come first: `test/sts/STS12/spearman`.
    rows: the number of rows of the score's data, 0 if unknown. unit: the label of a plot's axis. modified: whether the
    data is incomplete or modified (allow_partial). items: see Behind. headline: whether the terminal's table shows it.
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
        """Return whether this score's value is better than the value of `other`. NaN and infinity are never better.

        Any finite number is better than NaN, infinity and None.
        """
        if not math.isfinite(self.value) or other is None or not math.isfinite(other.value):
            return math.isfinite(self.value)
        return self.value < other.value if self.lower_is_better else self.value > other.value

    def within(self, prefix: str) -> "Score":
        """Return the score with `prefix` before its name and the names in `items`, and with Python's number types."""
        items = renamed(prefix, self.items)
        return replace(self, name=prefix + self.name, value=float(self.value), rows=int(self.rows), items=items)

    def about(self) -> AboutScore:
        """Return the facts that results.json keeps in addition to the value."""
        return {
            "rows": self.rows,
            "unit": self.unit,
            "lower_is_better": self.lower_is_better,
            "modified": self.modified,
        }


Scores = dict[str, Score]
"""Scores by their names."""


def renamed(prefix: str, items: Behind) -> Behind:
    """Return the basis of a score, with `prefix` before every name in it."""
    if isinstance(items, str):
        return prefix + items
    return [renamed(prefix, one) for one in items] if isinstance(items, list) else items


def values(scores: Iterable[Score]) -> dict[str, float]:
    """Return {name: value} of the scores."""
    return {score.name: score.value for score in scores}


def no_better(scores: Mapping[str, Score], name: str, before: Mapping[str, float | None]) -> bool:
    """Return whether the score `name` is no better than the value in `before`; False if score or value is missing."""
    score, earlier = scores.get(name), before.get(name)
    return score is not None and earlier is not None and not score.better_than(replace(score, value=earlier))


def in_short(value: float) -> str:
    """Return the value of a score as tables show it."""
    return f"{value:z.{decimals(value)}f}"


def decimals(value: float) -> int:
    """Return the number of decimals of a score in tables: four if 0 < |value| < 1, else two."""
    return 2 if not 0 < abs(value) < 1 else 4


class DataFile(TypedDict, total=False):
    """A data file: its checksum and its number of usable rows."""

    sha256: str
    rows: int


class Source(TypedDict, total=False):
    """The data and the protocol of an evaluator's scores, as JSON types. An evaluator may add its own keys.

    place: the folder or hub name of the data. revisions: the version of each dataset that has no checksum of a file.
    problems: one sentence for each problem of the data.
    """

    protocol: Required[str]
    place: str | None
    files: dict[str, DataFile]
    revisions: dict[str, str]
    problems: list[str]
