"""Semantic textual similarity: the correlation of cosines with human scores, times 100.

STS12..16 have subsets, which papers join in three ways:
    all    one correlation over the pairs of all subsets (SimCSE's tables; the headline, without a suffix)
    mean   the mean of the subsets' correlations (DeCLUTR)
    wmean  the same, weighted by the subsets' numbers of pairs
STS-B and SICK-R are scored on their test split. The average is over the seven Spearman scores, each rounded to two
decimals first (SimCSE's print_table).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import MinLen
from scipy.stats import pearsonr, spearmanr

from cse.errors import UserError
from cse.eval.files import DataFolder, senteval_folder
from cse.eval.score import AVERAGE
from cse.eval.senteval.data import Examples, read_subset, read_table
from cse.provenance import Items, ItemScores, Nature, Provenance, RowCounts
from cse.ranges import Name, OneOf, Widths
from cse.sources.senteval import SUBSETS
from cse.types import Encode, Evaluator

SPEARMAN = Nature("Spearman's correlation x 100", kind="sts")
PEARSON = Nature("Pearson's correlation x 100", headline=False, kind="sts")
NATURES: Mapping[str, Nature] = {
    "spearman": SPEARMAN,
    "spearman_mean": replace(SPEARMAN, headline=False),
    "spearman_wmean": replace(SPEARMAN, headline=False),
    "pearson": PEARSON,
    "pearson_mean": PEARSON,
    "pearson_wmean": PEARSON,
    "average": replace(AVERAGE, kind="sts"),
}
"""The natures of sentence pairs' scores."""

Tasks = dict[str, list[Examples]]
"""The subsets of each task: pairs and their human scores."""

Readers = Mapping[str, Sequence[Callable[[DataFolder], Examples]]]
"""The functions that read the subsets of each task."""


def cosines(first_ND: np.ndarray, second_ND: np.ndarray) -> np.ndarray:
    """Row-wise cosines (N,) in float64, in [-1, 1]; 0 for a pair with a zero or NaN vector, as in SentEval.

    Exactly 1 for equal vectors, not 1 - 1e-16: rounding would rank pairs whose texts are the same to the encoder.
    """
    first_ND, second_ND = np.asarray(first_ND, np.float64), np.asarray(second_ND, np.float64)
    norms_N = np.linalg.norm(first_ND, axis=1) * np.linalg.norm(second_ND, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        same_N = (first_ND == second_ND).all(1) & (norms_N > 0) & np.isfinite(norms_N)
        cosines_N = np.where(same_N, 1, (first_ND * second_ND).sum(1) / norms_N)
    return np.clip(np.nan_to_num(cosines_N, nan=0.0, posinf=0.0, neginf=0.0), -1, 1)


def pair_cosines(encode: Encode, pairs: Examples) -> tuple[np.ndarray, np.ndarray]:
    """(cosines_N, gold_N) of N pairs."""
    return cosines(*np.split(encode(pairs.texts()), 2)), pairs.labels_N


def joined(subsets: list[Items]) -> Items:
    """The items of all subsets together."""
    if len(subsets) == 1:
        return subsets[0]
    values_N, gold_N = zip(*((one.values_N, one.gold_N) for one in subsets), strict=True)
    return Items("spearman", np.concatenate(values_N), np.concatenate(gold_N))


def correlations(subsets: list[Items]) -> dict[str, float]:
    """Spearman and Pearson x100 of cosines with human scores, the subsets joined as `all`, `mean` and `wmean`."""
    whole, sizes = joined(subsets), [len(one.gold_N) for one in subsets]
    scores: dict[str, float] = {}
    for name, correlate in (("spearman", spearmanr), ("pearson", pearsonr)):
        scores[name] = 100 * float(correlate(whole.values_N, whole.gold_N)[0])
        if len(subsets) > 1:
            parts = [100 * float(correlate(one.values_N, one.gold_N)[0]) for one in subsets]
            scores[f"{name}_mean"] = float(np.mean(parts))
            scores[f"{name}_wmean"] = float(np.average(parts, weights=sizes))
    return scores


class ScoredPairs(Evaluator):
    """Base class of evaluators of sentence pairs. A subclass has the `readers` of its tasks and a `protocol`.

    Scores are `<task>/<statistic>` for the statistics in `natures`, without the task for the task `unnamed`.
    averaged: the tasks of the average, which needs all of them. widths: numbers of leading channels to score as well,
    under names such as `width96/<task>/<statistic>`. pictured: the task whose cosines are plotted.
    """

    splits: tuple[str, ...] = ("dev", "test")
    natures: ClassVar[Mapping[str, Nature]] = NATURES
    protocol: str
    unnamed: str | None = None
    pictured: str | None = None

    def __init__(self, folder: DataFolder, averaged: Iterable[str], widths: Iterable[int] | None = None):
        self.folder, self.averaged = folder, list(averaged)
        self.cuts: dict[str, int | None] = {"": None, **{f"width{width}/": width for width in widths or ()}}
        self.tasks: dict[str, Tasks] = {}
        self.scored: dict[str, dict[str, list[Items]]] = {}  # by split and task: cosines and human scores

    def readers(self, split: str) -> Readers:
        """The functions that read the subsets of each task."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Read the pairs of every split. Raises MissingResource or UserError."""
        if self.tasks:
            return
        for split in self.splits:
            tasks: Tasks = {}
            for task, reads in self.readers(split).items():
                found = [self.folder.attempt(read, split, task) for read in reads]
                tasks[task] = [pairs for pairs in found if pairs is not None]
            present = {task: subsets for task, subsets in tasks.items() if subsets}
            if present and self.unnamed in (None, *present):
                self.tasks[split] = present
        self.folder.require(self.tasks)
        self.splits = tuple(self.tasks)

    def name(self, task: str, statistic: str) -> str:
        """A score's name. task: with its width, if it has one."""
        *width, bare = task.split("/")
        return "/".join([*width, *([] if bare == self.unnamed else [bare]), statistic])

    def scores(self, split: str) -> tuple[str, ...]:
        """Spearman and, if `natures` has it, Pearson of each task, and the average."""
        tasks, statistics = self.readers(split), [one for one in ("spearman", "pearson") if one in self.natures]
        names = [self.name(cut + task, one) for cut in self.cuts for task in tasks for one in statistics]
        return (*names, *self._averages(tasks))

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """`<task>/spearman`, `/pearson` and their means over subsets; `average` if all of its tasks have data."""
        self.prepare()
        self.scored[split] = self._scored(encode, self.tasks[split])
        scores = {
            self.name(task, statistic): value
            for task, subsets in self.scored[split].items()
            for statistic, value in correlations(subsets).items()
            if statistic in self.natures
        }
        averages = self._averages(self.tasks[split]).items()
        return scores | {name: self.average([scores[part] for part in parts]) for name, parts in averages}

    def _scored(self, encode: Encode, tasks: Tasks) -> dict[str, list[Items]]:
        """The cosines of each task's pairs at each width; all sentences of all tasks go to `encode` in one call."""
        sets = [pairs for subsets in tasks.values() for pairs in subsets]
        vectors_ND = encode([text for pairs in sets for text in pairs.texts()])
        width = vectors_ND.shape[1]
        if too_wide := [cut for cut in self.cuts.values() if (cut or 0) > width]:  # only now known for a function
            raise UserError(f"widths={too_wide}: the embeddings are {width} wide")
        ends = np.cumsum([len(pairs) for pairs in sets for _ in range(2)])[:-1]
        found: dict[str, list[Items]] = {}
        for prefix, cut in self.cuts.items():
            halves = iter(np.split(vectors_ND[:, :cut], ends))
            for task, subsets in tasks.items():
                found[prefix + task] = [
                    Items("spearman", cosines(next(halves), next(halves)), pairs.labels_N, pairs.units_UN)
                    for pairs in subsets
                ]
        return found

    def average(self, spearmans: list[float]) -> float:
        """The mean of the tasks' Spearman scores."""
        return float(np.mean(spearmans))

    def items(self, split: str) -> ItemScores:
        """The pairs behind each task's Spearman correlation: all subsets joined, and one by one for their mean."""
        items: ItemScores = {}
        for task, subsets in self.scored[split].items():
            items[self.name(task, "spearman")] = joined(subsets)
            if len(subsets) > 1:
                parts = {f"{task}/spearman/{number}": subset for number, subset in enumerate(subsets)}
                items |= parts | {f"{task}/spearman_mean": list(parts)}
        for name, averaged in self._averages(self.tasks[split]).items():
            items[name] = [*averaged]
        return items

    def cosines(self, encode: Encode, split: str) -> tuple[np.ndarray, np.ndarray] | None:
        """(cosines_N, gold_N) of the pictured task's pairs; None without a pictured task."""
        self.prepare()
        return None if self.pictured is None else pair_cosines(encode, *self.tasks[split][self.pictured])

    def texts(self) -> Iterator[str]:
        """The sentences of every split and task."""
        for tasks in self.tasks.values():
            for subsets in tasks.values():
                for pairs in subsets:
                    yield from pairs.texts()

    def provenance(self) -> Provenance:
        """Pairs of each task (by split, if the evaluator has several), and the files."""
        rows: RowCounts = {}
        for split, tasks in self.tasks.items():
            counts: RowCounts = {task: sum(map(len, subsets)) for task, subsets in tasks.items()}
            rows |= {split: counts} if len(type(self).splits) > 1 else counts
        return {"protocol": self.protocol, "rows": rows, **self.folder.provenance()}

    def _averages(self, tasks: Iterable[str]) -> dict[str, list[str]]:
        """The scores behind each width's average; {} unless `tasks` has all tasks of the average."""
        if not self.averaged or not set(self.averaged) <= set(tasks):
            return {}
        return {f"{cut}average": [self.name(cut + task, "spearman") for task in self.averaged] for cut in self.cuts}


class Stsb(ScoredPairs):
    """STS-B dev (selects the checkpoint in every paper but DeCLUTR's) or test; a split without STS-B is left out.

    with_sickr adds SICK-R's trial or test split and the mean of both, which SimCSE logs during training but never
    selects by.
    """

    protocol = "Spearman and Pearson x100 of cosines with gold scores"
    unnamed = pictured = "STS-B"

    def __init__(
        self,
        senteval: Name | None,
        with_sickr: bool = False,
        allow_partial: bool = False,
        widths: Widths | None = None,
    ):
        super().__init__(senteval_folder(senteval, allow_partial), ("STS-B", "SICK-R") if with_sickr else (), widths)

    def readers(self, split: str) -> Readers:
        """STS-B and, if with_sickr, SICK-R."""
        return {task: [partial(read_table, task=task, split=split)] for task in self.averaged or ["STS-B"]}


SEVEN = (*SUBSETS, "STS-B", "SICK-R")


class Sts(ScoredPairs):
    """The tasks of SimCSE's tables: STS12..16 (all, mean, wmean), STS-B test, SICK-R test, and their average."""

    splits = ("test",)
    protocol = "Spearman and Pearson x100 of cosines; headline `all`; average of 7 rounded to 2 decimals"

    def __init__(
        self,
        senteval: Name | None,
        allow_partial: bool = False,
        widths: Widths | None = None,
        tasks: Annotated[Sequence[Annotated[str, OneOf(SEVEN)]], MinLen(1)] = SEVEN,
    ):
        super().__init__(senteval_folder(senteval, allow_partial), SEVEN, widths)
        self.chosen = tasks

    def readers(self, split: str) -> Readers:
        """All subsets of the chosen tasks."""
        tables = {task: [partial(read_table, task=task, split=split)] for task in ("STS-B", "SICK-R")}
        years = {year: [partial(read_subset, year=year, subset=name) for name in SUBSETS[year]] for year in SUBSETS}
        return {task: reads for task, reads in {**years, **tables}.items() if task in self.chosen}

    def average(self, spearmans: list[float]) -> float:
        """The mean of scores rounded to two decimals, as in SimCSE's tables."""
        return float(np.mean([round(one, 2) for one in spearmans]))
