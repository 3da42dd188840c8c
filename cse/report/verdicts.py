"""What our runs say of a paper's claims (cse.report.claims): from scores to one word, in one table, claims.csv.

A claim's places become parts, each with the runs of its left and its right side (`parts_of`). A part is tested once,
by its form (`tested`); a trend is tested as a whole (`trend`). The claim's own difference and p are those of the part
that decides (`difference`). `judge_claims` corrects p by Holm over all claims and gives each its word:

    HOLDS, CONTRADICTED     it is as claimed, or the other way round, and p shows it
    NOT SEEN                the runs cannot tell
    NOT JUDGED              the runs are no test of it, for a reason (`why_not`), or its control does not hold
    NOT RUN                 a side has no run
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pandas as pd

from cse.errors import UserError
from cse.record.runs import Run, Where, grouped, plain
from cse.report.cells import Cell, compare, few_seeds, finished_runs, listed, other_setting, value_of
from cse.report.claims import Claim, Place, names
from cse.report.spec import Spec, quantity
from cse.report.statistics import Effect, Points, holm, rank_correlation
from cse.report.table import NOT_RUN, Table

HOLDS, NOT_SEEN, CONTRADICTED, NOT_JUDGED = "HOLDS", "NOT SEEN", "CONTRADICTED", "NOT JUDGED"

COLUMNS = (
    "claim", "source", "verdict", "effect", "low", "high", "n", "test", "p", "part", "parts_measured", "parts",
    "missing", "published_effect", "published_supports", "why_not_judged", "by_part", "quantity", "data",
)  # fmt: skip
"""Of claims.csv. effect: positive if it is as claimed; of likeness, the difference itself. part: the one that decided.
published_effect: the printed difference that supports the claim least; published_supports: None for none, or a tie."""


@dataclass(frozen=True)
class Part:
    """One comparison. left, right: the runs; lacks: what a side without scores needs; found: left minus right; why: the
    reason why it is no test."""

    name: str
    left: Cell
    right: Cell
    lacks: tuple[str, str]
    found: Effect = field(default_factory=Effect)
    why: str = ""


@dataclass(frozen=True)
class Tested:
    """A claim's test before any correction. found: its effect and p (NaN: not judged); part: the part that decides."""

    claim: Claim
    printed: float | None
    found: Effect = field(default_factory=Effect)
    part: str = ""
    parts: tuple[Part, ...] = ()
    counted: tuple[int, int] = (0, 0)
    missing: str = ""
    why: str = ""
    altered: bool = False


def judge_claims(spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> pd.DataFrame:
    """A row for each claim. table: None if the report has figures only."""
    tests = [(trend if one.is_trend else difference)(one, spec, table, runs, confidence) for one in spec.claims]
    p_values = holm([test.found.p for test in tests])
    claims, level = sum(not math.isnan(p) for p in p_values), 1 - confidence
    words = [word(test.claim, test.found, p, test.why, level) for test, p in zip(tests, p_values, strict=True)]
    held = {test.claim.says for test, verdict in zip(tests, words, strict=True) if verdict == HOLDS}
    rows = []
    for test, p, verdict in zip(tests, p_values, words, strict=True):
        control, why = test.claim.control, test.why
        if control and control not in held and verdict not in (NOT_RUN, NOT_JUDGED):
            verdict, p, why = NOT_JUDGED, math.nan, f"its positive control was not seen to hold: {control}"
        own = words_of_parts(test, verdict, claims, level)
        by_part = "; ".join(f"{part.name}: {told}" for part, told in zip(test.parts, own, strict=True))
        rows.append(row(test, verdict, p, why, by_part) | {"quantity": quantity(test.claim, spec)})
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def word(claim: Claim, found: Effect, p: float, why: str, level: float) -> str:
    """The verdict, by the corrected p."""
    if found.size is None:
        return NOT_RUN
    if why and math.isnan(p):
        return NOT_JUDGED
    if p >= level:
        return NOT_SEEN
    return HOLDS if claim.is_borne_out(found.size) else CONTRADICTED


def words_of_parts(test: Tested, verdict: str, claims: int, level: float) -> list[str]:
    """Each part's own verdict: as claimed if the claim holds, else by Holm's p within the claim, times the claims."""
    corrected = [0.0 if verdict == HOLDS else min(1.0, p * claims) for p in holm([one.found.p for one in test.parts])]
    return [
        NOT_JUDGED if verdict == NOT_JUDGED or part.why else word(test.claim, part.found, p, part.why, level)
        for part, p in zip(test.parts, corrected, strict=True)
    ]


def row(test: Tested, verdict: str, p: float, why: str, by_part: str) -> dict[str, object]:
    """A claim's line of claims.csv."""
    claim, found, printed = test.claim, test.found, test.printed
    measured, parts = test.counted
    is_tie = printed is not None and claim.form in ("more", "less") and abs(printed) < 1e-9
    return {
        "claim": claim.says,
        "source": claim.source,
        "verdict": f"{verdict} ({measured} of {parts} parts)" if 0 < measured < parts else verdict,
        "effect": found.size,
        **dict(zip(("low", "high"), found.interval or (None, None), strict=True)),
        "n": found.n,
        "test": found.test,
        "p": p,
        "part": test.part,
        "parts_measured": measured,
        "parts": parts,
        "missing": test.missing,
        "published_effect": printed,
        "published_supports": None if printed is None or is_tie else claim.is_borne_out(printed),
        "why_not_judged": why,
        "by_part": by_part,
        "data": "" if found.size is None else "partial" if test.altered else "whole",
    }


def difference(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Tested:
    """A comparison of two places: by the surest part against the claim, with Bonferroni's p, or else by the least sure
    part."""
    every = _of_runs(claim, spec, runs) if "where" in claim.left else _of_table(claim, spec, table)
    ran = [part for part in every if part.left.values and part.right.values]
    sides = [(side, lack) for one in every for side, lack in zip((one.left, one.right), one.lacks, strict=True)]
    missing = "; ".join(dict.fromkeys(lack for side, lack in sides if not side.values))
    test = Tested(claim, printed_difference(claim, every), counted=(len(ran), len(every)), missing=missing)
    if not ran:
        return test
    parts = [tested(part, claim, spec, confidence) for part in ran]
    judged = [part for part in parts if not part.why]
    if against := [part for part in judged if not claim.is_borne_out(part.found.size or 0.0)]:
        part = min(against, key=lambda part: part.found.p)
        found = replace(part.found, p=min(1.0, part.found.p * len(judged)))
    else:
        part = max(judged, key=lambda part: part.found.p) if judged else parts[0]
        found = part.found
    return replace(
        test,
        found=found,
        part=part.name if len(every) > 1 else "",
        parts=tuple(parts) if len(every) > 1 else (),
        counted=(len(judged or ran), len(every)),
        why="; ".join(dict.fromkeys(part.why for part in parts if part.why)),
        altered=any(side.altered for part in ran for side in (part.left, part.right)),
    )


def tested(part: Part, claim: Claim, spec: Spec, confidence: float) -> Part:
    """The part with its difference and p (NaN, with a reason, if it is no test).

    `alike` is two one-sided tests (Schuirmann): above -within and below within; what contradicts it is tested against
    the nearer bound, two-sided. `more` with a margin is tested against -within, two-sided.
    """
    left, right = (part.right, part.left) if claim.form == "less" else (part.left, part.right)
    found = compare(left, right, confidence)
    assert found.size is not None
    if claim.form == "alike":
        above, below = (compare(left, right, confidence, shift).p for shift in (-claim.within, claim.within))
        is_alike = claim.is_borne_out(found.size)
        found = replace(found, p=max(above, below) / 2 if is_alike else below if found.size > 0 else above)
    elif claim.within:
        found = replace(found, p=compare(left, right, confidence, -claim.within).p)
    why = why_not(claim, [left, right], spec)
    if not why and math.isnan(found.p):
        why = found.test if found.test.startswith("none: ") else "encoders that are only scored need their test items"
    return replace(part, found=replace(found, p=math.nan) if why else found, why=why)


def why_not(claim: Claim, sides: Sequence[Cell], spec: Spec) -> str:
    """Why these runs are no test of a claim; "" where they are one."""
    if claim.quantity:
        instead = next((str(cell.metric) for cell in sides if cell.metric), "ours")
        return f"the paper measured {claim.quantity}, and {instead} is another score"
    if claim.within and not claim.control:
        return "the claim names no positive control: without one, runs may be alike because they learnt nothing"
    if others := other_setting([run for cell in sides for run in cell.runs], spec):
        return f"another setting than the paper's: {listed(others)}"
    return few_seeds(sides)


def trend(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Tested:
    """A rank correlation of runs' scores with a config key, or of a table's column with another."""
    sign = 1 if claim.form == "rises" else -1
    points, pairs, cells = _points(claim, spec, table, runs)
    printed = sign * (rank_correlation([pairs], confidence).size or 0.0) if len(pairs) > 2 else None
    altered = any(cell.altered for cell in cells)
    every = [point for of in points for point in of]
    if len(every) < 3 or len({x for x, _ in every}) < 2:
        lacks = "three points, at two values or more"
        return Tested(claim, printed, counted=(0, 1), missing=lacks, altered=altered)
    found = rank_correlation([[(sign * x, y) for x, y in of] for of in points], confidence)
    why = why_not(claim, cells, spec) or found.test * math.isnan(found.p)
    if not why and found.least >= 1 - confidence:
        why = f"its points can reach no p below {found.least:.2g}"
    found = replace(found, p=math.nan) if why else found
    return Tested(claim, printed, found, counted=(1, 1), why=why, altered=altered)


def _points(
    claim: Claim, spec: Spec, table: Table | None, runs: list[Run]
) -> tuple[list[Points], list[tuple[float, float]], list[Cell]]:
    """(x, y) of a trend's runs, by seed, or of its rows; of the printed numbers ([] if x is a config key); and the
    cells whose seeds count."""
    if isinstance(claim.right, str):
        key, metric = claim.right, claim.left["metric"]
        finished = [run for run in finished_runs(claim.left["where"], spec, runs) if metric in run.metrics]
        cell = Cell(row="", column="", metric=metric)
        cell.fill(
            grouped([run for run in finished if isinstance(plain(run.get(key)), float)], spec.seed),
            lambda of: of[0].metrics[metric],
        )
        return [[(plain(run.get(key)), run.metrics[metric]) for run in of] for of in cell.seeds.values()], [], [cell]
    ys, xs = ([cell for cell, *_ in _cells_at(place, spec, table)] for place in claim.places)
    ours = [(x.ours.mean, y.ours.mean) for x, y in zip(xs, ys, strict=True) if x.ours and y.ours]
    printed = [(x.published.mean, y.published.mean) for x, y in zip(xs, ys, strict=True) if x.published and y.published]
    return [ours] if ours else [], printed, [cell for cell in (*xs, *ys) if cell.values]


def printed_difference(claim: Claim, parts: list[Part]) -> float | None:
    """The printed difference that supports the claim least, among its parts; None if the paper prints none."""
    sign = -1 if claim.form == "less" else 1
    both = [(part.left.published, part.right.published) for part in parts]
    printed = [sign * (a.mean - b.mean) for a, b in both if a and b]
    return max(printed, key=abs, default=None) if claim.form == "alike" else min(printed, default=None)


def _of_table(claim: Claim, spec: Spec, table: Table | None) -> list[Part]:
    """The cells of both places, in pairs; a single cell is compared with each of the other side's."""
    lefts, rights = (_cells_at(place, spec, table) for place in claim.places)
    if len(lefts) == 1:
        lefts *= len(rights)
    if len(rights) == 1:
        rights *= len(lefts)
    if len(lefts) != len(rights):
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    return [
        Part(name or other, left, right, (lack, lacks))
        for (left, name, lack), (right, other, lacks) in zip(lefts, rights, strict=True)
    ]


def _cells_at(place: Place, spec: Spec, table: Table | None) -> list[tuple[Cell, str, str]]:
    """(cell, its name among the place's, what it needs if it has no scores) for each row and column of a place."""
    assert table is not None
    rows = names(place.get("row")) or list(spec.rows)
    columns = names(place.get("column")) or list(spec.columns)
    found = []
    for row in rows:
        ran = any(cell.values for cell in table.cells[row].values())
        for column in columns:
            cell = table.cells[row][column]
            name = ", ".join(name for name, of in ((row, rows), (column, columns)) if len(of) > 1)
            found.append((cell, name, f"{row} with {column}" if ran or cell.unscored else row))
    return found


def _of_runs(claim: Claim, spec: Spec, runs: list[Run]) -> list[Part]:
    """The runs of both places; with `at`, those at each value of this key that either place has."""
    if not claim.at:
        return [_matched("", claim, {}, spec, runs)]
    finished = [run for place in claim.places for run in finished_runs(place["where"], spec, runs)]
    values = sorted({value for run in finished if isinstance(value := plain(run.get(claim.at)), float)})
    parts = [(f"{claim.at}={value:g}", {claim.at: value}) for value in values] or [("", {})]
    return [_matched(name, claim, at, spec, runs) for name, at in parts]


def _matched(name: str, claim: Claim, at: Where, spec: Spec, runs: list[Run]) -> Part:
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
    cells, lacks = [], []
    for where, metric, of, found in zip(wheres, metrics, finished, scored, strict=True):
        cell = Cell(row="", column="", metric=metric)
        alike = [run for run in found if not all(scored) or setting(run) in both]
        cell.fill(grouped(alike, spec.seed), partial(value_of, metric=metric, aggregate="mean", spec=spec))
        cells.append(cell)
        lack = ", ".join(f"{key}={' or '.join(names(value)) or value}" for key, value in where.items())
        lacks.append(lack + (f" with the same {', '.join(axes)}" if apart else f" with {metric}" if of else ""))
    return Part(name, cells[0], cells[1], (lacks[0], lacks[1]))
