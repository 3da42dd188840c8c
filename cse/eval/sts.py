"""Semantic textual similarity: the correlation of cosines with human scores, times 100.

Per year there are three ways to join the subsets, and papers differ:
    all    one correlation over the pairs of all subsets (SimCSE's tables; the headline, without a suffix)
    mean   mean of the subsets' correlations (DeCLUTR)
    wmean  the same, weighted by their pairs
STS-B and SICK-R are scored on their test split. The average is over the seven Spearman scores, each already rounded
to two decimals (SimCSE's print_table).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.stats import pearsonr, spearmanr

from cse.eval.score import AVERAGE
from cse.eval.senteval.files import DataFolder
from cse.eval.senteval.folder import SentEvalFolder
from cse.eval.senteval.pairs import Pairs, read_sickr, read_stsb, read_subset
from cse.provenance import Items, ItemScores, Provenance, RowCounts
from cse.ranges import Name
from cse.sources.senteval import SUBSETS
from cse.types import Encode, Evaluator, Nature

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
"""Of the scores of sentence pairs."""

Tasks = dict[str, list[Pairs]]
"""The subsets of each task."""

Scored = dict[str, list[tuple[np.ndarray, np.ndarray]]]
"""(cosines_N, gold_N) of each subset of each task."""


def cosines(first_ND: np.ndarray, second_ND: np.ndarray) -> np.ndarray:
    """Row-wise cosine (N,) in float64, in [-1, 1]; a pair with a zero or NaN vector scores 0, as in SentEval.

    Equal vectors have 1, not 1 - 1e-16: rounding would rank pairs whose texts are the same to the encoder.
    """
    first_ND, second_ND = np.asarray(first_ND, np.float64), np.asarray(second_ND, np.float64)
    norms_N = np.linalg.norm(first_ND, axis=1) * np.linalg.norm(second_ND, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        same_N = (first_ND == second_ND).all(1) & (norms_N > 0) & np.isfinite(norms_N)
        cosines_N = np.where(same_N, 1, (first_ND * second_ND).sum(1) / norms_N)
    return np.clip(np.nan_to_num(cosines_N, nan=0.0, posinf=0.0, neginf=0.0), -1, 1)


def pair_cosines(encode: Encode, pairs: Pairs) -> np.ndarray:
    """The cosine (N,) of every pair."""
    return cosines(*np.split(encode(pairs.first + pairs.second), 2))


def correlations(subsets: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """Spearman and Pearson x100 of (cosines_N, gold_N) per subset, joined as `all`, `mean` and `wmean`."""
    cosines_N, gold_N = (np.concatenate(part) for part in zip(*subsets, strict=True))
    sizes = [len(gold) for _, gold in subsets]
    scores: dict[str, float] = {}
    for name, correlate in (("spearman", spearmanr), ("pearson", pearsonr)):
        scores[name] = 100 * float(correlate(cosines_N, gold_N)[0])
        if len(subsets) > 1:
            parts = [100 * float(correlate(*subset)[0]) for subset in subsets]
            scores[f"{name}_mean"] = float(np.mean(parts))
            scores[f"{name}_wmean"] = float(np.average(parts, weights=sizes))
    return scores


def scored_pairs(encode: Encode, tasks: Tasks) -> Scored:
    """The cosines of every task's pairs; all sentences of all tasks go to `encode` in one call."""
    sets = [pairs for subsets in tasks.values() for pairs in subsets]
    vectors_ND = encode([text for pairs in sets for text in (*pairs.first, *pairs.second)])
    ends = np.cumsum([len(pairs.gold_N) for pairs in sets for _ in range(2)])
    halves = iter(np.split(vectors_ND, ends[:-1]))
    return {
        task: [(cosines(next(halves), next(halves)), pairs.gold_N) for pairs in subsets]
        for task, subsets in tasks.items()
    }


def task_correlations(scored: Scored) -> dict[str, float]:
    """Correlations of every task, `<task>/<statistic>`."""
    return {
        f"{task}/{statistic}": value
        for task, subsets in scored.items()
        for statistic, value in correlations(subsets).items()
    }


def pair_items(scored: Scored) -> ItemScores:
    """The pairs behind every task's Spearman correlation, its subsets joined, and one by one for their mean."""
    items: ItemScores = {}
    for task, subsets in scored.items():
        items[f"{task}/spearman"] = Items("spearman", *map(np.concatenate, zip(*subsets, strict=True)))
        if len(subsets) > 1:
            parts = {f"{task}/spearman/{number}": Items("spearman", *subset) for number, subset in enumerate(subsets)}
            items |= parts | {f"{task}/spearman_mean": list(parts)}
    return items


class ScoredPairs(Evaluator):
    """Base of Sts, Stsb and StsbMulti: tasks of sentence pairs on each split. protocol: how they are scored."""

    splits: tuple[str, ...] = ("dev", "test")
    natures: ClassVar[Mapping[str, Nature]] = NATURES
    protocol: str

    def __init__(self, folder: DataFolder, averaged: Iterable[str]):
        self.folder, self.averaged = folder, list(averaged)  # the tasks of the average, which needs all of them
        self.tasks: dict[str, Tasks] = {}
        self.scored: dict[str, Scored] = {}

    def read(self, split: str) -> Tasks:
        """The tasks of the split that have data, {} to leave it out. Raises MissingResource or UserError."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Read the pairs of every split. Raises MissingResource or UserError."""
        if not self.tasks:
            self.tasks = {split: tasks for split in self.splits if (tasks := self.read(split))}
            self.folder.need(self.tasks)
            self.splits = tuple(self.tasks)

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """`<task>/spearman`, `/pearson` and their means over subsets; `average` if every task of it has data."""
        self.prepare()
        self.scored[split] = scored_pairs(encode, self.tasks[split])
        scores = task_correlations(self.scored[split])
        if self._whole(split):
            scores["average"] = self.average([scores[f"{task}/spearman"] for task in self.averaged])
        return scores

    def average(self, spearmans: list[float]) -> float:
        """The mean of the tasks' Spearman scores."""
        return float(np.mean(spearmans))

    def items(self, split: str) -> ItemScores:
        """The pairs of every task."""
        items = pair_items(self.scored[split])
        return items | ({"average": [f"{task}/spearman" for task in self.averaged]} if self._whole(split) else {})

    def texts(self) -> Iterator[str]:
        """The sentences of every split and task."""
        for tasks in self.tasks.values():
            for subsets in tasks.values():
                for pairs in subsets:
                    yield from pairs.first
                    yield from pairs.second

    def provenance(self) -> Provenance:
        """Pairs of each split and task, and the files."""
        rows: RowCounts = {
            split: {task: sum(len(pairs.gold_N) for pairs in subsets) for task, subsets in tasks.items()}
            for split, tasks in self.tasks.items()
        }
        return {"protocol": self.protocol, "rows": rows, **self.folder.provenance()}

    def _whole(self, split: str) -> bool:
        return bool(self.averaged) and self.tasks[split].keys() >= set(self.averaged)


class Stsb(ScoredPairs):
    """STS-B dev (selects the checkpoint in every paper but DeCLUTR's) or test.

    with_sickr adds SICK-R's trial or test split and their mean, which SimCSE logs in training and never selects by.
    """

    protocol = "Spearman and Pearson x100 of cosines with gold scores"

    def __init__(self, senteval: Name | None, with_sickr: bool = False, allow_partial: bool = False):
        super().__init__(SentEvalFolder(senteval, allow_partial), ("STS-B", "SICK-R") if with_sickr else ())

    def read(self, split: str) -> Tasks:
        """STS-B and, with_sickr, SICK-R; a split without STS-B is left out."""
        readers = {"STS-B": read_stsb, "SICK-R": read_sickr}
        reads = {task: partial(readers[task], split=split) for task in self.averaged or ["STS-B"]}
        data = self.folder.present(reads, split)
        return {task: [pairs] for task, pairs in data.items()} if "STS-B" in data else {}

    def scores(self, split: str) -> tuple[str, ...]:
        """Those of STS-B; with_sickr those of SICK-R and the average too."""
        return ("spearman", "pearson", *(("SICK-R/spearman", "SICK-R/pearson", "average") if self.averaged else ()))

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """`spearman` and `pearson` of STS-B; with_sickr adds `SICK-R/...` and the `average` Spearman."""
        return {key.removeprefix("STS-B/"): value for key, value in super().__call__(encode, split).items()}

    def items(self, split: str) -> ItemScores:
        """The pairs of STS-B, and of SICK-R."""
        items = {key.removeprefix("STS-B/"): one for key, one in super().items(split).items()}
        return items | ({"average": ["spearman", "SICK-R/spearman"]} if "average" in items else {})

    def cosines(self, encode: Encode, split: str) -> tuple[np.ndarray, np.ndarray]:
        """(cosines_N, gold_N) of STS-B's pairs, for pictures."""
        self.prepare()
        (pairs,) = self.tasks[split]["STS-B"]
        return pair_cosines(encode, pairs), pairs.gold_N


class Sts(ScoredPairs):
    """The seven tasks of SimCSE's tables: STS12..16 (all, mean, wmean), STS-B and SICK-R test, and their average."""

    splits = ("test",)
    protocol = "Spearman and Pearson x100 of cosines; headline `all`; average of 7 rounded to 2 decimals"

    def __init__(self, senteval: Name | None, allow_partial: bool = False):
        super().__init__(SentEvalFolder(senteval, allow_partial), (*SUBSETS, "STS-B", "SICK-R"))

    def read(self, split: str) -> Tasks:
        """All subsets that have data."""
        readers = {year: [partial(read_subset, year=year, subset=name) for name in SUBSETS[year]] for year in SUBSETS}
        readers |= {"STS-B": [partial(read_stsb, split=split)], "SICK-R": [partial(read_sickr, split=split)]}
        data = {task: [self.folder.attempt(read, task=task) for read in reads] for task, reads in readers.items()}
        present = {task: [pairs for pairs in subsets if pairs is not None] for task, subsets in data.items()}
        return {task: subsets for task, subsets in present.items() if subsets}

    def average(self, spearmans: list[float]) -> float:
        """Of scores that are rounded to two decimals first, as in SimCSE's tables."""
        return float(np.mean([round(one, 2) for one in spearmans]))

    def provenance(self) -> Provenance:
        """Pairs of each task, and the files."""
        tasks = self.tasks["test"].items()
        return {**super().provenance(), "rows": {task: sum(len(one.gold_N) for one in sets) for task, sets in tasks}}
