"""The group of runs behind one number, with a value for each seed, and the comparison of two groups.

`group_of` makes a `Group` of the runs that have the number of a `Measure`. `groups_of_scores` makes a group for each
score. A run and its copies together weigh as much as one run (`without_copies`). `compare_groups` tests two groups over
their seeds. Two encoders that are only scored have no seeds: a test over test items compares these encoders
(cse.lab.report.numbers.resampling).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cse.lab.folder.runs import Run, grouped
from cse.lab.report.numbers.keys_that_differ import keys_that_differ
from cse.lab.report.numbers.resampling import compare_items
from cse.lab.report.numbers.statistics import STATISTICS, Effect, SeedSpread, Side, compare_seeds, pooled_sd
from cse.lab.settings.roles import role_of
from cse.lab.settings.values import in_one_form, number_in

MIN_SEEDS = 3  # a verdict needs at least this many seeds on each trained side of a comparison


@dataclass(frozen=True)
class Measure:
    """The number that a report reads from each run, and how the numbers of several runs of a seed become one number.

    name: a score (test/sts/average), or a key of the settings (trainer.lr) whose value is the number.
    is_key: whether `name` is a key.
    aggregate: how the runs of one seed make one number: a statistic of STATISTICS, or `best`.
    select: for `best`, the score that chooses a run of the seed.
    """

    name: str
    is_key: bool = False
    aggregate: str = "mean"
    select: str = ""

    def numbers_of(self, runs: Iterable[Run]) -> list[float]:
        """Return the measured number of each run. The result leaves out runs without the number.

        For example, a run without an auxiliary modality lacks the settings of the modality.
        """
        if self.is_key:
            numbers = [number_in(str(run.get(self.name))) for run in runs]
        else:
            numbers = [run.metrics.get(self.name) for run in runs]
        return [number for number in numbers if number is not None]

    def number_of_seed(self, runs: Sequence[Run]) -> float:
        """Return the measured number of one seed, from the seed's runs. All these runs must be measured."""
        if self.aggregate == "best":
            return self.numbers_of([best_run(runs, self.select)])[0]
        first, *others = self.numbers_of(runs)
        return float(STATISTICS[self.aggregate]([first, *others])) if others else float(first)  # numpy takes time


@dataclass(frozen=True)
class Group:
    """Runs, and one value for each seed of the runs.

    Runs of seed 1 that score 70 and 72, and a run of seed 2 that scores 74, have value_by_seed={"1": 71.0, "2": 74.0}.

    num_distinct: the number of runs. Copies of a run count once.
    only_scored: whether the runs score an encoder without training it. The group then has one value: {"": 71.0}.
    metric: the score; "" for values of a key.
    unscored: how many finished runs lack the number.
    """

    runs: list[Run]
    num_distinct: int
    value_by_seed: Mapping[str, float]
    only_scored: bool = False
    metric: str = ""
    aggregate: str = "mean"
    unscored: int = 0

    @property
    def values(self) -> list[float]:
        """The value of each seed."""
        return list(self.value_by_seed.values())

    @property
    def side(self) -> Side:
        """The group as one side of a comparison."""
        return self.values[0] if self.only_scored else self.value_by_seed

    @property
    def modified(self) -> bool:
        """Whether a run of the group was scored on incomplete or modified data."""
        return any(self.metric in run.modified for run in self.runs)

    @property
    def no_better(self) -> bool:
        """Whether the value is a mean, and a run in the group is no better than its untrained encoder."""
        return self.aggregate == "mean" and any(run.no_better for run in self.runs)

    def without_seeds(self) -> "Group":
        """Return the group as one encoder that is only scored. Its one value is the mean over the seeds."""
        return replace(self, value_by_seed={"": float(np.mean(self.values))}, only_scored=True)


def group_of(runs: Sequence[Run], measure: Measure, seed_key: str) -> Group:
    """Return the group of the runs that have the number of the measure."""
    return group_measured(runs, without_copies(runs, seed_key), measure, seed_key)


def groups_of_scores(runs: Sequence[Run], scores: Sequence[str], seed_key: str) -> dict[str, Group]:
    """Return the group of each score that a run has."""
    distinct = without_copies(runs, seed_key)
    scored = [score for score in scores if any(score in run.metrics for run in runs)]
    return {score: group_measured(runs, distinct, Measure(score), seed_key) for score in scored}


def group_measured(runs: Sequence[Run], distinct: Sequence[Run], measure: Measure, seed_key: str) -> Group:
    """Return the group of the runs that have the number of the measure. distinct: the same runs `without_copies`."""
    measured = [run for run in runs if measure.numbers_of([run])]
    measured_once = [run for run in distinct if measure.numbers_of([run])]
    candidates = measured if measure.aggregate == "best" else measured_once  # the best is a run, not a mean of copies
    by_seed = grouped(candidates, seed_key)
    group = Group(
        runs=measured,
        num_distinct=len(measured_once),
        value_by_seed={seed: measure.number_of_seed(of_seed) for seed, of_seed in by_seed.items()},
        metric="" if measure.is_key else measure.name,
        aggregate=measure.aggregate,
        unscored=len(runs) - len(measured),
    )
    has_seeds = any(run.get(seed_key) is not None for run in measured)  # an encoder that is only scored has no seeds
    return group if has_seeds or not measured else group.without_seeds()


def without_copies(runs: Sequence[Run], seed_key: str) -> list[Run]:
    """Return the runs without copies. Runs of the same seed and settings become one run, with their mean scores."""
    alike: dict[tuple[str, str], list[Run]] = {}
    for seed, together in grouped(runs, seed_key).items():
        varying = keys_that_differ(together, seed_key) if len(together) > 1 else []
        keys = [key for key in varying if role_of(key).changes_a_table]
        for run in together:
            alike.setdefault((seed, repr([in_one_form(run.get(key)) for key in keys])), []).append(run)
    return [one_run_of(copies) for copies in alike.values()]


def one_run_of(copies: Sequence[Run]) -> Run:
    """Return one run that replaces these copies: the first copy, with the mean scores of all copies."""
    return copies[0] if len(copies) == 1 else replace(copies[0], metrics=mean_scores(copies))


def mean_scores(runs: Sequence[Run]) -> dict[str, float]:
    """Return each score's mean over the runs that have the score."""
    names = dict.fromkeys(name for run in runs for name in run.metrics)
    return {name: float(np.mean([run.metrics[name] for run in runs if name in run.metrics])) for name in names}


def best_run(runs: Sequence[Run], select: str) -> Run:
    """Return the run with the best selection score: the first if several runs are best, or if no run has the score."""
    best = runs[0]
    for run in runs[1:]:
        if select in run.scored and run.scored[select].better_than(best.scored.get(select)):
            best = run
    return best


def compare_groups(left: Group, right: Group, confidence: float, shift: float = 0.0) -> Effect:
    """Return left minus right, tested over seeds.

    Two encoders that are only scored have no seeds. Their test is over test items, if their runs kept the items.
    """
    over_seeds = compare_seeds(left.side, right.side, confidence, shift)
    if not (left.only_scored and right.only_scored and left.metric and right.metric):
        return over_seeds
    if not left.aggregate == right.aggregate == "mean":
        return over_seeds
    ours, theirs = {run.folder: left.metric for run in left.runs}, {run.folder: right.metric for run in right.runs}
    over_items = compare_items(ours, theirs, confidence, shift)
    if not over_items.is_tested:
        return over_seeds._replace(why=over_items.why)
    return over_items._replace(size=over_seeds.size)


def seed_spread(groups: Iterable[Group]) -> SeedSpread | None:
    """Return the variation over seeds: the pooled standard deviation of the groups with several seeds.

    Return None if no group has several seeds.
    """
    several = [group.values for group in groups if len(group.values) > 1]
    each = [pooled_sd([values]) for values in several]
    return SeedSpread(pooled_sd(several), min(map(len, several)), each) if several else None


def few_seeds(sides: Sequence[Group]) -> str:
    """Return why there is no verdict: a trained side has fewer than MIN_SEEDS seeds; "" if all have enough seeds."""
    num_seeds = [len(group.values) for group in sides if not group.only_scored]
    if not num_seeds or min(num_seeds) >= MIN_SEEDS:
        return ""
    instead = "; test items say nothing about seeds that were not trained" if len(num_seeds) < len(sides) else ""
    return f"too few seeds ({' and '.join(map(str, num_seeds))}): each trained setting needs {MIN_SEEDS}{instead}"
