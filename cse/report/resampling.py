"""How a score would vary with other test items: a bootstrap over the pairs and rows that a run kept (cse.eval.items).

Items are drawn with replacement; where they share units, as pairs of documents do, the units are drawn, and a pair
counts the product of their draws. The draws depend only on the score and its items, so they are the same for every run
and differences between runs are paired. Percentile intervals and two-sided p values, as in Koehn 2004 (W04-3250).

R resamples, N items, G distinct values.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from cse.errors import UserError
from cse.eval.items import read_items
from cse.record.runs import Run
from cse.report.spec import Metric
from cse.report.statistics import Interval
from cse.score import Average, Items, ItemScores

RESAMPLES = 1000
CELLS = 2**21  # weights in memory at once


@dataclass(frozen=True)
class Resampled:
    """A score, or a difference of two, on R resamples of its items, and the number of items."""

    values_R: np.ndarray
    items: int

    def interval(self, confidence: float) -> Interval:
        """The middle `confidence` of the resamples."""
        low, high = np.quantile(self.values_R, ((1 - confidence) / 2, (1 + confidence) / 2))
        return float(low), float(high)

    def p(self, shift: float = 0.0) -> float:
        """The two-sided p of the value being `shift`; at least 2 / (R + 1)."""
        sides = ((self.values_R <= shift).sum(), (self.values_R >= shift).sum())
        return min(1.0, 2 * (1 + float(min(sides))) / (1 + len(self.values_R)))

    def __sub__(self, other: "Resampled") -> "Resampled":
        return Resampled(self.values_R - other.values_R, max(self.items, other.items))


def of_run(run: Run, metric: Metric | None) -> Resampled | None:
    """A run's score, resampled; None if the run did not keep its items, or the score has none."""
    return _of_metric(run.folder, metric) if metric else None


def of_seeds(groups: Sequence[Sequence[Run]], metric: Metric | None) -> Resampled | None:
    """The mean over seeds of the mean of each seed's runs, resampled; None if one of them kept no items."""
    return _mean([_mean([of_run(run, metric) for run in group], max) for group in groups], max)


def _of_metric(folder: Path, metric: Metric | Average) -> Resampled | None:
    if isinstance(metric, str):
        return _of_score(folder, metric)
    return _mean([_of_metric(folder, one) for one in metric], sum)


def _mean(parts: Sequence[Resampled | None], items: Callable[[Iterable[int]], int]) -> Resampled | None:
    """The mean of all parts, None if one is None. items: `max` for runs, which share their items; `sum` for tasks."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return Resampled(np.mean([part.values_R for part in known], axis=0), items(part.items for part in known))


@cache
def _items(folder: Path) -> ItemScores:
    try:
        return read_items(folder)
    except ValueError as error:
        raise UserError(f"{error}: delete it, and the report goes without intervals over this run's items") from error


@cache
def _of_score(folder: Path, score: str) -> Resampled | None:
    one = _items(folder).get(score)
    if one is None:
        return None
    if not isinstance(one, Items):
        return _of_metric(folder, one)
    return Resampled(resample(one, seed=zlib.crc32(score.encode())), len(one.gold_N))


def resample(items: Items, seed: int) -> np.ndarray:
    """The score (R,) on resamples of the items. The draws depend on the seed and on the items' truth."""
    rng = np.random.default_rng((seed, zlib.crc32(items.gold_N.tobytes())))
    rows = max(1, CELLS // len(items.gold_N))
    blocks = (min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows))
    return np.concatenate([_scores(items, _weights(items, block, rng)) for block in blocks])


def _weights(items: Items, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often (R, N) each item is drawn."""
    if items.units_UN is None:
        return _draws(len(items.gold_N), resamples, rng)
    drawn_RU = _draws(int(items.units_UN.max()) + 1, resamples, rng)
    return np.prod([drawn_RU[:, units_N] for units_N in items.units_UN], axis=0)


def _draws(size: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often (R, size) each of `size` things is drawn in `size` draws."""
    drawn = rng.integers(0, size, (resamples, size)) + size * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * size).reshape(resamples, size)


def _scores(items: Items, weights_RN: np.ndarray) -> np.ndarray:
    """The score (R,) of items with these weights."""
    if items.kind in ("cosines", "spearman"):
        return 100 * _spearman(items.values_N, items.gold_N, weights_RN)
    right_N = items.values_N == items.gold_N
    if items.kind == "accuracy":
        return 100 * (weights_RN @ right_N) / weights_RN.sum(1)
    found_R, wrong_R = weights_RN @ (right_N & (items.gold_N == 1)), weights_RN @ ~right_N
    return 100 * 2 * found_R / np.maximum(1, 2 * found_R + wrong_R)


def _spearman(a_N: np.ndarray, b_N: np.ndarray, weights_RN: np.ndarray) -> np.ndarray:
    """Rank correlation (R,) where item i occurs weights_RN[r, i] times; 0 where one side does not vary."""
    total_R1 = weights_RN.sum(1, keepdims=True)
    a_RN, b_RN = (_ranks(values_N, weights_RN) for values_N in (a_N, b_N))
    for ranks_RN in (a_RN, b_RN):
        ranks_RN -= (weights_RN * ranks_RN).sum(1, keepdims=True) / total_R1
    covariance_R = (weights_RN * a_RN * b_RN).sum(1)
    spread_R = np.sqrt((weights_RN * a_RN**2).sum(1) * (weights_RN * b_RN**2).sum(1))
    return np.divide(covariance_R, spread_R, out=np.zeros_like(covariance_R), where=spread_R > 0)


def _ranks(values_N: np.ndarray, weights_RN: np.ndarray) -> np.ndarray:
    """Ranks (R, N) from 0.5 on; equal values, and the copies of an item, share their middle rank."""
    _, starts_G, group_N = np.unique(np.sort(values_N), return_index=True, return_inverse=True)
    order_N = np.argsort(values_N, kind="stable")
    weights_RG = np.add.reduceat(weights_RN[:, order_N], starts_G, axis=1)
    middle_RG = weights_RG.cumsum(1) - weights_RG / 2
    group_N[order_N] = group_N.copy()  # of each item in its own place
    return middle_RG[:, group_N]
