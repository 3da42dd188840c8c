"""A group of runs that makes one number: a value for each seed, and how two groups compare, over seeds or test items.

Of two encoders that are only scored, and so have no seeds, the same resamples of test items score both (the second half
of this file), and their difference is paired. Percentile intervals and two-sided p values, as in Koehn 2004 (W04-3250).

R resamples, N items.
"""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from cse.errors import UserError
from cse.eval.items import read_items
from cse.lab.folder.runs import Run, grouped
from cse.lab.report.keys_that_differ import keys_that_vary
from cse.lab.report.notes import departures
from cse.lab.report.spec import Spec
from cse.lab.report.statistics import STATISTICS, Effect, Scores, SeedSpread, compare_seeds, pooled_sd
from cse.lab.settings.keys import role_of
from cse.lab.settings.values import plain
from cse.score import Items, ItemScores, digest_of

SEEDS = 3  # on each trained side of a comparison that is judged
MANY = 4  # names in a list; further ones are counted


@dataclass(frozen=True)
class Group:
    """Runs, and the number that they make: one for each of their seeds.

    counted: how many runs these are where a copy, or a run that was made again, is no further one. seeds: {seed:
    value}; alone: the one value of an encoder that is only scored, and so has no seeds; None: it has. metric: None for
    values of a config key. unscored: the number of finished runs left out for want of the metric.
    """

    runs: list[Run]
    counted: int
    seeds: Mapping[str, float]
    alone: float | None = None
    metric: str | None = None
    aggregate: str = "mean"
    unscored: int = 0

    @property
    def scores(self) -> Scores:
        """As a side of a comparison."""
        return self.seeds if self.alone is None else self.alone

    @property
    def values(self) -> list[float]:
        """The value of each seed, or the one without."""
        return list(self.seeds.values()) if self.alone is None else [self.alone]

    @property
    def altered(self) -> bool:
        """Whether one of its runs was scored on incomplete or altered data."""
        return any(self.metric in run.altered for run in self.runs)

    @property
    def no_better(self) -> bool:
        """Whether one of the runs that it is the mean of is no better than its encoder untrained."""
        return self.aggregate == "mean" and any(run.no_better for run in self.runs)

    @property
    def only_scored(self) -> bool:
        """Whether its encoder was not trained, and so has no seeds."""
        return self.alone is not None

    def without_seeds(self) -> "Group":
        """The same, of one encoder alone: its value is the mean."""
        return replace(self, seeds={}, alone=float(np.mean(self.values)))


Groups = dict[tuple[str, str], Group]
"""Of a table that runs fill, by row and column."""


def group_of(runs: Sequence[Run], metric: str | None, seed: str, aggregate: str = "mean", select: str = "") -> Group:
    """The runs that have the metric. seed: the key of seeds; select: the score by which `best` picks a seed's run."""
    scored = [run for run in runs if metric in run.metrics]
    once = once_each(scored, seed)
    picked = [best_run(of, select) for of in grouped(scored, seed).values()] if aggregate == "best" else once
    values = values_by_seed(picked, metric, seed, aggregate)
    unscored = len(runs) - len(scored)
    group = Group(scored, len(once), values, metric=metric, aggregate=aggregate, unscored=unscored)
    return group.without_seeds() if has_no_seeds(scored, seed) else group


def mean_groups(runs: Sequence[Run], metrics: Sequence[str], seed: str) -> dict[str, Group]:
    """The group of each of the metrics that a run has. seed: the key of seeds."""
    every = once_each(runs, seed)
    groups = {}
    for metric in metrics:
        scored = [run for run in runs if metric in run.metrics]
        once = [run for run in every if metric in run.metrics]
        if scored:
            values = values_by_seed(once, metric, seed, "mean")
            group = Group(scored, len(once), values, metric=metric, unscored=len(runs) - len(scored))
            groups[metric] = group.without_seeds() if has_no_seeds(scored, seed) else group
    return groups


def values_by_seed(runs: Sequence[Run], metric: str | None, seed: str, aggregate: str) -> dict[str, float]:
    """{seed: a statistic of its runs' scores}; all have the metric. seed: the key of seeds."""
    statistic = STATISTICS.get(aggregate, np.mean)
    return {
        name: float(statistic([run.metrics[str(metric)] for run in of])) for name, of in grouped(runs, seed).items()
    }


def has_no_seeds(runs: Sequence[Run], seed: str) -> bool:
    """Whether these are runs of an encoder that is only scored, and so has no seeds. seed: the key of seeds."""
    return bool(runs) and all(run.get(seed) is None for run in runs)


def partly_scored(runs: Sequence[Run], metrics: Sequence[str], seed: str) -> list[str]:
    """A line for the scores that only some seeds have, over which their means are. seed: the key of seeds."""
    seeds = grouped(runs, seed).values()
    having = {metric: sum(any(metric in run.metrics for run in of) for of in seeds) for metric in metrics}
    partly: dict[int, list[str]] = {}
    for metric, number in having.items():
        partly.setdefault(number, []).append(metric)
    return [
        f"only {n} of {len(seeds)} seeds have {first_few(of)}" for n, of in sorted(partly.items()) if 0 < n < len(seeds)
    ]


def once_each(runs: Sequence[Run], seed: str) -> list[Run]:
    """Of each seed, a run of each setting, with the mean scores of those with this setting: a copy, or a run that was
    made again, weighs no more than one. seed: the key of seeds."""
    settings: dict[tuple[str, str], list[Run]] = {}
    for name, of in grouped(runs, seed).items():
        keys = [key for key in keys_that_vary(of, seed) if role_of(key).changes_a_table] if len(of) > 1 else []
        for run in of:
            settings.setdefault((name, repr([plain(run.get(key)) for key in keys])), []).append(run)
    return [same[0] if len(same) == 1 else replace(same[0], metrics=mean_scores(same)) for same in settings.values()]


def mean_scores(runs: Sequence[Run]) -> dict[str, float]:
    """Each score's mean over the runs that have it."""
    names = dict.fromkeys(name for run in runs for name in run.metrics)
    return {name: float(np.mean([run.metrics[name] for run in runs if name in run.metrics])) for name in names}


def groups_of(spec: Spec, runs: list[Run]) -> Groups:
    """The group of every cell that runs may fill, in the order of the printed table."""
    groups, done = {}, [run for run in runs if run.is_done]
    for row, line in spec.rows.items():
        for name, column in spec.columns.items():
            where, select = {**line.where, **column.where}, spec.select or ""
            finished = without_trials([run for run in done if run.matches(where)], spec)
            if column.config:
                groups[row, name] = group_of_key(finished, column.config, spec.seed, select)
            else:
                metric, aggregate = spec.metric_of(row, name), spec.aggregate_of(row, name)
                groups[row, name] = group_of(finished, metric, spec.seed, aggregate, select)
    return groups


def group_of_key(runs: list[Run], key: str, seed: str, select: str) -> Group:
    """The runs, and of each seed's best run the value of a config key. seed: the key of seeds."""
    best = {name: best_run(of, select) for name, of in grouped(runs, seed).items()}
    values = {name: float(run.get(key)) for name, run in best.items()}
    group = Group(runs, len(once_each(runs, seed)), values, aggregate="best")
    return group.without_seeds() if has_no_seeds(runs, seed) else group


def without_trials(runs: list[Run], spec: Spec) -> list[Run]:
    """The runs with the sweep's own settings, if some have these; else all."""
    return [run for run in runs if not departures(run, spec.setting)] or runs


def best_run(runs: Sequence[Run], select: str) -> Run:
    """The run with the best selection score; the first of equal ones, and of runs that lack it."""
    best = runs[0]
    for run in runs[1:]:
        if select in run.scored and run.scored[select].better_than(best.scored.get(select)):
            best = run
    return best


def compare(left: Group, right: Group, confidence: float, shift: float = 0.0) -> Effect:
    """Left minus right, tested over seeds, or for two encoders that are only scored, which have none, over test items
    if their runs kept them."""
    found = compare_seeds(left.scores, right.scores, confidence, shift)
    if not (left.only_scored and right.only_scored and left.metric and right.metric):
        return found
    if not left.aggregate == right.aggregate == "mean":
        return found
    over_items = compare_items((left.runs, left.metric), (right.runs, right.metric), confidence, shift)
    return found._replace(why=over_items.why) if over_items.why else over_items._replace(effect=found.effect)


def other_setting(runs: Iterable[Run], spec: Spec) -> list[str]:
    """Where the runs' settings differ from their sweep's or from what the paper held fixed."""
    return list(dict.fromkeys(words for run in runs for words in departures(run, spec.setting)))


def seed_spread(groups: Iterable[Group]) -> SeedSpread | None:
    """How much seeds vary in the groups that have several; None without such a group."""
    several = [group.values for group in groups if len(group.values) > 1]
    each = [pooled_sd([values]) for values in several]
    return SeedSpread(pooled_sd(several), min(map(len, several)), each) if several else None


def few_seeds(sides: Sequence[Group]) -> str:
    """A line if some trained side has too few seeds for a verdict; "" if all have enough."""
    seeds = [len(group.values) for group in sides if not group.only_scored]
    if not seeds or min(seeds) >= SEEDS:
        return ""
    instead = "; test items say nothing of its other seeds" if len(seeds) < len(sides) else ""
    return f"too few seeds ({' and '.join(map(str, seeds))}): each trained side needs {SEEDS}{instead}"


def first_few(words: Sequence[str]) -> str:
    """The first few words, and how many more there are."""
    return ", ".join(words[:MANY]) + (f", {len(words) - MANY} more" if len(words) > MANY else "")


RESAMPLES = 1000
OVER_ITEMS = "paired bootstrap over items"
"""The name of the test, beside those of cse.lab.report.statistics."""

Scored = tuple[Sequence[Run], str]
"""The runs of an encoder, and their score."""


def compare_items(left: Scored, right: Scored, confidence: float, shift: float = 0.0) -> Effect:
    """Left minus right over test items; without a test if a run did not keep its items, the score has none, or the
    sides have not the same."""
    try:
        sides = [[resampled(run.folder, metric) for run in runs] for runs, metric in (left, right)]
    except KeyError:
        return Effect(why="encoders that are only scored need their test items")
    every = [one for side in sides for one in side]
    if len({one.truth for one in every}) > 1 or (len({one.texts for one in every}) > 1 and all(o.texts for o in every)):
        return Effect(why="their test items are not the same")
    if not all(one.texts or one.varied for one in every):
        return Effect(why="one side does not say of which texts its test items are: score it again")
    left_R, right_R = (np.mean([one.scores_R for one in side], axis=0) for side in sides)
    low, high = np.quantile(left_R - right_R, ((1 - confidence) / 2, (1 + confidence) / 2))
    n = f"{sides[0][0].items:,} items"
    return Effect(low=float(low), high=float(high), n=n, test=OVER_ITEMS, p=p_of(left_R - right_R, shift))


def p_of(difference_R: np.ndarray, shift: float = 0.0) -> float:
    """The two-sided p of the difference being `shift`; at least 2 / (R + 1)."""
    sides = ((difference_R <= shift).sum(), (difference_R >= shift).sum())
    return min(1.0, 2 * (1 + float(min(sides))) / (1 + len(difference_R)))


class Resampled(NamedTuple):
    """A score on resamples of its items, their number, a checksum of their truth and units, whether the truth varies,
    and a digest of their texts ("" if it was not kept)."""

    scores_R: np.ndarray
    items: int
    truth: int
    varied: bool
    texts: str


@cache
def resampled(folder: Path, score: str) -> Resampled:
    """A run's score on resamples of its items. Raises KeyError for a score without items."""
    behind = _items(folder)[score]
    if isinstance(behind, Items):
        scores_R = resample(behind, seed=zlib.crc32(score.encode()))
        gold_N, units_UN = behind.gold_N, behind.units_UN
        truth = checksum_of(gold_N) if units_UN is None else hash((checksum_of(gold_N), units_UN.tobytes()))
        return Resampled(scores_R, len(gold_N), truth, len(np.unique(gold_N)) > 1, behind.digest)
    parts = [resampled(folder, str(one)) for one in behind]
    texts = [one.texts for one in parts]
    return Resampled(
        np.mean([one.scores_R for one in parts], axis=0),
        sum(one.items for one in parts),
        hash(tuple(one.truth for one in parts)),
        all(one.varied for one in parts),
        digest_of(texts) if all(texts) else "",
    )


@cache
def _items(folder: Path) -> ItemScores:
    try:
        return read_items(folder)
    except ValueError as error:
        raise UserError(f"{error}: delete it, and the report goes without a test over this run's items") from error


def checksum_of(gold_N: np.ndarray) -> int:
    """By which the truth of items is known: the same items have the same draws."""
    return zlib.crc32(gold_N.tobytes())


def resample(items: Items, seed: int) -> np.ndarray:
    """The score (R,) on resamples of the items. The draws depend on the seed and on the items' truth."""
    rng = np.random.default_rng((seed, checksum_of(items.gold_N)))
    return np.array([score_on(items, draw_items(items, rng)) for _ in range(RESAMPLES)])


def draw_items(items: Items, rng: np.random.Generator) -> np.ndarray:
    """The numbers of the items in one resample, each as often as it is drawn."""
    size = len(items.gold_N)
    if items.units_UN is None:
        return rng.integers(0, size, size)
    units = int(items.units_UN.max()) + 1
    times = np.bincount(rng.integers(0, units, units), minlength=units)
    return np.repeat(np.arange(size), times[items.units_UN].prod(axis=0))


def score_on(items: Items, drawn: np.ndarray) -> float:
    """The score of the drawn items; a correlation is 0 where one side does not vary."""
    values, gold = items.values_N[drawn], items.gold_N[drawn]
    if items.kind in ("cosines", "spearman"):
        x, y = stats.rankdata([values, gold], axis=1) - (len(drawn) + 1) / 2
        spread = math.sqrt((x @ x) * (y @ y))
        return 100 * float(x @ y) / spread if spread else 0.0
    if items.kind == "accuracy":
        return 100 * float((values == gold).mean())
    found, wrong = ((values == gold) & (gold == 1)).sum(), (values != gold).sum()
    return 100 * 2 * float(found) / max(1, 2 * found + wrong)
