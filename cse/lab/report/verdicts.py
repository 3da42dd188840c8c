"""What our runs say of a paper's claims (cse.lab.report.claims): from scores to one word, in one table, claims.csv.

A claim has parts, each with the runs of its two sides, or of its trend (`parts_of`). Each part is tested once
(`tested`), and one of them decides (`decided`). `judge_claims` corrects p by Holm over all claims, and gives each claim
one word of markup.py, by its difference, p and control (`word`): NOT JUDGED where the runs are no test of it
(`why_not`), or where its control does not hold.
"""

import math
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cse.errors import UserError
from cse.lab.folder.runs import Run, Where, grouped, plain
from cse.lab.report.claims import Claim, Place, names
from cse.lab.report.group import (
    Group,
    Groups,
    compare,
    few_seeds,
    finished_runs,
    group_of,
    listed,
    once_each,
    other_setting,
)
from cse.lab.report.markup import CONTRADICTED, HOLDS, NOT_JUDGED, NOT_RUN, NOT_SEEN
from cse.lab.report.published import Published
from cse.lab.report.spec import Spec
from cse.lab.report.statistics import Effect, holm, likeness, rank_correlation

COLUMNS = (
    "claim", "source", "verdict", "effect", "low", "high", "n", "test", "p", "p_raw", "part", "parts_measured", "parts",
    "missing", "published_effect", "published_supports", "why_not_judged", "by_part", "quantity", "data",
)  # fmt: skip
"""Of claims.csv. effect: positive if as claimed; of likeness, the difference. p: by Holm; p_raw: before. part: it
decided. published_effect: the printed one that supports a claim least; published_supports: None for none, or a tie."""


class Part(NamedTuple):
    """One comparison, or one trend. sides: the runs of its left and right, or of the trend; lacks: what a side without
    scores needs; printed: the paper's left minus right; partly: what a side with scores lacks; found: ours (p NaN: no
    test, as its `why` says)."""

    name: str
    sides: tuple[Group, ...]
    lacks: tuple[str, ...] = ()
    printed: float | None = None
    partly: tuple[str, ...] = ()
    found: Effect = Effect()


def judge_claims(
    spec: Spec, printed: Published | None, groups: Groups, runs: list[Run], confidence: float
) -> pd.DataFrame:
    """A row for each claim. printed: None, and groups empty, if the report has figures only."""
    level = 1 - confidence
    parts = [
        [tested(one, of, spec, confidence) for of in parts_of(one, spec, printed, groups, runs)] for one in spec.claims
    ]
    lines = [decided(one, of) for one, of in zip(spec.claims, parts, strict=True)]
    corrected = holm([line["p"] for line in lines])
    judged = sum(not math.isnan(p) for p in corrected)
    alone = {
        claim.says: word(claim, line["effect"], p, level)
        for claim, line, p in zip(spec.claims, lines, corrected, strict=True)
    }
    rows = []
    for claim, of, line, p in zip(spec.claims, parts, lines, corrected, strict=True):
        why = line["why_not_judged"]
        if claim.control and alone[claim.control] != HOLDS and not math.isnan(p):
            p, why = math.nan, f"its positive control was not seen to hold: {claim.control}"
        verdict = word(claim, line["effect"], p, level)
        some = f" ({line['parts_measured']} of {len(of)} parts)" if 0 < line["parts_measured"] < len(of) else ""
        line |= {"p_raw": line["p"], "by_part": "; ".join(words_of_parts(claim, of, verdict, judged, level))}
        rows.append(line | {"p": p, "verdict": verdict + some, "why_not_judged": why})
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def word(claim: Claim, effect: float | None, p: float, level: float) -> str:
    """The verdict, by the corrected p."""
    if effect is None or math.isnan(p):
        return NOT_RUN if effect is None else NOT_JUDGED
    if p >= level:
        return NOT_SEEN
    return HOLDS if claim.is_borne_out(effect) else CONTRADICTED


def words_of_parts(claim: Claim, parts: Sequence[Part], verdict: str, claims: int, level: float) -> list[str]:
    """The own verdict of each of several parts: as claimed if the claim holds, else by Holm's p within the claim, times
    the claims."""
    ran = [part for part in parts if part.found.effect is not None]
    times = {HOLDS: 0, NOT_JUDGED: math.nan}.get(verdict, claims)
    p_values = np.minimum(1, times * np.array(holm([part.found.p for part in ran])))
    told = [f"{of.name}: {word(claim, of.found.effect, p, level)}" for of, p in zip(ran, p_values, strict=True)]
    return told if len(parts) > 1 else []


def decided(claim: Claim, parts: Sequence[Part]) -> dict[str, Any]:
    """A claim's line of claims.csv before any correction, by one of its parts: the surest one against the claim, with
    Bonferroni's p, or else the least sure one."""
    ran = [part for part in parts if part.found.effect is not None]
    judged = [part for part in ran if not part.found.why]
    against = [part for part in judged if not claim.is_borne_out(part.found.effect or 0.0)]
    if against:
        one = min(against, key=lambda part: part.found.p)
    else:
        one = max(judged, key=lambda part: part.found.p, default=(ran or parts)[0])
    differences = [part.printed for part in parts if part.printed is not None]  # the one that supports it least decides
    printed = max(differences, key=abs, default=None) if claim.form == "alike" else min(differences, default=None)
    is_tie = printed is not None and claim.form == "more" and abs(printed) < 1e-9
    altered = any(side.altered for part in ran for side in part.sides)
    scores = dict.fromkeys(side.metric for part in parts for side in part.sides if side.metric)
    return {
        "claim": claim.says,
        "source": claim.source,
        **one.found._asdict(),
        "p": min(1.0, one.found.p * len(judged)) if against else one.found.p,
        "part": one.name if ran and len(parts) > 1 else "",
        "parts_measured": len(judged or ran),
        "parts": len(parts),
        "missing": "; ".join(dict.fromkeys(lack for part in parts for lack in part.lacks + part.partly)),
        "published_effect": printed,
        "published_supports": None if printed is None or is_tie else claim.is_borne_out(printed),
        "why_not_judged": "; ".join(dict.fromkeys(part.found.why for part in ran if part.found.why)),
        "quantity": claim.quantity or listed(list(scores)),
        "data": "" if not ran else "partial" if altered else "whole",
    }


def tested(claim: Claim, part: Part, spec: Spec, confidence: float) -> Part:
    """The part with its effect and p (NaN, with a reason, if it is no test)."""
    if part.lacks or not all(side.values for side in part.sides):
        return part
    if claim.along:
        found = trend(part.sides[0].runs, claim, spec.seed, confidence)
    else:
        found = difference(part.sides, claim, confidence)
    why = why_not(claim, part.sides, spec) or found.why
    return part._replace(found=found._replace(p=math.nan, why=why) if why else found)


def difference(sides: Sequence[Group], claim: Claim, confidence: float) -> Effect:
    """Left minus right.

    `alike` is two one-sided tests (Schuirmann): above -within and below within; what contradicts it is tested against
    the nearer bound, two-sided. `more` with a margin is tested against -within, two-sided.
    """
    left, right = sides
    found = compare(left, right, confidence)
    if not claim.within:
        return found
    shifted = partial(compare, left, right, confidence)
    assert found.effect is not None
    if claim.form == "more":
        return found._replace(p=shifted(-claim.within).p)
    if claim.is_borne_out(found.effect):
        return found._replace(p=likeness(shifted, claim.within))
    return found._replace(p=shifted(math.copysign(claim.within, found.effect)).p)


def trend(runs: list[Run], claim: Claim, seed: str, confidence: float) -> Effect:
    """The rank correlation of runs' scores with a config key, within each seed and each of the place's values, such as
    encoders; of `falls`, turned. seed: the key of seeds."""
    sign = 1 if claim.form == "rises" else -1
    metric, lines = claim.left["metric"], _lines(claim.left["where"])
    series = [[run for run in of if run.matches(line)] for of in grouped(runs, seed).values() for line in lines]
    points = [
        [(sign * plain(run.get(claim.along)), run.metrics[metric]) for run in once_each(of, seed)]
        for of in series
        if of
    ]
    return rank_correlation(points, confidence)


def why_not(claim: Claim, sides: Sequence[Group], spec: Spec) -> str:
    """Why these runs are no test of a claim; "" where they are one."""
    if claim.quantity:
        instead = next((side.metric for side in sides if side.metric), "ours")
        return f"the paper measured {claim.quantity}, and {instead} is another score"
    if claim.within and not claim.control:
        return "the claim names no positive control: without one, runs may be alike because they learnt nothing"
    if others := other_setting([run for side in sides for run in side.runs], spec):
        return f"another setting than the paper's: {listed(others)}"
    return few_seeds(sides)


def parts_of(claim: Claim, spec: Spec, printed: Published | None, groups: Groups, runs: list[Run]) -> list[Part]:
    """A claim's parts, not yet tested: of the table, of runs at each value of the claim's `at`, or its trend."""
    if claim.along:
        return [_trend(claim, spec, runs)]
    if printed is not None and "where" not in claim.left:
        return _of_table(claim, spec, printed, groups)
    finished = [run for place in claim.places for run in finished_runs(place["where"], spec, runs) if claim.at]
    values = sorted({value for run in finished if isinstance(value := plain(run.get(claim.at or "")), float)})
    places = [(f"{claim.at}={value:g}", {claim.at or "": value}) for value in values] or [("", {})]
    return [_matched(name, claim, at, spec, runs) for name, at in places]


def _trend(claim: Claim, spec: Spec, runs: list[Run]) -> Part:
    """The runs of a trend that have a number on both axes, where all that its place lists were run."""
    where, metric = claim.left["where"], claim.left["metric"]
    ran = _ran(where, metric, spec, runs)
    ran["x"] = pd.Series([plain(run.get(claim.along)) for run in ran["run"]], dtype=object)
    ran = ran.loc[[isinstance(x, float) for x in ran["x"]]]
    points = [f"{claim.along}={x:g} of {seed}" for x, seed in zip(ran["x"], ran["unit"], strict=True)]
    whole, partly = _whole(where, ran, ran.assign(unit=points))
    few = len(whole) < 3 or whole["x"].nunique() < 2
    lacks = ("three points, at two values or more",) if few else ()
    return Part("", (group_of(list(whole["run"]), metric, spec.seed),), lacks, partly=partly)


def _of_table(claim: Claim, spec: Spec, table: Published, groups: Groups) -> list[Part]:
    """The cells of both places, in pairs; a single cell is compared with each of the other side's."""
    lefts, rights = (_cells_at(place, spec) for place in claim.places)
    most = max(len(lefts), len(rights))
    if {len(lefts), len(rights)} - {1, most}:
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    parts = []
    for left, right in zip(lefts * (most // len(lefts)), rights * (most // len(rights)), strict=True):
        cells = left[1], right[1]
        ours, theirs = (table.cells[row][column] for row, column in cells)
        parts.append(
            Part(
                left[0] or right[0],
                tuple(groups[cell] for cell in cells),
                tuple(" with ".join(cell) for cell in cells if not groups[cell].values),
                ours.mean - theirs.mean if ours and theirs else None,
            )
        )
    return parts


def _cells_at(place: Place, spec: Spec) -> list[tuple[str, tuple[str, str]]]:
    """(name among the place's cells, its row and column) for each row and column of a place."""
    rows, columns = names(place.get("row")) or list(spec.rows), names(place.get("column")) or list(spec.columns)
    return [
        (", ".join(name for name, of in ((row, rows), (column, columns)) if len(of) > 1), (row, column))
        for row in rows
        for column in columns
    ]


def _matched(name: str, claim: Claim, at: Where, spec: Spec, runs: list[Run]) -> Part:
    """The runs of both places in the settings that both were run with: the values of the sweep's axes that the claim
    does not name and, of lists of one length, the same place in the list. What was tried on one side alone does not
    count for it, nor a seed that lacks what its side's others were run with."""
    wheres = [{**place["where"], **at} for place in claim.places]
    metrics = [place["metric"] for place in claim.places]
    axes = [axis for axis in spec.axes if axis not in {*wheres[0], *wheres[1]}]
    left, right = (_ran(where, metric, spec, runs, axes) for where, metric in zip(wheres, metrics, strict=True))
    setting = "cell" if len(_lines(wheres[0])) == len(_lines(wheres[1])) else "axes"
    sides, lacks = [], []
    partly: list[str] = []
    for where, metric, ran, other in zip(wheres, metrics, (left, right), (right, left), strict=True):
        shared = ran[ran[setting].isin(other[setting])] if len(other) else ran
        whole, lacking = _whole(where, ran, shared)
        sides.append(group_of(list(whole["run"]), metric, spec.seed))
        partly += lacking
        if shared.empty:
            unscored = f" with {metric}" if finished_runs(where, spec, runs) else ""
            lacks.append(_said(where) + (f" with the same {', '.join(axes)}" if len(ran) else unscored))
    return Part(name, tuple(sides), tuple(lacks), partly=tuple(partly))


def _ran(where: Where, metric: str, spec: Spec, runs: list[Run], axes: Sequence[str] = ()) -> pd.DataFrame:
    """A row for each finished run of a place that has its metric: its seed (unit), its values of the axes, and these
    with the one that it has of the place's values (cell)."""
    scored = [run for run in finished_runs(where, spec, runs) if metric in run.metrics]
    seeds = [f"{spec.seed}={run.get(spec.seed)}" for run in scored]
    values = [tuple(str(plain(run.get(axis))) for axis in axes) for run in scored]
    lines = [next(line for line, of in enumerate(_lines(where)) if run.matches(of)) for run in scored]
    cells = list(zip(lines, values, strict=True))
    return pd.DataFrame({"run": scored, "unit": seeds, "axes": values, "cell": cells}, dtype=object)


def _lines(where: Where) -> list[Where]:
    """A place's values, each of a list by itself."""
    lists = [value if isinstance(value, list) else [value] for value in where.values()]
    return [dict(zip(where, values, strict=True)) for values in product(*lists)]


def _whole(where: Where, ran: pd.DataFrame, shared: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Of the shared runs, those of the units, such as seeds, that were run in every cell that one was; and what a place
    that has runs lacks: values that it lists, and the rest of the other units."""
    cells = shared.groupby("unit", sort=False)["cell"].nunique()
    partial = list(cells.index[cells < shared["cell"].nunique()])
    unrun = [_said(line) for line in _lines(where) if len(ran) and not any(run.matches(line) for run in ran["run"])]
    rest = [f"{_said(where)}: the rest of {listed(partial)}"] if partial else []
    return shared[~shared["unit"].isin(partial)], (*unrun, *rest)


def _said(where: Where) -> str:
    """A place's values in words."""
    return ", ".join(f"{key}={' or '.join(names(value)) or value}" for key, value in where.items())
