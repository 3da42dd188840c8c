"""Two numbers of ours, and what tells them apart: seeds, and the test items that their runs kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cse.record.runs import Run, grouped, plain
from cse.report import resampling, statistics
from cse.report.cells import Cell
from cse.report.resampling import Resampled
from cse.report.spec import Metric


@dataclass(frozen=True)
class Side:
    """One number: ours by seed (empty: not known), and as printed (None: it is not).

    source: the row or the settings of its runs; unscored: what these did not measure, "" where there are no such runs.

    runs, metric: of each seed, what its number is the mean of; {} where it is another statistic of them.
    """

    label: str
    ours: dict[str, float]
    printed: float | None = None
    runs: dict[str, list[Run]] = field(default_factory=dict)
    metric: Metric | None = None
    source: str = ""
    unscored: str = ""


def of_cell(cell: Cell, label: str, seed: str) -> Side:
    """A table's cell. seed: the config key that tells its repetitions apart."""
    groups = grouped(cell.runs, seed)
    if len(groups) != len(cell.values):  # a survey's, where a seed may have several runs: each is a value
        groups = {str(run.folder): [run] for run in cell.runs}
    return Side(
        label,
        dict(zip(groups, cell.values, strict=True)),
        cell.published.mean if cell.published else None,
        groups if cell.aggregate == "mean" else {},
        cell.metric,
    )


def like_with_like(left: list[Run], right: list[Run], axes: Sequence[str]) -> tuple[list[Run], list[Run]]:
    """The runs of the settings that both sides have, so that what was tried on one side alone does not speak for it.

    axes: the config keys in which runs may differ without being told apart by the claim.
    """
    both = {_setting(run, axes) for run in left} & {_setting(run, axes) for run in right}
    left, right = ([run for run in runs if _setting(run, axes) in both] for runs in (left, right))
    return left, right


def _setting(run: Run, axes: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(plain(run.get(axis))) for axis in axes)


def compare_sides(left: Side, right: Side, confidence: float, shift: float = 0.0) -> statistics.Comparison:
    """Left minus right over seeds and, where the runs kept them, over test items; p is the larger of the two."""
    over_seeds = statistics.compare_seeds(left.ours, right.ours, confidence, shift)
    over_items = _item_difference(left, right)
    if over_items is None:
        return over_seeds
    items, p = f"{over_items.items:,} items", over_items.p(shift)
    untested = math.isnan(over_seeds.p)
    return replace(
        over_seeds,
        over_items=over_items.interval(confidence),
        test=f"bootstrap over {items}" if untested else f"{over_seeds.test}; bootstrap over {items}",
        p=p if untested else max(p, over_seeds.p),
    )


def _item_difference(left: Side, right: Side) -> Resampled | None:
    """Of the seeds that both sides have, if these are two or more, else of all; None where items were not kept."""
    shared = {seed for seed in left.ours if seed in right.ours}
    chosen = shared if len(shared) > 1 else {*left.ours, *right.ours}
    a, b = (
        resampling.of_seeds([group for seed, group in side.runs.items() if seed in chosen], side.metric)
        for side in (left, right)
    )
    return a - b if a is not None and b is not None else None
