"""The two sides of a claim: which cells of the table, or which runs, each of its parts compares."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from cse.errors import UserError
from cse.record.runs import Run, Where, grouped, plain
from cse.report.cells import Cell, finished_runs, scores
from cse.report.claims import Claim, Place, names
from cse.report.spec import Spec
from cse.report.table import Table


@dataclass(frozen=True)
class Side:
    """One side of one part. part: its name among the parts; source: the row, or the settings, of its runs, and the
    score that is missing where there are such runs."""

    cell: Cell
    part: str
    source: str


Pairs = list[tuple[Side, Side]]


def pairs_of(claim: Claim, spec: Spec, table: Table | None, runs: list[Run]) -> Pairs:
    """Both sides of each part of a claim that compares two places."""
    return _of_runs(claim, spec, runs) if "where" in claim.left else _of_table(claim, spec, table)


def missing(pairs: Pairs) -> str:
    """The rows or settings without a finished run, or whose runs lack the score."""
    return "; ".join(dict.fromkeys(side.source for pair in pairs for side in pair if not side.cell.values))


def printed_difference(claim: Claim, pairs: Pairs) -> float | None:
    """Of the parts, the printed difference that speaks least for the claim."""
    sign = -1 if claim.form == "less" else 1
    both = [(left.cell.published, right.cell.published) for left, right in pairs]
    printed = [sign * (a.mean - b.mean) for a, b in both if a and b]
    return max(printed, key=abs, default=None) if claim.form == "alike" else min(printed, default=None)


def _of_table(claim: Claim, spec: Spec, table: Table | None) -> Pairs:
    """The cells of both places. One side of one number is compared with each of the other's."""
    lefts, rights = (sides_of(place, spec, table) for place in claim.places)
    if len(lefts) == 1:
        lefts *= len(rights)
    if len(rights) == 1:
        rights *= len(lefts)
    if len(lefts) != len(rights):
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    return list(zip(lefts, rights, strict=True))


def sides_of(place: Place, spec: Spec, table: Table | None) -> list[Side]:
    """A side for each row and column of a place."""
    assert table is not None
    rows = names(place.get("row")) or list(spec.rows)
    columns = names(place.get("column")) or list(spec.columns)
    sides = []
    for row in rows:
        ran = any(cell.values for cell in table.cells[row].values())
        for column in columns:
            cell = table.cells[row][column]
            part = ", ".join(name for name, of in ((row, rows), (column, columns)) if len(of) > 1)
            sides.append(Side(cell, part, f"{row} with {column}" if ran or cell.unscored else row))
    return sides


def _of_runs(claim: Claim, spec: Spec, runs: list[Run]) -> Pairs:
    """Both places, or both at each value of the key `at` that either has."""
    if not claim.at:
        return [_matched("", claim, {}, spec, runs)]
    finished = [run for place in claim.places for run in finished_runs(place["where"], spec, runs)]
    values = sorted({value for run in finished if isinstance(value := plain(run.get(claim.at)), float)})
    parts = [(f"{claim.at}={value:g}", {claim.at: value}) for value in values] or [("", {})]
    return [_matched(part, claim, at, spec, runs) for part, at in parts]


def _matched(part: str, claim: Claim, at: Where, spec: Spec, runs: list[Run]) -> tuple[Side, Side]:
    """Both places over the settings that both were run with, so that what was tried on one side alone does not speak
    for it: the values of the sweep's axes that the claim does not name."""
    wheres = [{**place["where"], **at} for place in claim.places]
    metrics = [place["metric"] for place in claim.places]
    axes = [axis for axis in spec.axes if axis not in {*wheres[0], *wheres[1]}]

    def setting(run: Run) -> tuple[str, ...]:
        return tuple(str(plain(run.get(axis))) for axis in axes)

    finished = [finished_runs(where, spec, runs) for where in wheres]
    scored = [[run for run in of if metric in run.metrics] for metric, of in zip(metrics, finished, strict=True)]
    both = set.intersection(*({setting(run) for run in of} for of in scored))
    apart = all(scored) and not both
    sides = []
    for where, metric, of, found in zip(wheres, metrics, finished, scored, strict=True):
        cell = Cell(row="", column="", metric=metric)
        alike = [run for run in found if not all(scored) or setting(run) in both]
        cell.fill(grouped(alike, spec.seed), partial(_mean_score, metric=metric))
        source = ", ".join(f"{key}={' or '.join(names(value)) or value}" for key, value in where.items())
        source += f" with the same {', '.join(axes)}" if apart else f" with {metric}" if of else ""
        sides.append(Side(cell, part, source))
    return sides[0], sides[1]


def _mean_score(runs: list[Run], metric: str) -> float:
    return float(np.mean(scores(runs, metric)))
