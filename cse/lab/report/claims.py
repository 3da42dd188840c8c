"""What our runs say of a paper's claims (cse.lab.report.spec.Claim): from scores to one word, in one table, claims.csv.

A claim is judged only on its own score, by runs in the paper's setting with at least three seeds on each trained side:
by Welch's test, chosen beforehand. Against an encoder that is only scored, and so has no seeds, the test is a
one-sample t test. Two such encoders are compared by a paired bootstrap over items. `alike` is two one-sided tests
against `within`, `more` with a margin the lower of the two, and both need their control. Everything else is NOT JUDGED,
with the reason.

A claim with several parts (every row) holds if every part does: its p is the largest of theirs. It is contradicted by
its worst part, whose p is multiplied by their number. Each part has a verdict of its own: HOLDS if the claim does, else
by Holm's p within the claim times the number of claims. p is two-sided, except where `alike` holds; Holm's correction
is over all judged claims of the table at once. HOLDS and CONTRADICTED need p below 1 - confidence; NOT SEEN means that
the runs cannot tell. "HOLDS (1 of 3 parts)": the other two could not be judged. The printed numbers are held to the
same claim, by their means alone. A claim that compares no cells of a table is of a figure, and read BY EYE.

To read: `judge_claims` judges them all; a claim's parts (`claim_parts`) are tested once each (`test_part`), and one of
them decides (`decide`). `claims_section` is the table of it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from cse.errors import UserError
from cse.lab.folder.score_tables import ALTERED, IS_ALTERED
from cse.lab.report.groups import Group, Groups, compare, few_seeds, first_few, other_setting
from cse.lab.report.published import Published
from cse.lab.report.signs import (
    BY_EYE,
    CONTRADICTED,
    HOLDS,
    NOT_JUDGED,
    NOT_RUN,
    NOT_SEEN,
    bounds,
    probability,
    signed,
)
from cse.lab.report.spec import Claim, Place, Spec, names_in
from cse.lab.report.statistics import Effect, holm, likeness
from cse.lab.sections import Section

ORDER = (BY_EYE, NOT_JUDGED, NOT_RUN, NOT_SEEN, HOLDS, CONTRADICTED)  # as the headline counts


@dataclass
class JudgedClaim:
    """A line of claims.csv: a claim and what the runs say of it.

    effect: positive if as claimed; of likeness, the difference. p: by Holm; p_raw: before. part: the one that decided.
    published_effect: the printed one that supports the claim least; published_supports: None for none, or a tie.
    """

    claim: str
    source: str
    verdict: str = BY_EYE
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    n: str = ""
    test: str = ""
    p: float = math.nan
    p_raw: float = math.nan
    part: str = ""
    parts_measured: int = 0
    parts: int = 0
    missing: str = ""
    published_effect: float | None = None
    published_supports: bool | None = None
    why_not_judged: str = ""
    by_part: str = ""
    quantity: str = ""
    data: str = ""


class ClaimPart(NamedTuple):
    """One comparison. sides: the groups of both cells; lacks: the cells without scores; printed: the paper's left minus
    right; found: ours (p NaN: no test, as its `why` says)."""

    name: str
    sides: tuple[Group, Group]
    lacks: tuple[str, ...] = ()
    printed: float | None = None
    found: Effect = Effect()


def judge_claims(spec: Spec, printed: Published | None, groups: Groups, confidence: float) -> list[JudgedClaim]:
    """What the runs say of each claim. printed: None, and groups empty, if the report has figures only."""
    level = 1 - confidence
    parts = {
        claim.says: [test_part(claim, part, spec, confidence) for part in claim_parts(claim, spec, printed, groups)]
        for claim in spec.claims
        if printed is not None and claim.places
    }
    found = {claim.says: decide(claim, parts.get(claim.says, [])) for claim in spec.claims}
    judged = [claim for claim in spec.claims if claim.says in parts]
    for claim, p in zip(judged, holm([found[claim.says].p_raw for claim in judged]), strict=True):
        found[claim.says].p = p
        found[claim.says].verdict = word(claim, found[claim.says].effect, p, level)
    holding = {says for says, finding in found.items() if finding.verdict == HOLDS}
    number = sum(not math.isnan(finding.p) for finding in found.values())
    for claim in judged:
        finding, of = found[claim.says], parts[claim.says]
        if claim.control and claim.control not in holding and not math.isnan(finding.p):
            finding.p = math.nan
            finding.verdict = NOT_JUDGED
            finding.why_not_judged = f"its positive control was not seen to hold: {claim.control}"
        finding.by_part = "; ".join(words_of_parts(claim, of, finding.verdict, number, level))
        if 0 < finding.parts_measured < len(of):
            finding.verdict += f" ({finding.parts_measured} of {len(of)} parts)"
    return list(found.values())


def word(claim: Claim, effect: float | None, p: float, level: float) -> str:
    """The verdict, by the corrected p."""
    if effect is None or math.isnan(p):
        return NOT_RUN if effect is None else NOT_JUDGED
    if p >= level:
        return NOT_SEEN
    return HOLDS if claim.is_borne_out(effect) else CONTRADICTED


def words_of_parts(claim: Claim, parts: Sequence[ClaimPart], verdict: str, claims: int, level: float) -> list[str]:
    """The own verdict of each of several parts: as claimed if the claim holds, else by Holm's p within the claim, times
    the claims."""
    if len(parts) < 2:
        return []
    ran = [part for part in parts if part.found.effect is not None]
    times = {HOLDS: 0, NOT_JUDGED: math.nan}.get(verdict, claims)
    p_values = np.minimum(1, times * np.array(holm([part.found.p for part in ran])))
    return [f"{part.name}: {word(claim, part.found.effect, p, level)}" for part, p in zip(ran, p_values, strict=True)]


def decide(claim: Claim, parts: Sequence[ClaimPart]) -> JudgedClaim:
    """A claim's finding before any correction, by one of its parts: the surest one against the claim, with Bonferroni's
    p, or else the least sure one."""
    finding = JudgedClaim(claim.says, claim.source, quantity=claim.quantity)
    if not parts:
        return finding
    ran = [part for part in parts if part.found.effect is not None]
    judged = [part for part in ran if not part.found.why]
    against = [part for part in judged if not claim.is_borne_out(part.found.effect or 0.0)]
    if against:
        one = min(against, key=lambda part: part.found.p)
    else:
        one = max(judged, key=lambda part: part.found.p, default=(ran or parts)[0])
    finding.effect, finding.low, finding.high = one.found.effect, one.found.low, one.found.high
    finding.n, finding.test = one.found.n, one.found.test
    finding.p_raw = min(1.0, one.found.p * len(judged)) if against else one.found.p
    finding.part = one.name if ran and len(parts) > 1 else ""
    finding.parts_measured, finding.parts = len(judged or ran), len(parts)
    finding.missing = "; ".join(dict.fromkeys(lack for part in parts for lack in part.lacks))
    finding.why_not_judged = "; ".join(dict.fromkeys(part.found.why for part in ran if part.found.why))
    if not claim.quantity:
        finding.quantity = first_few(
            list(dict.fromkeys(side.metric for part in parts for side in part.sides if side.metric))
        )
    if ran:
        altered = any(side.altered for part in ran for side in part.sides)
        finding.data = "partial" if altered else "whole"
    differences = [part.printed for part in parts if part.printed is not None]
    if differences:
        least = max(differences, key=abs) if claim.alike is not None else min(differences)
        finding.published_effect = least
        is_tie = claim.alike is None and abs(least) < 1e-9
        finding.published_supports = None if is_tie else claim.is_borne_out(least)
    return finding


def claim_parts(claim: Claim, spec: Spec, table: Published | None, groups: Groups) -> list[ClaimPart]:
    """A claim's parts, not yet tested: the cells of both places in pairs. A single cell is compared with each of the
    other side's."""
    assert table is not None
    assert claim.places is not None
    lefts, rights = (cells_at(place, spec) for place in claim.places)
    most = max(len(lefts), len(rights))
    if {len(lefts), len(rights)} - {1, most}:
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    parts = []
    for left, right in zip(lefts * (most // len(lefts)), rights * (most // len(rights)), strict=True):
        ours, theirs = table.cells[left.row][left.column], table.cells[right.row][right.column]
        sides = groups[left.row, left.column], groups[right.row, right.column]
        lacks = [
            f"{cell.row} with {cell.column}" for cell, side in zip((left, right), sides, strict=True) if not side.values
        ]
        printed = ours.mean - theirs.mean if ours and theirs else None
        parts.append(ClaimPart(left.name or right.name, sides, tuple(lacks), printed))
    return parts


class CellAt(NamedTuple):
    """A cell that a claim speaks of. name: what tells it from the others of its place; "" if it is alone."""

    row: str
    column: str
    name: str


def cells_at(place: Place, spec: Spec) -> list[CellAt]:
    """The cells of a place, row by row."""
    rows = names_in(place, "row") or list(spec.rows)
    columns = names_in(place, "column") or list(spec.columns)
    cells = []
    for row in rows:
        for column in columns:
            words = [row] if len(rows) > 1 else []
            words += [column] if len(columns) > 1 else []
            cells.append(CellAt(row, column, ", ".join(words)))
    return cells


def test_part(claim: Claim, part: ClaimPart, spec: Spec, confidence: float) -> ClaimPart:
    """The part with its effect and p (NaN, with a reason, if it is no test)."""
    if part.lacks:
        return part
    found = test_difference(claim, part.sides, confidence)
    why = why_not(claim, part.sides, spec) or found.why
    return part._replace(found=found._replace(p=math.nan, why=why) if why else found)


def test_difference(claim: Claim, sides: tuple[Group, Group], confidence: float) -> Effect:
    """Left minus right.

    `alike` is two one-sided tests (Schuirmann): above -within and below within; what contradicts it is tested against
    the nearer bound, two-sided. `more` with a margin is tested against -within, two-sided.
    """
    found = compare(*sides, confidence)
    if not claim.within:
        return found
    shifted = partial(compare, *sides, confidence)
    assert found.effect is not None
    if claim.alike is None:
        return found._replace(p=shifted(-claim.within).p)
    if claim.is_borne_out(found.effect):
        return found._replace(p=likeness(shifted, claim.within))
    return found._replace(p=shifted(math.copysign(claim.within, found.effect)).p)


def why_not(claim: Claim, sides: tuple[Group, Group], spec: Spec) -> str:
    """Why these runs are no test of a claim; "" where they are one."""
    if claim.quantity:
        instead = sides[0].metric or sides[1].metric or "ours"
        return f"the paper measured {claim.quantity}, and {instead} is another score"
    if claim.within and not claim.control:
        return "the claim names no positive control: without one, runs may be alike because they learnt nothing"
    if others := other_setting([run for side in sides for run in side.runs], spec):
        return f"another setting than the paper's: {first_few(others)}"
    return few_seeds(sides)


def claims_frame(found: Iterable[JudgedClaim]) -> pd.DataFrame:
    """claims.csv."""
    columns = [field.name for field in fields(JudgedClaim)]
    return pd.DataFrame([asdict(finding) for finding in found], columns=columns, dtype=object)


def headline(found: Sequence[JudgedClaim]) -> str:
    """How many claims have each verdict, and what the mark of altered data means."""
    counts = Counter(finding.verdict.partition(" (")[0] for finding in found)
    parts = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in counts]
    said = f"{len(found)} claims: {', '.join(parts)}."
    return f"{said} {IS_ALTERED}" if any(finding.data == "partial" for finding in found) else said


def claim_lines(found: Iterable[JudgedClaim]) -> list[dict[str, str]]:
    """A line for each claim, as text; "" for what is not known."""
    return [
        {
            "claim": one.claim,
            "source": one.source,
            "verdict": one.verdict,
            "printed": signed(one.published_effect, 2),
            "printed so": printed_so(one),
            "ours": our_difference(one),
            "interval": bounds(one.low, one.high, 2),
            "p": probability(one.p),
            "n": f"{one.n}, {one.parts_measured} parts" if one.parts_measured > 1 else one.n,
            "test": one.test,
            "missing": one.missing,
            "not judged": one.why_not_judged,
            "by part": one.by_part,
            "quantity": one.quantity,
        }
        for one in found
    ]


def printed_so(finding: JudgedClaim) -> str:
    """Whether the printed numbers are as claimed."""
    if finding.published_effect is None:
        return ""
    return {True: "yes", False: "NO", None: "a tie"}[finding.published_supports]


def our_difference(finding: JudgedClaim) -> str:
    """Our effect, with the part that decided, marked if it rests on altered data."""
    words = [signed(finding.effect, 2)]
    words += [f"({finding.part})"] if finding.part else []
    words += [ALTERED] if finding.data == "partial" else []
    return " ".join(words)


def claims_section(found: Sequence[JudgedClaim]) -> Section:
    """The claims as a table of text, without empty columns."""
    table = pd.DataFrame(claim_lines(found))
    return Section("What the paper claims", table.loc[:, (table != "").any()], [headline(found)])
