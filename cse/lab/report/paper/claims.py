"""What our runs say of a paper's claims (`Claim`): from scores to one word. Each rule stands at its function.

To read: `judge_claims`. A claim has parts (`parts_of_claim`), each a comparison of two cells that is tested once
(`tested_effect`). One part decides (`Evidence.deciding`). A p has three stages:

- of a part: `Effect.p`;
- of a claim: `Evidence.p_of_claim`, the p of the part that decides;
- `JudgedClaim.p_holm`: the p of a claim, corrected over all claims. The verdict is by this p (`verdict_of`).

At the end, the claims whose control does not hold are withdrawn. cse.lab.report.paper.claims_table shows the claims.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from cse.errors import UserError
from cse.lab.report.formats import first_few
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds
from cse.lab.report.numbers.statistics import Effect, holm, likeness
from cse.lab.report.paper.departures import departures_in
from cse.lab.report.paper.published import PublishedTable
from cse.lab.report.paper.spec import Claim, Spec, TablePlace, names_in
from cse.lab.report.paper.sweep_runs import SweepRuns
from cse.lab.report.verdicts import CONTRADICTED, HOLDS, INCONCLUSIVE, NOT_RUN, NOT_TESTED, SEE_FIGURE


class ClaimPart(NamedTuple):
    """One comparison of a claim.

    sides: the groups of both cells.
    lacks: the cells without scores.
    published: the paper's left minus right.
    effect: ours; its p is NaN if it is no test, and its `why` says so.
    """

    name: str
    sides: tuple[Group, Group]
    lacks: Sequence[str] = ()
    published: float | None = None
    effect: Effect = Effect()


@dataclass(frozen=True)
class Evidence:
    """A claim with its parts, each tested once. A claim about a figure has no parts."""

    claim: Claim
    parts: Sequence[ClaimPart] = ()

    @property
    def measured(self) -> list[ClaimPart]:
        """The parts whose cells have scores."""
        return [part for part in self.parts if part.effect.size is not None]

    @property
    def judged(self) -> list[ClaimPart]:
        """The parts that are a test of the claim."""
        return [part for part in self.measured if not part.effect.why]

    @property
    def against(self) -> list[ClaimPart]:
        """The parts that speak against the claim."""
        return [part for part in self.judged if not self.claim.is_borne_out(part.effect.size or 0.0)]

    @property
    def deciding(self) -> ClaimPart | None:
        """The part that decides; None of a claim about a figure.

        A claim with several parts holds if every part does, so the least sure one decides. It is contradicted by its
        worst part: the surest one against the claim. Without a test, the first part stands for the claim.
        """
        if self.against:
            return min(self.against, key=lambda part: part.effect.p)
        if self.judged:
            return max(self.judged, key=lambda part: part.effect.p)
        return next(iter(self.measured or self.parts), None)

    @property
    def parts_measured(self) -> int:
        """How many parts a verdict rests on."""
        return len(self.judged or self.measured)

    @property
    def effect(self) -> Effect:
        """The effect of the deciding part: positive if as claimed; of likeness, the difference."""
        return self.deciding.effect if self.deciding else Effect()

    @property
    def p_of_claim(self) -> float:
        """The p of the deciding part; NaN without a test. Against the claim it is multiplied by the number of parts
        (Bonferroni), as each part is a chance to contradict."""
        if not self.judged:
            return math.nan
        return min(1.0, self.effect.p * len(self.judged)) if self.against else self.effect.p

    @property
    def published(self) -> float | None:
        """The published difference that supports the claim least; None if the paper prints none."""
        differences = [part.published for part in self.parts if part.published is not None]
        if not differences:
            return None
        return max(differences, key=abs) if self.claim.alike is not None else min(differences)

    @property
    def published_supports(self) -> bool | None:
        """Whether the published numbers are as claimed, by their means alone; None without any, and for a tie."""
        difference = self.published
        if difference is None or (self.claim.alike is None and abs(difference) < 1e-9):
            return None
        return self.claim.is_borne_out(difference)

    @property
    def modified(self) -> bool:
        """Whether a measured part rests on modified data."""
        return any(side.modified for part in self.measured for side in part.sides)


@dataclass(frozen=True)
class JudgedClaim:
    """A claim and what the runs say of it.

    verdict: one word of cse.lab.report.verdicts.
    p_holm: the p of the claim, corrected over all claims; NaN if it is not judged.
    verdicts_of_parts: of each measured part, if the claim has several parts.
    why_not_tested: of the claim, or of some of its parts.
    """

    evidence: Evidence
    verdict: str
    p_holm: float = math.nan
    verdicts_of_parts: Sequence[str] = ()
    why_not_tested: str = ""

    @property
    def claim(self) -> Claim:
        """What the paper says."""
        return self.evidence.claim

    @property
    def effect(self) -> Effect:
        """Ours, of the part that decides."""
        return self.evidence.effect

    @property
    def verdict_with_parts(self) -> str:
        """The verdict, and how many of the parts it rests on if it does not rest on all: HOLDS (1 of 3 parts)."""
        number, parts = self.evidence.parts_measured, len(self.evidence.parts)
        return f"{self.verdict} ({number} of {parts} parts)" if 0 < number < parts else self.verdict


def judge_claims(sweep: SweepRuns) -> list[JudgedClaim]:
    """What the sweep's runs say of each claim. Holm's correction is over all judged claims of the table at once."""
    evidences = [Evidence(claim, parts_of_claim(claim, sweep)) for claim in sweep.spec.claims]
    p_holm = holm([evidence.p_of_claim for evidence in evidences])
    tests = sum(not math.isnan(p) for p in p_holm)
    claims = [
        judged_claim(evidence, p, tests=tests, level=1 - sweep.confidence)
        for evidence, p in zip(evidences, p_holm, strict=True)
    ]
    holding = {judged.claim.says for judged in claims if judged.verdict == HOLDS}
    return [withdrawn_without_control(judged, holding) for judged in claims]


def judged_claim(evidence: Evidence, p_holm: float, *, tests: int, level: float) -> JudgedClaim:
    """The claim with its verdict. A claim that compares no cells of a table is about a figure: SEE FIGURE.

    tests: the number of claims that are tested.
    """
    if not evidence.parts:
        return JudgedClaim(evidence, SEE_FIGURE)
    verdict = verdict_of(evidence.claim, evidence.effect, p_holm, level)
    reasons = [part.effect.why for part in evidence.measured if part.effect.why]
    return JudgedClaim(
        evidence,
        verdict,
        p_holm,
        verdicts_of_parts(evidence, verdict, tests, level),
        why_not_tested="; ".join(dict.fromkeys(reasons)),
    )


def verdict_of(claim: Claim, effect: Effect, p: float, level: float) -> str:
    """The verdict, by the corrected p. INCONCLUSIVE means that the runs cannot tell."""
    if effect.size is None:
        return NOT_RUN
    if math.isnan(p):
        return NOT_TESTED
    if p >= level:
        return INCONCLUSIVE
    return HOLDS if claim.is_borne_out(effect.size) else CONTRADICTED


def verdicts_of_parts(evidence: Evidence, verdict: str, tests: int, level: float) -> list[str]:
    """The own verdict of each measured part; [] of a single part.

    Each part HOLDS if the claim does. Else its p is corrected by Holm within the claim, times the tests of all claims.
    """
    if len(evidence.parts) < 2:
        return []
    verdicts = []
    p_within_claim = holm([part.effect.p for part in evidence.measured])
    for part, p in zip(evidence.measured, p_within_claim, strict=True):
        if math.isnan(p) or verdict == NOT_TESTED:
            verdicts.append(NOT_TESTED)
        elif verdict == HOLDS:
            verdicts.append(HOLDS)
        else:
            verdicts.append(verdict_of(evidence.claim, part.effect, min(1.0, tests * p), level))
    return verdicts


def withdrawn_without_control(judged: JudgedClaim, holding: set[str]) -> JudgedClaim:
    """The claim, NOT TESTED if its control does not hold: runs that learned nothing are alike too.

    holding: what the claims say that hold.
    """
    control = judged.claim.control
    if not control or control in holding or math.isnan(judged.p_holm):
        return judged
    return replace(
        judged,
        verdict=NOT_TESTED,
        p_holm=math.nan,
        verdicts_of_parts=[NOT_TESTED for _ in judged.verdicts_of_parts],
        why_not_tested=f"its positive control was not seen to hold: {control}",
    )


class CellAt(NamedTuple):
    """A cell that a claim speaks of. name: its row or column, where the place has several; "" if it is alone."""

    row: str
    column: str
    name: str


def parts_of_claim(claim: Claim, sweep: SweepRuns) -> list[ClaimPart]:
    """The comparisons of a claim, each tested; [] of a claim about a figure."""
    table = sweep.published
    if table is None or claim.places is None:
        return []
    lefts, rights = (cells_at(place, sweep.spec) for place in claim.places)
    pairs = pairs_of_cells(lefts, rights, claim.says)
    return [part_of_claim(claim, left, right, sweep, table) for left, right in pairs]


def cells_at(place: TablePlace, spec: Spec) -> list[CellAt]:
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


def pairs_of_cells(lefts: list[CellAt], rights: list[CellAt], says: str) -> list[tuple[CellAt, CellAt]]:
    """The cells of both places in pairs. A single cell is compared with each cell of the other side.

    says: what the claim says. Raises UserError if the places have other numbers of cells.
    """
    most = max(len(lefts), len(rights))
    if {len(lefts), len(rights)} - {1, most}:
        raise UserError(f"claim {says!r} compares {len(lefts)} numbers with {len(rights)}")
    return list(zip(lefts * (most // len(lefts)), rights * (most // len(rights)), strict=True))


def part_of_claim(claim: Claim, left: CellAt, right: CellAt, sweep: SweepRuns, table: PublishedTable) -> ClaimPart:
    """One comparison of a claim, tested if both cells have scores."""
    ours, theirs = table.cells[left.row][left.column], table.cells[right.row][right.column]
    sides = sweep.groups[left.row, left.column], sweep.groups[right.row, right.column]
    both = zip((left, right), sides, strict=True)
    lacks = [f"{cell.row} with {cell.column}" for cell, side in both if not side.values]
    return ClaimPart(
        left.name or right.name,
        sides,
        lacks,
        published=ours.mean - theirs.mean if ours and theirs else None,
        effect=Effect() if lacks else tested_effect(claim, sides, sweep),
    )


def tested_effect(claim: Claim, sides: tuple[Group, Group], sweep: SweepRuns) -> Effect:
    """Left minus right with its p; NaN, with a reason, if it is no test."""
    effect = effect_between(claim, sides, sweep.confidence)
    why = why_not(claim, sides, sweep.spec) or effect.why
    return effect._replace(p=math.nan, why=why) if why else effect


def effect_between(claim: Claim, sides: tuple[Group, Group], confidence: float) -> Effect:
    """Left minus right, by `compare_groups`.

    `alike` is two one-sided tests (Schuirmann): above -within and below within; what contradicts it is tested against
    the nearer bound, two-sided. `more` with a margin is tested against -within, two-sided.
    """
    effect = compare_groups(*sides, confidence)
    if not claim.within:
        return effect
    shifted = partial(compare_groups, *sides, confidence)
    assert effect.size is not None
    if claim.alike is None:
        return effect._replace(p=shifted(-claim.within).p)
    if claim.is_borne_out(effect.size):
        return effect._replace(p=likeness(shifted, claim.within))
    return effect._replace(p=shifted(math.copysign(claim.within, effect.size)).p)


def why_not(claim: Claim, sides: tuple[Group, Group], spec: Spec) -> str:
    """Why these runs are no test of a claim; "" where they are one.

    A claim is judged only on its own score, by runs in the paper's setting with enough seeds on each trained side. A
    claim with a margin needs a control.
    """
    if claim.quantity:
        instead = sides[0].metric or sides[1].metric or "ours"
        return f"the paper measured {claim.quantity}, and {instead} is another score"
    if claim.within and not claim.control:
        return "the claim names no positive control: without one, runs may be alike because they learnt nothing"
    departures = departures_in([run for side in sides for run in side.runs], spec.held_fixed)
    if departures:
        return f"another setting than the paper's: {first_few(departures)}"
    return few_seeds(sides)
