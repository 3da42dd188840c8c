"""Two encoders that are only scored, and so have no seeds, compared by a bootstrap over their test items.

Items are drawn with replacement; where they share units, as pairs of documents do, the units are drawn, and a pair
counts the product of their draws. The draws depend only on the score and its items, so both encoders have the same ones
and their difference is paired. Percentile intervals and two-sided p values, as in Koehn 2004 (W04-3250).

R resamples, N items, G distinct values.
"""

import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from cse.errors import UserError
from cse.eval.items import read_items
from cse.record.runs import Run
from cse.report.spec import Metric
from cse.report.statistics import Effect
from cse.score import Items, ItemScores

RESAMPLES = 1000
CELLS = 2**21  # weights in memory at once


Scored = tuple[Sequence[Run], Metric]
"""The runs of an encoder, and their score."""


def compare_items(left: Scored, right: Scored, confidence: float, shift: float = 0.0) -> Effect | None:
    """Left minus right over test items; None if a run did not keep its items, or the score has none."""
    both = [[scores_of(run.folder, metric) for run in runs] for runs, metric in (left, right)]
    if any(one is None for runs in both for one in runs):
        return None
    left_R, right_R = (np.mean([one for one in runs if one is not None], axis=0) for runs in both)
    low, high = np.quantile(left_R - right_R, ((1 - confidence) / 2, (1 + confidence) / 2))
    return Effect(
        low=float(low),
        high=float(high),
        n=f"{number_of_items(left[0][0].folder, left[1]):,} items",
        test="bootstrap over items",
        p=p_of(left_R - right_R, shift),
    )


def p_of(difference_R: np.ndarray, shift: float = 0.0) -> float:
    """The two-sided p of the difference being `shift`; at least 2 / (R + 1)."""
    sides = ((difference_R <= shift).sum(), (difference_R >= shift).sum())
    return min(1.0, 2 * (1 + float(min(sides))) / (1 + len(difference_R)))


def scores_of(folder: Path, metric: Metric) -> np.ndarray | None:
    """A run's score, or mean of scores, on resamples (R,) of its items; None without items."""
    if isinstance(metric, str):
        return _score(folder, metric)
    parts = [part for one in metric if (part := scores_of(folder, one)) is not None]
    return np.mean(parts, axis=0) if len(parts) == len(metric) else None


def number_of_items(folder: Path, metric: Metric) -> int:
    """The items behind a score, or behind all that it is the mean of."""
    behind = _items(folder)[metric] if isinstance(metric, str) else metric
    return len(behind.gold_N) if isinstance(behind, Items) else sum(number_of_items(folder, one) for one in behind)


@cache
def _items(folder: Path) -> ItemScores:
    try:
        return read_items(folder)
    except ValueError as error:
        raise UserError(f"{error}: delete it, and the report goes without a test over this run's items") from error


@cache
def _score(folder: Path, score: str) -> np.ndarray | None:
    one = _items(folder).get(score)
    if one is None:
        return None
    return resample(one, seed=zlib.crc32(score.encode())) if isinstance(one, Items) else scores_of(folder, one)


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
