"""The two sides of a claim: the cells of the table, or the runs, that each of its parts compares."""

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
    """One side of one part of a claim. part: the part's name; source: the row, or the settings, of its runs and, if
    there are such runs, the score."""

    cell: Cell
    part: str
    source: str


Pairs = list[tuple[Side, Side]]


def pairs_of(claim: Claim, spec: Spec, table: Table | None, runs: list[Run]) -> Pairs:
    """Both sides of each part of a claim that compares two places."""
    return _of_runs(claim, spec, runs) if "where" in claim.left else _of_table(claim, spec, table)


def missing(pairs: Pairs) -> str:
    """The rows or settings that have no finished run, or whose runs lack the score."""
    return "; ".join(dict.fromkeys(side.source for pair in pairs for side in pair if not side.cell.values))


def printed_difference(claim: Claim, pairs: Pairs) -> float | None:
    """The printed difference that supports the claim least, among its parts; None if the paper prints none."""
    sign = -1 if claim.form == "less" else 1
    both = [(left.cell.published, right.cell.published) for left, right in pairs]
    printed = [sign * (a.mean - b.mean) for a, b in both if a and b]
    return max(printed, key=abs, default=None) if claim.form == "alike" else min(printed, default=None)


def _of_table(claim: Claim, spec: Spec, table: Table | None) -> Pairs:
    """The cells of both places, in pairs; a single cell is compared with each of the other side's."""
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
    """The runs of both places; with `at`, those at each value of this key that either place has."""
    if not claim.at:
        return [_matched("", claim, {}, spec, runs)]
    finished = [run for place in claim.places for run in finished_runs(place["where"], spec, runs)]
    values = sorted({value for run in finished if isinstance(value := plain(run.get(claim.at)), float)})
    parts = [(f"{claim.at}={value:g}", {claim.at: value}) for value in values] or [("", {})]
    return [_matched(part, claim, at, spec, runs) for part, at in parts]


def _matched(part: str, claim: Claim, at: Where, spec: Spec, runs: list[Run]) -> tuple[Side, Side]:
    """The runs of both places in the settings that both were run with: the values of the sweep's axes that the claim
    does not name. What was tried on one side alone does not count for it."""
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
