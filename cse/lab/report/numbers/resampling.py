"""The difference of two encoders, tested over test items. Neither has seeds, because both encoders are only scored.

The method is the paired bootstrap (Efron 1979). Koehn (2004, W04-3250) introduced it for machine translation. Both
encoders are scored on the same resamples of the test items. The intervals are percentiles, and p is two-sided.

Start at `compare_items`. `resampled` returns a run's score on resamples: `draw_items` draws the items, and `score_on`
returns the score of the drawn items.

Shapes: R resamples, N items, U units of each item.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from cse.errors import UserError
from cse.eval.items import read_items
from cse.lab.report.numbers.statistics import Effect
from cse.score import Items, ItemScores, digest_of

RESAMPLES = 1000
OVER_ITEMS = "paired bootstrap over items"
"""The name of the test in an `Effect`."""


def compare_items(left: Mapping[Path, str], right: Mapping[Path, str], confidence: float, shift: float = 0.0) -> Effect:
    """Return left minus right, tested over test items by the paired bootstrap.

    The names of the first run's scores seed all draws. So two scores with different names are also paired, if they have
    the same items. There is no test if a run did not keep its items, if the score has no items, or if the items of the
    sides differ. left, right: {folder of a run that scored the encoder: name of the score}.
    """
    try:
        draw_names = scores_with_items(*next(iter(left.items())))
        sides = [[resampled(folder, score, draw_names) for folder, score in side.items()] for side in (left, right)]
    except KeyError:
        return Effect(why="a test against an encoder that was only evaluated needs recorded test items")
    scores = [score for side in sides for score in side]
    if why := why_items_differ(scores):
        return Effect(why=why)
    left_R, right_R = (np.mean([score.scores_R for score in side], axis=0) for side in sides)
    low, high = np.quantile(left_R - right_R, ((1 - confidence) / 2, (1 + confidence) / 2))
    n = f"{scores[0].items:,} items"
    return Effect(low=float(low), high=float(high), n=n, test=OVER_ITEMS, p=p_of_resamples(left_R - right_R, shift))


def why_items_differ(scores: Sequence["Resampled"]) -> str:
    """Return why these scores may be over different items; "" if the items are known to be the same."""
    truths = {score.truth for score in scores}
    texts = {score.texts for score in scores} - {""}
    if len(truths) > 1 or len(texts) > 1:
        return "the test items of the two settings are not the same"
    if not all(score.texts or score.varied for score in scores):
        return "one setting did not record the texts of its test items: score it again"
    return ""


def p_of_resamples(difference_R: np.ndarray, shift: float = 0.0) -> float:
    """Return the two-sided p against a difference of `shift`, from the resamples beyond `shift`; p >= 2 / (R + 1)."""
    sides = ((difference_R <= shift).sum(), (difference_R >= shift).sum())
    return min(1.0, 2 * (1 + float(min(sides))) / (1 + len(difference_R)))


class Resampled(NamedTuple):
    """The values of a score on resamples of its test items.

    items: the number of items.
    truth: a checksum of the items' gold values and units.
    varied: whether the gold values vary.
    texts: a digest of the items' texts; "" if the run did not record the texts.
    """

    scores_R: np.ndarray
    items: int
    truth: int
    varied: bool
    texts: str


def resampled(folder: Path, score: str, draw_names: Sequence[str]) -> Resampled:
    """Return a run's score on resamples of its items. Raises KeyError for a score without items.

    draw_names: for each score in `scores_with_items`, the name that seeds its draws.
    """
    # `why_items_differ` refuses sides with different numbers of scores.
    draw_name_of = dict(zip(scores_with_items(folder, score), draw_names, strict=False))
    return score_resampled(folder, score, draw_name_of)


def scores_with_items(folder: Path, score: str) -> list[str]:
    """Return [score] for a score with items; for a mean, the scores with items behind the mean.

    A mean may average other means. Raises KeyError for a score without items.
    """
    behind = kept_items(folder)[score]
    if isinstance(behind, Items):
        return [score]
    return [name for part in behind for name in scores_with_items(folder, str(part))]


def score_resampled(folder: Path, score: str, draw_name_of: Mapping[str, str]) -> Resampled:
    """Return a run's score on resamples.

    draw_name_of: for a score with items, the name that seeds its draws, if this is not the score's own name.
    """
    behind = kept_items(folder)[score]
    if isinstance(behind, Items):
        return items_resampled(folder, score, draw_name_of.get(score, score))
    parts = [score_resampled(folder, str(name), draw_name_of) for name in behind]
    texts = [part.texts for part in parts]
    return Resampled(
        np.mean([part.scores_R for part in parts], axis=0),
        sum(part.items for part in parts),
        hash(tuple(part.truth for part in parts)),
        all(part.varied for part in parts),
        digest_of(texts) if all(texts) else "",
    )


@cache
def items_resampled(folder: Path, score: str, draw_name: str) -> Resampled:
    """Return a run's score on resamples of its own items. draw_name: the name that seeds the draws."""
    items = kept_items(folder)[score]
    assert isinstance(items, Items)
    scores_R = resample(items, seed=zlib.crc32(draw_name.encode()))
    truth = checksum_of(items.gold_N)
    if items.units_UN is not None:
        truth = hash((truth, items.units_UN.tobytes()))
    return Resampled(scores_R, len(items.gold_N), truth, len(np.unique(items.gold_N)) > 1, items.digest)


@cache
def kept_items(folder: Path) -> ItemScores:
    """Return the items behind each score of a run. Raises UserError if the file of the items is damaged."""
    try:
        return read_items(folder)
    except ValueError as error:
        raise UserError(f"{error}: delete this file; the report then has no test over this run's items") from error


def checksum_of(gold_N: np.ndarray) -> int:
    """Return a checksum of the items' gold values. Scores with equal checksums are resampled with the same draws."""
    return zlib.crc32(gold_N.tobytes())


def resample(items: Items, seed: int) -> np.ndarray:
    """Return the score (R,) on resamples of the items. The draws depend on the seed and on the items' gold values."""
    rng = np.random.default_rng((seed, checksum_of(items.gold_N)))
    return np.array([score_on(items, draw_items(items, rng)) for _ in range(RESAMPLES)])


def draw_items(items: Items, rng: np.random.Generator) -> np.ndarray:
    """Return the indices of the items in one resample. An item may occur several times.

    If items share units (two pairs may share a document), the function draws units. An item whose units are drawn 2 and
    3 times occurs 2 * 3 times.
    """
    size = len(items.gold_N)
    if items.units_UN is None:
        return rng.integers(0, size, size)
    units = int(items.units_UN.max()) + 1
    times = np.bincount(rng.integers(0, units, units), minlength=units)
    return np.repeat(np.arange(size), times[items.units_UN].prod(axis=0))


def score_on(items: Items, drawn: np.ndarray) -> float:
    """Return the score of the drawn items. A correlation is 0 if the values or the gold values do not vary."""
    values, gold = items.values_N[drawn], items.gold_N[drawn]
    if items.kind in ("cosines", "spearman"):
        x, y = stats.rankdata([values, gold], axis=1) - (len(drawn) + 1) / 2
        spread = math.sqrt((x @ x) * (y @ y))
        return 100 * float(x @ y) / spread if spread else 0.0
    if items.kind == "accuracy":
        return 100 * float((values == gold).mean())
    if items.kind == "macro_f1":
        both = np.concatenate([values, gold])
        counts_C, hits_C = np.bincount(both), np.bincount(gold[values == gold], minlength=both.max() + 1)
        return 100 * float((2 * hits_C[counts_C > 0] / counts_C[counts_C > 0]).mean())
    if items.kind == "mean":
        return 100 * float(values.mean())
    hits, misses = ((values == gold) & (gold == 1)).sum(), (values != gold).sum()
    return 100 * 2 * float(hits) / max(1, 2 * hits + misses)
