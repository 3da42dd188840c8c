"""What our runs say of a paper's claims: effect, interval, test, and a verdict after Holm's correction."""

import math
from dataclasses import dataclass, replace

import numpy as np

from cse.errors import UserError
from cse.record.runs import Run, Where, grouped, plain
from cse.report.cells import finished_runs, scores
from cse.report.claims import Claim, Place, names
from cse.report.sides import Comparison, Side, compare_sides, holm, like_with_like, of_cell, rank_correlation
from cse.report.spec import Spec
from cse.report.statistics import Interval
from cse.report.table import Table

HOLDS, NOT_SEEN, CONTRADICTED, NOT_RUN = "HOLDS", "NOT SEEN", "CONTRADICTED", "NOT RUN"
MANY = 4  # more than so many rows or scores that are missing are only counted


@dataclass(frozen=True)
class Test:
    """One part of a comparison, tested: its name, whether it points as claimed, and the comparison."""

    part: str
    as_claimed: bool
    comparison: Comparison


@dataclass(frozen=True)
class Finding:
    """What our runs say of a claim. effect: positive where it points as claimed; of `alike` the difference itself.

    parts: how many of its parts were measured, and of how many; part: the one that decided; missing: what the others
    lack. supported: whether the printed numbers say what the claim says, None where they do not speak of it.
    """

    claim: Claim
    verdict: str
    effect: float | None = None
    interval: Interval | None = None
    over_items: Interval | None = None
    n: str = ""
    test: str = ""
    p: float = math.nan
    part: str = ""
    parts: tuple[int, int] = (0, 0)
    missing: str = ""
    printed: float | None = None
    supported: bool | None = None


def judged(claims: list[Claim], spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> list[Finding]:
    """Every claim's finding, p corrected over all of them. table: None where the sweep draws figures only."""
    raw = [(_trend if claim.is_trend else _difference)(claim, spec, table, runs, confidence) for claim in claims]
    return [
        finding
        if finding.effect is None
        else replace(finding, p=p, verdict=finding.verdict if p < 1 - confidence else NOT_SEEN)
        for finding, p in zip(raw, holm([finding.p for finding in raw]), strict=True)
    ]


def _difference(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A comparison of two places, part by part. Its verdict is still the direction alone."""
    pairs = _pairs(claim, spec, table, runs)
    printed = _printed(claim, pairs)
    tests = [_test(claim, a, b, confidence) for a, b in pairs if a.ours and b.ours]
    finding = Finding(
        claim,
        NOT_RUN,
        parts=(len(tests), len(pairs)),
        missing=_missing(pairs),
        printed=printed,
        supported=None if printed is None else _is_as_claimed(claim, printed),
    )
    if not tests:
        return finding
    decisive = _decisive(tests)
    part = decisive.part if len(pairs) > 1 else ""
    verdict = HOLDS if decisive.as_claimed else CONTRADICTED
    return replace(finding, verdict=verdict, part=part, **vars(decisive.comparison))


def _missing(pairs: list[tuple[Side, Side]]) -> str:
    """The rows or settings without a finished run, and the scores that the runs there are lack."""
    sides = [side for pair in pairs for side in pair if not side.ours]
    lacking = {
        "runs of": list(dict.fromkeys(side.source for side in sides if not side.unscored)),
        "scores:": list(dict.fromkeys(side.unscored for side in sides if side.unscored)),
    }
    return "; ".join(
        f"{what} {', '.join(which[:MANY])}" + (f", {len(which) - MANY} more" if len(which) > MANY else "")
        for what, which in lacking.items()
        if which
    )


def _printed(claim: Claim, pairs: list[tuple[Side, Side]]) -> float | None:
    """The printed difference that speaks least for the claim; None where the paper prints none."""
    sign = -1 if claim.form == "less" else 1
    printed = [sign * (a.printed - b.printed) for a, b in pairs if a.printed is not None and b.printed is not None]
    return max(printed, key=abs, default=None) if claim.form == "alike" else min(printed, default=None)


def _is_as_claimed(claim: Claim, difference: float) -> bool:
    return abs(difference) <= claim.within if claim.form == "alike" else difference > 1e-9


def _decisive(tests: list[Test]) -> Test:
    """The test that decides: of parts against the claim the surest (Bonferroni), else the least sure."""

    def p(test: Test) -> float:
        return 1.0 if math.isnan(test.comparison.p) else test.comparison.p

    against = [test for test in tests if not test.as_claimed]
    if not against:
        return max(tests, key=p)
    surest = min(against, key=p)
    of_all = float(np.minimum(1.0, surest.comparison.p * len(tests)))  # NaN stays
    return replace(surest, comparison=replace(surest.comparison, p=of_all))


def _test(claim: Claim, left: Side, right: Side, confidence: float) -> Test:
    """One part's comparison; of `alike` by two one-sided tests (Schuirmann): above -within, and below within."""
    part = left.label or right.label
    if claim.form == "less":
        left, right = right, left
    comparison = compare_sides(left, right, confidence)
    if claim.form != "alike":
        return Test(part, comparison.effect > 0, comparison)
    above, below = (compare_sides(left, right, confidence, shift).p / 2 for shift in (-claim.within, claim.within))
    is_alike = abs(comparison.effect) <= claim.within
    p = max(above, below) if is_alike else below if comparison.effect > 0 else above
    return Test(part, is_alike, replace(comparison, p=p))


def _pairs(claim: Claim, spec: Spec, table: Table | None, runs: list[Run]) -> list[tuple[Side, Side]]:
    """The parts of a comparison. One side of one number is compared with each of the other's."""
    if "where" in claim.left:
        return _of_runs(claim, spec, runs)
    lefts, rights = (_sides(place, spec, table) for place in claim.places)
    if len(lefts) == 1:
        lefts *= len(rights)
    if len(rights) == 1:
        rights *= len(lefts)
    if len(lefts) != len(rights):
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    return list(zip(lefts, rights, strict=True))


def _sides(place: Place, spec: Spec, table: Table | None) -> list[Side]:
    assert table is not None
    rows = names(place.get("row")) or list(spec.rows)
    columns = names(place.get("column")) or list(spec.columns)
    sides = []
    for row in rows:
        for column in columns:
            label = ", ".join(name for name, of in ((row, rows), (column, columns)) if len(of) > 1)
            cells, own = table.cells[row], column in spec.columns
            source = f"{row} with {column}" if own and spec.columns[column].where else row
            ran = cells[column].unscored > 0 if own else any(cell.runs for cell in cells.values())
            side = of_cell(cells[column], label, spec.seed)
            sides.append(replace(side, source=source, unscored=column if ran else ""))
    return sides


def _of_runs(claim: Claim, spec: Spec, runs: list[Run]) -> list[tuple[Side, Side]]:
    """Both places, or both at each value of the key `at` that either has."""
    if not claim.at:
        return [_matched("", claim, {}, spec, runs)]
    finished = [run for place in claim.places for run in finished_runs(place["where"], spec, runs)]
    values = sorted({value for run in finished if isinstance(value := plain(run.get(claim.at)), float)})
    parts = [(f"{claim.at}={value:g}", {claim.at: value}) for value in values] or [("", {})]
    return [_matched(label, claim, at, spec, runs) for label, at in parts]


def _matched(label: str, claim: Claim, at: Where, spec: Spec, runs: list[Run]) -> tuple[Side, Side]:
    """Both places over the settings that both were run with: the sweep's axes that the claim does not name."""
    wheres = [{**place["where"], **at} for place in claim.places]
    axes = [axis for axis in spec.axes if axis not in {*wheres[0], *wheres[1]}]
    metrics = [place["metric"] for place in claim.places]
    finished = [finished_runs(where, spec, runs) for where in wheres]
    scored = [[run for run in of if metric in run.metrics] for metric, of in zip(metrics, finished, strict=True)]
    same = ""
    if all(scored):
        scored = list(like_with_like(scored[0], scored[1], axes))
        same = "" if all(scored) else f" with the same {', '.join(axes)}"
    left, right = (
        _side(label, where, metric, spec, ours, unscored=metric if of and not same else "", same=same)
        for where, metric, ours, of in zip(wheres, metrics, scored, finished, strict=True)
    )
    return left, right


def _side(label: str, where: Where, metric: str, spec: Spec, scored: list[Run], *, unscored: str, same: str) -> Side:
    """The mean score of each seed's runs. same: what the other side has to share, where it does not."""
    groups = grouped(scored, spec.seed)
    ours = {seed: float(np.mean(scores(group, metric))) for seed, group in groups.items()}
    source = ", ".join(f"{key}={' or '.join(names(value)) or value}" for key, value in where.items())
    return Side(label, ours, runs=groups, metric=metric, source=source + same, unscored=unscored)


def _trend(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A rank correlation, of runs with a config key or of a table's rows with another column."""
    sign = 1 if claim.form == "rises" else -1
    points, pairs = _points(claim, spec, table, runs)
    printed = sign * rank_correlation(pairs, confidence).effect if len(pairs) > 2 else None
    finding = Finding(claim, NOT_RUN, parts=(0, 1), printed=printed, supported=None if printed is None else printed > 0)
    if len(points) < 3 or len({x for x, _ in points}) < 2:
        return replace(finding, missing="three points, at two values or more")
    correlation = rank_correlation(points, confidence)
    interval = correlation.interval
    return replace(
        finding,
        verdict=HOLDS if sign * correlation.effect > 0 else CONTRADICTED,
        parts=(1, 1),
        **vars(correlation)
        | {
            "effect": sign * correlation.effect,
            "interval": (-interval[1], -interval[0]) if interval and sign < 0 else interval,
        },
    )


Points = list[tuple[float, float]]


def _points(claim: Claim, spec: Spec, table: Table | None, runs: list[Run]) -> tuple[Points, Points]:
    """(x, y) of a trend's runs or rows, and of the printed numbers ([] where x is a config key)."""
    if isinstance(claim.right, str):
        finished = finished_runs(claim.left["where"], spec, runs)
        values = [(plain(run.get(claim.right)), run.metrics.get(claim.left["metric"])) for run in finished]
        return [(x, y) for x, y in values if isinstance(x, float) and y is not None], []
    assert table is not None
    ys, xs = (_sides(place, spec, table) for place in claim.places)
    sides = list(zip(xs, ys, strict=True))
    ours = [(_mean(x), _mean(y)) for x, y in sides if x.ours and y.ours]
    return ours, [(x.printed, y.printed) for x, y in sides if x.printed is not None and y.printed is not None]


def _mean(side: Side) -> float:
    return float(np.mean(list(side.ours.values())))
