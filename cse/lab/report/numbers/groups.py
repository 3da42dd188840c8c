"""A group of runs that makes one number: a value for each seed, and how two groups compare.

To read: `group_of` makes a `Group` of the runs that have a `Measure`. `once_each` lets a copy, or a run that was made
again, weigh no more than one run. `compare_groups` tests two groups over their seeds. Two encoders that are only scored
have no seeds: these are compared over test items (cse.lab.report.numbers.resampling).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cse.lab.folder.runs import Run, grouped
from cse.lab.report.formats import first_few
from cse.lab.report.numbers.keys_that_differ import every_key_that_varies
from cse.lab.report.numbers.resampling import compare_items
from cse.lab.report.numbers.statistics import STATISTICS, Effect, SeedSpread, Side, compare_seeds, pooled_sd
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import in_one_form, number_in

SEEDS = 3  # on each trained side of a comparison that is judged


@dataclass(frozen=True)
class Measure:
    """The number of a run that a group is made of, and how the runs of one seed make one number.

    metric: a score. key: a config key, whose value is the number instead; "" for a score. aggregate: a statistic of
    STATISTICS, or `best`: the run of the seed with the best `select`.
    """

    metric: str | None
    key: str = ""
    aggregate: str = "mean"
    select: str = ""

    def is_known(self, run: Run) -> bool:
        """Whether the run has the number: a run without an auxiliary modality has none of its settings."""
        if self.key:
            return number_in(str(run.get(self.key))) is not None
        return self.metric in run.metrics

    def number_of(self, run: Run) -> float:
        """The run's number."""
        return float(str(run.get(self.key)) if self.key else run.metrics[str(self.metric)])

    def number_of_seed(self, runs: Sequence[Run]) -> float:
        """The one number of a seed's runs."""
        if self.aggregate == "best":
            return self.number_of(best_run(runs, self.select))
        return float(STATISTICS[self.aggregate]([self.number_of(run) for run in runs]))


@dataclass(frozen=True)
class Group:
    """Runs, and the number that they make for each of their seeds.

    distinct: how many runs these are, where a copy, or a run that was made again, is no further one.
    seeds: {seed: value}.
    alone: the one value of an encoder that is only scored, and so has no seeds; None if it has seeds.
    metric: None for values of a config key.
    unscored: how many finished runs lack the number.
    """

    runs: list[Run]
    distinct: int
    seeds: Mapping[str, float]
    alone: float | None = None
    metric: str | None = None
    aggregate: str = "mean"
    unscored: int = 0

    @property
    def side(self) -> Side:
        """The group as a side of a comparison."""
        return self.seeds if self.alone is None else self.alone

    @property
    def values(self) -> list[float]:
        """The value of each seed, or the one without."""
        return list(self.seeds.values()) if self.alone is None else [self.alone]

    @property
    def modified(self) -> bool:
        """Whether one of its runs was scored on incomplete or modified data."""
        return any(self.metric in run.modified for run in self.runs)

    @property
    def no_better(self) -> bool:
        """Whether the group is a mean over a run that is no better than its encoder untrained."""
        return self.aggregate == "mean" and any(run.no_better for run in self.runs)

    @property
    def only_scored(self) -> bool:
        """Whether its encoder was not trained, and so has no seeds."""
        return self.alone is not None

    def without_seeds(self) -> "Group":
        """The same runs as one encoder, whose value is their mean."""
        return replace(self, seeds={}, alone=float(np.mean(self.values)))


def group_of(runs: Sequence[Run], once: Sequence[Run], measure: Measure, seed: str) -> Group:
    """The group of the runs that have the measure.

    once: the same runs without copies (`once_each`). seed: the key of seeds.
    """
    measured = [run for run in runs if measure.is_known(run)]
    distinct = [run for run in once if measure.is_known(run)]
    candidates = measured if measure.aggregate == "best" else distinct  # the best is a run, and no mean of copies
    group = Group(
        runs=measured,
        distinct=len(distinct),
        seeds={name: measure.number_of_seed(of_seed) for name, of_seed in grouped(candidates, seed).items()},
        metric=measure.metric,
        aggregate=measure.aggregate,
        unscored=len(runs) - len(measured),
    )
    return group.without_seeds() if has_no_seeds(measured, seed) else group


def has_no_seeds(runs: Sequence[Run], seed: str) -> bool:
    """Whether these are runs of an encoder that is only scored, and so has no seeds. seed: the key of seeds."""
    return bool(runs) and all(run.get(seed) is None for run in runs)


def once_each(runs: Sequence[Run], seed: str) -> list[Run]:
    """A run for each seed and each setting of that seed, with the mean scores of the runs that share both.

    So a copy, or a run that was made again, weighs no more than one run. seed: the key of seeds.
    """
    alike: dict[tuple[str, str], list[Run]] = {}
    for name, together in grouped(runs, seed).items():
        varying = every_key_that_varies(together, seed) if len(together) > 1 else []
        keys = [key for key in varying if role_of(key).changes_a_table]
        for run in together:
            alike.setdefault((name, repr([in_one_form(run.get(key)) for key in keys])), []).append(run)
    return [one_run_of(copies) for copies in alike.values()]


def one_run_of(copies: Sequence[Run]) -> Run:
    """A run with the mean scores of its copies."""
    return copies[0] if len(copies) == 1 else replace(copies[0], metrics=mean_scores(copies))


def mean_scores(runs: Sequence[Run]) -> dict[str, float]:
    """Each score's mean over the runs that have it."""
    names = dict.fromkeys(name for run in runs for name in run.metrics)
    return {name: float(np.mean([run.metrics[name] for run in runs if name in run.metrics])) for name in names}


def best_run(runs: Sequence[Run], select: str) -> Run:
    """The run with the best selection score: the first of equal runs, and of runs that lack the score."""
    best = runs[0]
    for run in runs[1:]:
        if select in run.scored and run.scored[select].better_than(best.scored.get(select)):
            best = run
    return best


def compare_groups(left: Group, right: Group, confidence: float, shift: float = 0.0) -> Effect:
    """Left minus right, tested over seeds.

    Two encoders that are only scored have no seeds. They are tested over test items, if their runs kept these.
    """
    over_seeds = compare_seeds(left.side, right.side, confidence, shift)
    if not (left.only_scored and right.only_scored and left.metric and right.metric):
        return over_seeds
    if not left.aggregate == right.aggregate == "mean":
        return over_seeds
    ours, theirs = {run.folder: left.metric for run in left.runs}, {run.folder: right.metric for run in right.runs}
    over_items = compare_items(ours, theirs, confidence, shift)
    return over_seeds._replace(why=over_items.why) if over_items.why else over_items._replace(size=over_seeds.size)


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


def partly_scored(runs: Sequence[Run], metrics: Sequence[str], seed: str) -> list[str]:
    """A line for the scores that only some seeds have, over which their means are. seed: the key of seeds."""
    seeds = grouped(runs, seed).values()
    partly: dict[int, list[str]] = {}
    for metric in metrics:
        number = sum(any(metric in run.metrics for run in of_seed) for of_seed in seeds)
        if 0 < number < len(seeds):
            partly.setdefault(number, []).append(metric)
    return [f"only {number} of {len(seeds)} seeds have {first_few(names)}" for number, names in sorted(partly.items())]
