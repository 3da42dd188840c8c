"""Semantic textual similarity: the correlation of cosines with human scores, times 100.

STS12..16 have subsets. Papers join the subsets in three ways:
    all    one correlation over the pairs of all subsets (SimCSE's tables); this headline score has no suffix
    mean   the mean of the subsets' correlations (DeCLUTR)
    wmean  the mean of the subsets' correlations, weighted by their numbers of pairs
STS-B and SICK-R are scored on their test split. The average is the mean of the seven Spearman scores. Each score is
first rounded to two decimals (SimCSE's print_table).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import MinLen
from scipy.stats import pearsonr, spearmanr

from cse.errors import UserError
from cse.eval.files import DataFolder, senteval_folder, senteval_needs
from cse.eval.scoring import mean_of
from cse.eval.senteval.data import Examples, read_subset, read_table
from cse.needs import Need, Settings
from cse.ranges import Name, OneOf, Widths
from cse.score import Items, Score, Source, digest_of
from cse.sources.senteval import SUBSETS
from cse.types import Encode, Evaluator

CORRELATIONS = {"spearman": spearmanr, "pearson": pearsonr}

Tasks = dict[str, list[Examples]]
"""{task: its subsets}. A subset has sentence pairs and their human scores."""

Readers = Mapping[str, Sequence[Callable[[DataFolder], Examples]]]
"""{task: the functions that read its subsets}."""


def cosines(first_ND: np.ndarray, second_ND: np.ndarray) -> np.ndarray:
    """Return the cosines of N pairs of rows, (N,) float64; 0 for a pair with a zero or NaN vector, as in SentEval.

    Equal vectors have exactly the cosine 1, not 1 - 1e-16. Otherwise rounding errors would rank pairs of equal vectors.
    """
    first_ND, second_ND = np.asarray(first_ND, np.float64), np.asarray(second_ND, np.float64)
    norms_N = np.linalg.norm(first_ND, axis=1) * np.linalg.norm(second_ND, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        same_N = (first_ND == second_ND).all(1) & (norms_N > 0) & np.isfinite(norms_N)
        cosines_N = np.where(same_N, 1, (first_ND * second_ND).sum(1) / norms_N)
    return np.clip(np.nan_to_num(cosines_N, nan=0.0, posinf=0.0, neginf=0.0), -1, 1)


def correlations(subsets: list[Items], statistics: Iterable[str] = CORRELATIONS) -> list[Score]:
    """Return the scores `spearman` and `pearson`, x100; for several subsets also `<name>_mean` and `<name>_wmean`."""
    whole, sizes = subsets[0], [len(one.gold_N) for one in subsets]
    if len(subsets) > 1:
        values_N, gold_N = (np.concatenate(of) for of in zip(*((s.values_N, s.gold_N) for s in subsets), strict=True))
        digest = digest_of(one.digest for one in subsets) if all(one.digest for one in subsets) else ""
        whole = Items("cosines", values_N, gold_N, digest=digest)
    scores = []
    for name in statistics:
        ranks, correlate = name == "spearman", CORRELATIONS[name]
        of = partial(Score, rows=sum(sizes), unit=f"{name.capitalize()}'s correlation x 100")
        value = 100 * float(correlate(whole.values_N, whole.gold_N)[0])
        scores.append(of(name, value, items=whole if ranks else None, headline=ranks))
        if len(subsets) > 1:
            parts = [100 * float(correlate(one.values_N, one.gold_N)[0]) for one in subsets]
            mean, weighted = float(np.mean(parts)), float(np.average(parts, weights=sizes))
            scores.append(of(f"{name}_mean", mean, items=[*subsets] if ranks else None, headline=False))
            scores.append(of(f"{name}_wmean", weighted, headline=False))
    return scores


class ScoredPairs(Evaluator):
    """Base class of evaluators of sentence pairs. A subclass defines `readers` and `protocol`.

    The scores are `<task>/<statistic>` for each of `statistics`. If a task's name is the value of `unnamed`, its scores
    have no `<task>/`. averaged: the tasks of the score `average`, which needs data for all these tasks. widths: for
    each width w, the first w numbers of each vector are scored too, as `width<w>/<task>/<statistic>`.
    """

    splits: tuple[str, ...] = ("dev", "test")
    statistics: tuple[str, ...] = ("spearman", "pearson")
    protocol: str
    unnamed: str | None = None

    def __init__(self, folder: DataFolder, averaged: Iterable[str], widths: Iterable[int] | None = None):
        self.folder, self.averaged = folder, list(averaged)
        self.cuts: dict[str, int | None] = {"": None, **{f"width{width}/": width for width in widths or ()}}
        self.tasks: dict[str, Tasks] = {}

    def readers(self, split: str) -> Readers:
        """Return {task: the functions that read its subsets} for a split."""
        raise NotImplementedError

    def score_names(self, split: str) -> list[str]:
        """Return the names of all statistics and averages, as if no data were missing."""
        names, tasks = [], self.readers(split)
        for cut in self.cuts:
            for task, reads in tasks.items():
                prefix = cut if task == self.unnamed else f"{cut}{task}/"
                ends = ("", "_mean", "_wmean") if len(reads) > 1 else ("",)
                names += [f"{prefix}{statistic}{end}" for statistic in self.statistics for end in ends]
            if self.averaged and set(self.averaged) <= set(tasks):
                names.append(f"{cut}average")
        return names

    def prepare(self) -> None:
        """Read the pairs of every split. Raises MissingResource or UserError."""
        for split in self.splits:
            tasks: Tasks = {}
            for task, reads in self.readers(split).items():
                found = [self.folder.attempt(read) for read in reads]
                if subsets := [pairs for pairs in found if pairs is not None]:
                    tasks[task] = subsets
            if tasks and self.unnamed in (None, *tasks):
                self.tasks[split] = tasks
        self.folder.require(self.tasks)
        self.splits = tuple(self.tasks)

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return the statistics of each task that has data, and `average` if all tasks in `averaged` have data."""
        tasks = self.tasks[split]
        sets = [pairs for subsets in tasks.values() for pairs in subsets]
        vectors_ND = encode([text for pairs in sets for text in pairs.texts()])
        ends = np.cumsum([len(pairs) for pairs in sets for _ in range(2)])[:-1]
        scores, averages = [], []
        for cut, width in self.cuts.items():
            if (width or 0) > vectors_ND.shape[1]:  # the width of a function's vectors is known only now
                raise UserError(f"widths=[{width}]: the embeddings have only width {vectors_ND.shape[1]}")
            halves = iter(np.split(vectors_ND[:, :width], ends))
            spearmans: dict[str, Score] = {}
            for task, subsets in tasks.items():
                pairs = [
                    Items("cosines", cosines(next(halves), next(halves)), s.labels_N, s.units_UN, s.digest())
                    for s in subsets
                ]
                prefix = cut if task == self.unnamed else f"{cut}{task}/"
                named = [one.within(prefix) for one in correlations(pairs, self.statistics)]
                found = [replace(one, modified=self.folder.modified) for one in named]
                spearmans[task] = found[0]
                scores += found
            if self.averaged and set(self.averaged) <= set(tasks):
                averaged = [spearmans[task] for task in self.averaged]
                mean = self.average([one.value for one in averaged])
                averages.append(replace(mean_of(f"{cut}average", averaged), value=mean))
        return scores + averages

    def average(self, spearmans: list[float]) -> float:
        """Return the mean of the tasks' Spearman scores."""
        return float(np.mean(spearmans))

    def pairs(self, split: str) -> list[frozenset[str]]:
        """Return the unordered sentence pairs of a prepared split; [] for a split without data."""
        return [pair for subsets in self.tasks.get(split, {}).values() for one in subsets for pair in unordered(one)]

    def texts(self) -> Iterator[str]:
        """Yield the sentences of every split and task."""
        for tasks in self.tasks.values():
            for subsets in tasks.values():
                for pairs in subsets:
                    yield from pairs.texts()

    def source(self) -> Source:
        """Return the protocol, the place, the files and the problems of the data."""
        return self.folder.source(self.protocol)


def unordered(examples: Examples) -> list[frozenset[str]]:
    """Return the sentence pairs as sets, without the order of a pair's two sentences."""
    return [frozenset(pair) for pair in zip(*examples.sentences, strict=True)]


class Stsb(ScoredPairs):
    """An evaluator of STS-B dev and test. The papers' recipes, except DeCLUTR's, select the checkpoint on STS-B dev.

    conf/eval/stsb.yaml explains the settings. With allow_partial, a split without STS-B's file is left out.
    """

    primary = "spearman"
    protocol = "Spearman and Pearson x100 of cosines with gold scores"
    unnamed = "STS-B"

    def __init__(
        self,
        senteval: Name | None,
        with_sickr: bool = False,
        allow_partial: bool = False,
        widths: Widths | None = None,
        without: Literal["sts"] | None = None,
    ):
        super().__init__(senteval_folder(senteval, allow_partial), ("STS-B", "SICK-R") if with_sickr else (), widths)
        self.without = without
        if without:
            self.protocol += "; STS-B dev without the pairs of STS12..16's tests"

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return SentEval's data as a Need."""
        return senteval_needs(settings)

    def readers(self, split: str) -> Readers:
        """Return the readers of STS-B and, if with_sickr, of SICK-R."""
        readers = {task: [partial(read_table, task=task, split=split)] for task in self.averaged or ["STS-B"]}
        return readers | {"STS-B": [read_apart]} if self.without and split == "dev" else readers


def read_apart(folder: DataFolder) -> Examples:
    """Return STS-B dev without the pairs that are also in a test set of STS12..16."""
    whole = read_table(folder, "STS-B", "dev")
    tests = [read_subset(folder, year, subset) for year, subsets in SUBSETS.items() for subset in subsets]
    tested = {pair for test in tests for pair in unordered(test)}
    kept = [row for row, pair in enumerate(unordered(whole)) if pair not in tested]
    return Examples(tuple([side[row] for row in kept] for side in whole.sentences), whole.labels_N[kept])


SEVEN = (*SUBSETS, "STS-B", "SICK-R")


class Sts(ScoredPairs):
    """An evaluator of SimCSE's tasks: STS12..16 (all, mean, wmean), STS-B test, SICK-R test, and their average."""

    splits = ("test",)
    primary = "average"
    protocol = "Spearman and Pearson x100 of cosines; headline `all`"

    def __init__(
        self,
        senteval: Name | None,
        allow_partial: bool = False,
        widths: Widths | None = None,
        tasks: Annotated[Sequence[Annotated[str, OneOf(SEVEN)]], MinLen(1)] = SEVEN,
    ):
        super().__init__(senteval_folder(senteval, allow_partial), SEVEN, widths)
        self.chosen = tasks
        if set(tasks) == set(SEVEN):
            self.protocol += "; average of 7 rounded to 2 decimals"

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return SentEval's data as a Need."""
        return senteval_needs(settings)

    def readers(self, split: str) -> Readers:
        """Return the readers of all subsets of the chosen tasks."""
        tables = {task: [partial(read_table, task=task, split=split)] for task in ("STS-B", "SICK-R")}
        years = {year: [partial(read_subset, year=year, subset=name) for name in SUBSETS[year]] for year in SUBSETS}
        return {task: reads for task, reads in {**years, **tables}.items() if task in self.chosen}

    def average(self, spearmans: list[float]) -> float:
        """Return the mean of the scores, each first rounded to two decimals, as in SimCSE's tables."""
        return float(np.mean([round(one, 2) for one in spearmans]))
