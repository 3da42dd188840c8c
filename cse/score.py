"""What an evaluator returns: scores that carry what they are, and the source of the data that they rest on."""

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
    """The N items behind a score: the encoder's answer to each, and the right one.

    kind: how the score is computed from values_N and gold_N, times 100: the correlation of cosines, or of other numbers
    (spearman), with human scores; accuracy or f1 of predicted and true classes. units_UN: if items share something
    (pairs their documents), the numbers of the units to which each belongs; None if they are independent. digest: of
    the texts and units, by which the same items are known; "" if the evaluator does not say.
    """

    kind: Literal["cosines", "spearman", "accuracy", "f1"]
    values_N: "np.ndarray"
    gold_N: "np.ndarray"
    units_UN: "np.ndarray | None" = None
    digest: str = ""


def digest_of(texts: Iterable[str], units_UN: "np.ndarray | None" = None) -> str:
    """16 hex digits of an evaluator's texts, in their order, and of the units of its items; see Items."""
    content = hashlib.sha256()
    for text in texts:
        content.update(text.encode(errors="surrogatepass") + b"\0")
    if units_UN is not None:
        content.update(units_UN.astype("<i8").tobytes())
    return content.hexdigest()[:16]


def evaluator_of(name: str) -> str:
    """The key of the evaluator in a score's full name: stsb of dev/stsb/spearman; "" of a name that has none."""
    return name.partition("/")[2].partition("/")[0]


Average = TypeAliasType("Average", "list[str | Average]")
"""The names of the scores whose mean a score is; a list inside it counts once."""

ItemScores = dict[str, Items | Average]
"""What is behind each score, by name."""

Behind = TypeAliasType("Behind", "Items | str | Sequence[Behind] | None")
"""What a score is computed from: items; another score, by name; the mean of several; None if that is not kept."""


class AboutScore(TypedDict, total=False):
    """What a score is, beside its name and value; see Score."""

    rows: int
    unit: str
    lower_is_better: bool
    altered: bool


@dataclass(frozen=True)
class Score:
    """One number of an evaluator.

    name: `STS12/spearman`; in a run with the split and the evaluator's key before it, `test/sts/STS12/spearman`. rows:
    of data behind it, 0 if unknown. unit: the label of an axis. altered: whether its data is incomplete or changed
    (allow_partial). items: what it was computed from. headline: whether a table on the
    terminal shows it.
    """

    name: str
    value: float
    rows: int = 0
    unit: str = ""
    lower_is_better: bool = False
    altered: bool = False
    items: Behind = None
    headline: bool = True

    def better_than(self, other: "Score | None") -> bool:
        """Whether it is better than another value of the same score. NaN and infinity never are, and any number beats
        them and None."""
        if not math.isfinite(self.value) or other is None or not math.isfinite(other.value):
            return math.isfinite(self.value)
        return self.value < other.value if self.lower_is_better else self.value > other.value

    def within(self, prefix: str) -> "Score":
        """The score with `prefix` before its name and before the names in its average, and with Python's numbers, in
        place of NumPy's that an evaluator may have returned."""
        items = renamed(prefix, self.items)
        return replace(self, name=prefix + self.name, value=float(self.value), rows=int(self.rows), items=items)

    def about(self) -> AboutScore:
        """What results.json keeps beside its value."""
        return {
            "rows": self.rows,
            "unit": self.unit,
            "lower_is_better": self.lower_is_better,
            "altered": self.altered,
        }


Scores = dict[str, Score]
"""By name."""


def renamed(prefix: str, items: Behind) -> Behind:
    """What is behind a score, with `prefix` before every name."""
    if isinstance(items, str):
        return prefix + items
    return [renamed(prefix, one) for one in items] if isinstance(items, list) else items


def values(scores: Iterable[Score]) -> dict[str, float]:
    """The numbers alone, by name."""
    return {score.name: score.value for score in scores}


def no_better(scores: Mapping[str, Score], name: str, before: Mapping[str, float | None]) -> bool:
    """Whether the score of this name is no better than it was before; False where one of the two is not known."""
    score, earlier = scores.get(name), before.get(name)
    return score is not None and earlier is not None and not score.better_than(replace(score, value=earlier))


def in_short(value: float) -> str:
    """A score as tables show it."""
    return f"{value:z.{decimals(value)}f}"


def decimals(value: float) -> int:
    """How many decimals tables show of a score: two, four below 1."""
    return 2 if not 0 < abs(value) < 1 else 4


class DataFile(TypedDict, total=False):
    """A data file: its checksum, and how many usable rows it has."""

    sha256: str
    rows: int


class Source(TypedDict, total=False):
    """What an evaluator's scores rest on, JSON-ready; an evaluator may add keys of its own.

    place: the folder or hub name of the data. revisions: by data set, what identifies its version if no file's checksum
    does. problems: what is wrong with the data, a sentence each.
    """

    protocol: Required[str]
    place: str | None
    files: dict[str, DataFile]
    revisions: dict[str, str]
    problems: list[str]
