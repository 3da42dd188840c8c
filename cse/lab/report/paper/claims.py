"""A verdict on each claim of a paper, from our runs.

Start at `judge_claims`. It has four steps. Each of the first three steps has its own p.

1. A claim has parts. A part compares two cells (`parts_of_claim`). A test of our runs gives the p of a part.
2. One part decides the claim (`TestedClaim.deciding`). The p of this part gives `p_of_claim`.
3. Holm's correction over all claims of the table gives `p_holm`, which decides the verdict (`verdict_of`).
4. The control of a claim is another claim. If the control does not hold, the verdict becomes NOT TESTED.

cse.lab.report.paper.claims_table shows the claims.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from cse.lab.report.formats import first_few
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds
from cse.lab.report.numbers.statistics import Effect, holm, tost_p
from cse.lab.report.paper.departures import departures_in
from cse.lab.report.paper.report_block import CellPlace, Claim, ReportBlock
from cse.lab.report.paper.sweep_runs import SweepRuns
from cse.lab.report.verdicts import CONTRADICTED, HOLDS, INCONCLUSIVE, NOT_RUN, NOT_TESTED, SEE_FIGURE


class ClaimPart(NamedTuple):
    """A comparison of two cells.

    name: the row or column that distinguishes this part from other parts; "" for a single part.
    sides: the groups of both cells.
    lacks: "ROW with COLUMN" of each cell without scores.
    published: the difference of the published numbers; None if the paper does not publish both numbers.
    effect: the difference of our numbers. If our runs do not test the claim, p is NaN, and `why` has the reason.
    """

    name: str
    sides: tuple[Group, Group]
    lacks: Sequence[str] = ()
    published: float | None = None
    effect: Effect = Effect()


@dataclass(frozen=True)
class TestedClaim:
    """A claim with its parts, after the test of each part. A claim about a figure has no parts."""

    claim: Claim
    parts: Sequence[ClaimPart] = ()

    @property
    def measured(self) -> list[ClaimPart]:
        """The parts whose cells have scores."""
        return [part for part in self.parts if part.effect.size is not None]

    @property
    def tested(self) -> list[ClaimPart]:
        """The parts that are a test of the claim."""
        return [part for part in self.measured if part.effect.is_tested]

    @property
    def against(self) -> list[ClaimPart]:
        """The tested parts whose measured difference does not agree with the claim."""
        return [part for part in self.tested if not self.claim.is_borne_out(part.effect.size or 0.0)]

    @property
    def deciding(self) -> ClaimPart | None:
        """The part that decides the claim; None for a claim about a figure.

        A claim with several parts holds if every part holds. So the part with the weakest evidence decides. If parts
        contradict the claim, the part with the strongest evidence against the claim decides. Without a test, the first
        part decides.
        """
        if self.against:
            return min(self.against, key=lambda part: part.effect.p)
        if self.tested:
            return max(self.tested, key=lambda part: part.effect.p)
        return next(iter(self.measured or self.parts), None)

    @property
    def effect(self) -> Effect:
        """The effect of the deciding part; positive in the direction of the claim, if the claim is not `alike`."""
        return self.deciding.effect if self.deciding else Effect()

    @property
    def p_of_claim(self) -> float:
        """The p of the deciding part; NaN without a test.

        The p of a contradiction is multiplied by the number of tested parts (Bonferroni), because each part could
        contradict the claim by chance.
        """
        if not self.tested:
            return math.nan
        return min(1.0, self.effect.p * len(self.tested)) if self.against else self.effect.p

    @property
    def parts_measured(self) -> int:
        """The number of parts behind the verdict."""
        return len(self.tested or self.measured)

    @property
    def published(self) -> float | None:
        """The published difference that supports the claim least; None if the paper publishes none."""
        differences = [part.published for part in self.parts if part.published is not None]
        if not differences:
            return None
        return max(differences, key=abs) if self.claim.alike is not None else min(differences)

    @property
    def published_supports(self) -> bool | None:
        """Whether the published difference supports the claim; None without published numbers.

        Equal numbers support a claim with a margin. For a claim without a margin, equal numbers are a tie: None.
        """
        difference = self.published
        has_margin = self.claim.alike is not None or self.claim.within > 0
        if difference is None or (not has_margin and abs(difference) < 1e-9):
            return None
        return self.claim.is_borne_out(difference)

    @property
    def modified(self) -> bool:
        """Whether a measured part uses scores on modified data."""
        return any(side.modified for part in self.measured for side in part.sides)


@dataclass(frozen=True)
class JudgedClaim(TestedClaim):
    """A tested claim with its verdict.

    p_holm: the p of the claim, Holm-corrected over all claims; NaN if the claim is not tested.
    verdicts_of_parts: the verdict on each measured part; [] if the claim has only one part.
    why_not_tested: why the claim, or why some parts of the claim, are not tested.
    """

    verdict: str = SEE_FIGURE
    p_holm: float = math.nan
    verdicts_of_parts: Sequence[str] = ()
    why_not_tested: str = ""

    @property
    def verdict_with_parts(self) -> str:
        """The verdict, and the number of `parts_measured` if this is not every part: HOLDS (1 of 3 parts)."""
        number, parts = self.parts_measured, len(self.parts)
        return f"{self.verdict} ({number} of {parts} parts)" if 0 < number < parts else self.verdict


def judge_claims(sweep: SweepRuns) -> list[JudgedClaim]:
    """Return the verdict of the sweep's runs on each claim."""
    tested_claims = [TestedClaim(claim, parts_of_claim(claim, sweep)) for claim in sweep.block.claims]
    p_holm = holm([tested.p_of_claim for tested in tested_claims])
    tests, level = sum(not math.isnan(p) for p in p_holm), 1 - sweep.confidence
    claims = [judged_claim(tested, p, tests, level) for tested, p in zip(tested_claims, p_holm, strict=True)]
    holding = {judged.claim.says for judged in claims if judged.verdict == HOLDS}
    return [withdrawn_without_control(judged, holding) for judged in claims]


def parts_of_claim(claim: Claim, sweep: SweepRuns) -> list[ClaimPart]:
    """Return the parts of a claim, each tested; [] for a claim about a figure.

    If one place has a single cell, this cell is compared with each cell of the other place.
    """
    if claim.places is None:
        return []
    lefts, rights = map(sweep.block.cells_at, claim.places)
    most = max(len(lefts), len(rights))
    names = names_of_cells(lefts if len(lefts) > 1 else rights)
    pairs = zip(lefts * (most // len(lefts)), rights * (most // len(rights)), strict=True)
    return [part_of_claim(claim, name, pair, sweep) for name, pair in zip(names, pairs, strict=True)]


def names_of_cells(cells: Sequence[CellPlace]) -> list[str]:
    """Return a name for each cell: its row if rows differ, its column if columns differ, or both; "" for one cell."""
    several_rows, several_columns = (len(set(names)) > 1 for names in zip(*cells, strict=True))
    names = []
    for row, column in cells:
        words = [row] if several_rows else []
        words += [column] if several_columns else []
        names.append(", ".join(words))
    return names


def part_of_claim(claim: Claim, name: str, cells: tuple[CellPlace, CellPlace], sweep: SweepRuns) -> ClaimPart:
    """Return a comparison of two cells, tested if both have scores."""
    ours, theirs = (sweep.published.cells[row][column] for row, column in cells)
    left, right = (sweep.groups[cell] for cell in cells)
    both = zip(cells, (left, right), strict=True)
    lacks = [f"{row} with {column}" for (row, column), side in both if not side.values]
    return ClaimPart(
        name,
        (left, right),
        lacks,
        published=ours.mean - theirs.mean if ours and theirs else None,
        effect=Effect() if lacks else tested_effect(claim, (left, right), sweep),
    )


def tested_effect(claim: Claim, sides: tuple[Group, Group], sweep: SweepRuns) -> Effect:
    """Return the first side minus the second, with the p of the part. If the runs do not test the claim, p is NaN."""
    effect = effect_between(claim, sides, sweep.confidence)
    why = why_no_test(claim, sides, sweep.block) or effect.why
    return effect._replace(p=math.nan, why=why) if why else effect


def effect_between(claim: Claim, sides: tuple[Group, Group], confidence: float) -> Effect:
    """Return the first side minus the second, by `compare_groups`.

    If the difference agrees with a claim `alike`, the test is TOST (Schuirmann) against -within and within. If the
    difference contradicts such a claim, the test is two-sided against the nearer bound. The test of `more` with a
    margin is two-sided against -within.
    """
    effect = compare_groups(*sides, confidence)
    if not claim.within:
        return effect
    shifted = partial(compare_groups, *sides, confidence)
    assert effect.size is not None
    if claim.alike is None:
        return effect._replace(p=shifted(-claim.within).p)
    if claim.is_borne_out(effect.size):
        return effect._replace(p=tost_p(shifted, claim.within))
    return effect._replace(p=shifted(math.copysign(claim.within, effect.size)).p)


def why_no_test(claim: Claim, sides: tuple[Group, Group], block: ReportBlock) -> str:
    """Return why these runs do not test a claim; "" if they do.

    A test needs a score of the quantity that the paper measured, runs in the paper's setting, and enough seeds on each
    side whose runs train an encoder. A claim with a margin also needs a control.
    """
    if claim.quantity:
        instead = sides[0].metric or sides[1].metric or "ours"
        return f"the paper measured {claim.quantity}, and {instead} is another score"
    if claim.within and not claim.control:
        return "the claim names no positive control: without one, rows may be equivalent because no run learnt anything"
    departures = departures_in([run for side in sides for run in side.runs], block.paper_setting)
    if departures:
        return f"another setting than the paper's: {first_few(departures)}"
    return few_seeds(sides)


def judged_claim(tested: TestedClaim, p_holm: float, tests: int, level: float) -> JudgedClaim:
    """Return the claim with its verdict. tests: the number of tested claims. level: the significance level."""
    if not tested.parts:
        return JudgedClaim(tested.claim, verdict=SEE_FIGURE)
    verdict = verdict_of(tested.claim, tested.effect, p_holm, level)
    reasons = [part.effect.why for part in tested.measured if part.effect.why]
    return JudgedClaim(
        tested.claim,
        tested.parts,
        verdict,
        p_holm,
        verdicts_of_parts(tested, verdict, tests, level),
        why_not_tested="; ".join(dict.fromkeys(reasons)),
    )


def verdict_of(claim: Claim, effect: Effect, p: float, level: float) -> str:
    """Return the verdict on an effect by its corrected p."""
    if effect.size is None:
        return NOT_RUN
    if math.isnan(p):
        return NOT_TESTED
    if p >= level:
        return INCONCLUSIVE
    return HOLDS if claim.is_borne_out(effect.size) else CONTRADICTED


def verdicts_of_parts(tested: TestedClaim, verdict: str, tests: int, level: float) -> list[str]:
    """Return the verdict on each measured part; [] for a single part.

    If the claim HOLDS, each tested part HOLDS. Otherwise the p of each part is corrected by Holm within the claim, and
    multiplied by the number of tested claims.
    """
    if len(tested.parts) < 2:
        return []
    verdicts = []
    p_within_claim = holm([part.effect.p for part in tested.measured])
    for part, p in zip(tested.measured, p_within_claim, strict=True):
        if math.isnan(p) or verdict == NOT_TESTED:
            verdicts.append(NOT_TESTED)
        elif verdict == HOLDS:
            verdicts.append(HOLDS)
        else:
            verdicts.append(verdict_of(tested.claim, part.effect, min(1.0, tests * p), level))
    return verdicts


def withdrawn_without_control(judged: JudgedClaim, holding: set[str]) -> JudgedClaim:
    """Return the claim, with the verdict NOT TESTED if the claim's control does not hold.

    Without the control, scores may be equal because runs learned nothing. holding: the `says` of the claims that hold.
    """
    control = judged.claim.control
    if not control or control in holding or math.isnan(judged.p_holm):
        return judged
    return replace(
        judged,
        verdict=NOT_TESTED,
        p_holm=math.nan,
        verdicts_of_parts=[NOT_TESTED for _ in judged.verdicts_of_parts],
        why_not_tested=f"its positive control was not shown to hold: {control}",
    )
