"""What our runs say of a paper's claims (`Claim`): from scores to one word, in one table, claims.csv.

A claim is judged only on its own score, by runs in the paper's setting with at least three seeds on each trained side:
by Welch's test, chosen beforehand. Against an encoder that is only scored, and so has no seeds, the test is a
one-sample t test. Two such encoders are compared by a paired bootstrap over items. `alike` is two one-sided tests
against `within`, `more` with a margin the lower of the two, and both need their control. Everything else is NOT JUDGED,
with the reason.

A claim with several parts (every row) holds if every part does: its p is the largest of theirs. It is contradicted by
its worst part, whose p is multiplied by their number. Each part has a verdict of its own: HOLDS if the claim does, else
by Holm's p within the claim times the number of claims. p is two-sided, except where `alike` holds; Holm's correction
is over all judged claims of the table at once. HOLDS and CONTRADICTED need p below 1 - confidence; NOT SEEN means that
the runs cannot tell. "HOLDS (1 of 3 parts)": the other two could not be judged. The published numbers are held to the
same claim, by their means alone. A claim that compares no cells of a table is of a figure, and read BY EYE.

To read: `judge_claims`. First each claim's `Evidence` is gathered: its parts (`claim_parts`), each tested once
(`part_with_test`). One of the parts decides. Then `judged_claim` makes the claim's line, by p corrected over all
claims. Last come the lines as text: `claims_section` and `claims_frame`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import NamedTuple

import pandas as pd

from cse.errors import UserError
from cse.lab.report.formats import bounds, digits_of, first_few, format_of, probability, signed
from cse.lab.report.numbers.groups import Group, compare_groups, few_seeds
from cse.lab.report.numbers.statistics import Effect, holm, likeness
from cse.lab.report.paper.departures import departures_in
from cse.lab.report.paper.published import PublishedTable
from cse.lab.report.paper.spec import Claim, Spec, TablePlace, names_in
from cse.lab.report.paper.sweep_runs import SweepRuns
from cse.lab.report.show.look import BY_EYE, CONTRADICTED, HOLDS, NOT_JUDGED, NOT_RUN, NOT_SEEN
from cse.lab.sections import Finding, Section
from cse.lab.sharing.score_tables import IS_MODIFIED, MODIFIED

ORDER = (BY_EYE, NOT_JUDGED, NOT_RUN, NOT_SEEN, HOLDS, CONTRADICTED)  # as the headline counts


class ClaimPart(NamedTuple):
    """One comparison of a claim.

    sides: the groups of both cells.
    lacks: the cells without scores.
    published: the paper's left minus right.
    effect: ours; its p is NaN if it is no test, and its `why` says so.
    """

    name: str
    sides: tuple[Group, Group]
    lacks: tuple[str, ...] = ()
    published: float | None = None
    effect: Effect = Effect()


@dataclass(frozen=True)
class Evidence:
    """A claim with its parts, each tested once. A claim about a figure has no parts."""

    claim: Claim
    parts: Sequence[ClaimPart]

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
    def deciding(self) -> ClaimPart:
        """The part that decides: the surest one against the claim, or else the least sure one."""
        if self.against:
            return min(self.against, key=lambda part: part.effect.p)
        return max(self.judged, key=lambda part: part.effect.p, default=(self.measured or self.parts)[0])

    @property
    def p(self) -> float:
        """The p of the deciding part before Holm's correction: Bonferroni's against the claim. NaN without a test."""
        if not self.parts:
            return math.nan
        times = len(self.judged) if self.against else 1
        return min(1.0, self.deciding.effect.p * times) if self.judged else math.nan


@dataclass(frozen=True)
class JudgedClaim:
    """A claim and what the runs say of it: a line of claims.csv, but for `digits`.

    verdict: one word of cse.lab.report.show.look; `verdict_with_parts` says also how many parts it rests on.
    effect: positive if as claimed; of likeness, the difference.
    p: corrected by Holm.
    p_raw: before the correction.
    part: the one that decided.
    published_effect: the published one that supports the claim least.
    published_supports: None for none, or a tie.
    data: whole, or partial if modified.
    digits: the decimals of differences as text; None: as few as each needs.
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
    digits: int | None = 2

    @property
    def verdict_with_parts(self) -> str:
        """The verdict, and how many of the parts it rests on if it does not rest on all."""
        if 0 < self.parts_measured < self.parts:
            return f"{self.verdict} ({self.parts_measured} of {self.parts} parts)"
        return self.verdict


def judge_claims(sweep: SweepRuns) -> list[JudgedClaim]:
    """What the sweep's runs say of each claim."""
    level = 1 - sweep.confidence
    evidences = [gather_evidence(claim, sweep) for claim in sweep.spec.claims]
    corrected = holm([evidence.p for evidence in evidences])
    holding = set()
    for evidence, p in zip(evidences, corrected, strict=True):
        if evidence.parts and verdict_of(evidence.claim, evidence.deciding.effect.size, p, level) == HOLDS:
            holding.add(evidence.claim.says)
    tests = sum(not math.isnan(p) for p in corrected)
    return [
        judged_claim(evidence, p, holding=holding, tests=tests, level=level)
        for evidence, p in zip(evidences, corrected, strict=True)
    ]


def gather_evidence(claim: Claim, sweep: SweepRuns) -> Evidence:
    """The claim with its parts, each tested; without parts, if the sweep draws figures only."""
    if sweep.published is None or claim.places is None:
        return Evidence(claim, [])
    parts = claim_parts(claim, sweep, sweep.published)
    return Evidence(claim, [part_with_test(claim, part, sweep) for part in parts])


def judged_claim(evidence: Evidence, p: float, *, holding: set[str], tests: int, level: float) -> JudgedClaim:
    """The line of a claim.

    p: corrected over all claims. holding: what the claims say that hold, as positive controls. tests: the number of
    claims that are tested.
    """
    claim, parts = evidence.claim, evidence.parts
    if not parts:
        return JudgedClaim(claim.says, claim.source, quantity=claim.quantity)
    why_not = "; ".join(dict.fromkeys(part.effect.why for part in evidence.measured if part.effect.why))
    if claim.control and claim.control not in holding and not math.isnan(p):
        p, why_not = math.nan, f"its positive control was not seen to hold: {claim.control}"
    deciding = evidence.deciding
    verdict = verdict_of(claim, deciding.effect.size, p, level)
    published = least_published(claim, parts)
    return JudgedClaim(
        claim=claim.says,
        source=claim.source,
        verdict=verdict,
        effect=deciding.effect.size,
        low=deciding.effect.low,
        high=deciding.effect.high,
        n=deciding.effect.n,
        test=deciding.effect.test,
        p=p,
        p_raw=evidence.p,
        part=deciding.name if evidence.measured and len(parts) > 1 else "",
        parts_measured=len(evidence.judged or evidence.measured),
        parts=len(parts),
        missing="; ".join(dict.fromkeys(lack for part in parts for lack in part.lacks)),
        published_effect=published,
        published_supports=published_supports(claim, published),
        why_not_judged=why_not,
        by_part="; ".join(verdicts_of_parts(evidence, verdict, tests, level)),
        quantity=claim.quantity or first_few(scores_of(parts)),
        data=data_of(evidence.measured),
        digits=digits_of_claim(parts, deciding.effect.size, published),
    )


def verdict_of(claim: Claim, effect: float | None, p: float, level: float) -> str:
    """The verdict, by the corrected p."""
    if effect is None or math.isnan(p):
        return NOT_RUN if effect is None else NOT_JUDGED
    if p >= level:
        return NOT_SEEN
    return HOLDS if claim.is_borne_out(effect) else CONTRADICTED


def verdicts_of_parts(evidence: Evidence, verdict: str, tests: int, level: float) -> list[str]:
    """The own verdict of each of several parts: as claimed if the claim holds, else by Holm's p within the claim, times
    the tests of all claims."""
    if len(evidence.parts) < 2:
        return []
    lines = []
    p_values = holm([part.effect.p for part in evidence.measured])
    for part, p in zip(evidence.measured, p_values, strict=True):
        word = verdict_of(evidence.claim, part.effect.size, min(1.0, tests * p), level)
        if math.isnan(p) or verdict == NOT_JUDGED:
            word = NOT_JUDGED
        elif verdict == HOLDS:
            word = HOLDS
        lines.append(f"{part.name}: {word}")
    return lines


def least_published(claim: Claim, parts: Sequence[ClaimPart]) -> float | None:
    """The published difference that supports the claim least; None if the paper prints none."""
    differences = [part.published for part in parts if part.published is not None]
    if not differences:
        return None
    return max(differences, key=abs) if claim.alike is not None else min(differences)


def published_supports(claim: Claim, difference: float | None) -> bool | None:
    """Whether the published difference is as claimed; None without one, and for a tie."""
    if difference is None or (claim.alike is None and abs(difference) < 1e-9):
        return None
    return claim.is_borne_out(difference)


def scores_of(parts: Sequence[ClaimPart]) -> list[str]:
    """The scores that the parts compare."""
    return list(dict.fromkeys(side.metric for part in parts for side in part.sides if side.metric))


def data_of(measured: Sequence[ClaimPart]) -> str:
    """Whether the measured parts rest on whole or on modified data; "" without any."""
    if not measured:
        return ""
    return "partial" if any(side.modified for part in measured for side in part.sides) else "whole"


def digits_of_claim(parts: Sequence[ClaimPart], ours: float | None, published: float | None) -> int | None:
    """The decimals of our difference and the published one, as of scores in any table; None: as few as each needs."""
    values = [value for part in parts for side in part.sides for value in side.values]
    sizes = [size for size in (ours, published) if size]
    return digits_of(format_of(values), sizes or [1.0])


def claim_parts(claim: Claim, sweep: SweepRuns, table: PublishedTable) -> list[ClaimPart]:
    """A claim's parts, not yet tested: the cells of both places in pairs. A single cell is compared with each cell of
    the other side."""
    assert claim.places is not None
    lefts, rights = (cells_at(place, sweep.spec) for place in claim.places)
    most = max(len(lefts), len(rights))
    if {len(lefts), len(rights)} - {1, most}:
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    parts = []
    for left, right in zip(lefts * (most // len(lefts)), rights * (most // len(rights)), strict=True):
        ours, theirs = table.cells[left.row][left.column], table.cells[right.row][right.column]
        sides = sweep.groups[left.row, left.column], sweep.groups[right.row, right.column]
        lacks = [
            f"{cell.row} with {cell.column}" for cell, side in zip((left, right), sides, strict=True) if not side.values
        ]
        published = ours.mean - theirs.mean if ours and theirs else None
        parts.append(ClaimPart(left.name or right.name, sides, tuple(lacks), published))
    return parts


class CellAt(NamedTuple):
    """A cell that a claim speaks of. name: its row or column, where the place has several; "" if it is alone."""

    row: str
    column: str
    name: str


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


def part_with_test(claim: Claim, part: ClaimPart, sweep: SweepRuns) -> ClaimPart:
    """The part with its effect and p (NaN, with a reason, if it is no test)."""
    if part.lacks:
        return part
    effect = effect_between(claim, part.sides, sweep.confidence)
    why = why_not(claim, part.sides, sweep.spec) or effect.why
    return part._replace(effect=effect._replace(p=math.nan, why=why) if why else effect)


def effect_between(claim: Claim, sides: tuple[Group, Group], confidence: float) -> Effect:
    """Left minus right.

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
    """Why these runs are no test of a claim; "" where they are one."""
    if claim.quantity:
        instead = sides[0].metric or sides[1].metric or "ours"
        return f"the paper measured {claim.quantity}, and {instead} is another score"
    if claim.within and not claim.control:
        return "the claim names no positive control: without one, runs may be alike because they learnt nothing"
    departures = departures_in([run for side in sides for run in side.runs], spec.held_fixed)
    if departures:
        return f"another setting than the paper's: {first_few(departures)}"
    return few_seeds(sides)


def claims_frame(claims: Iterable[JudgedClaim]) -> pd.DataFrame:
    """claims.csv, unrounded."""
    rows = [asdict(judged) | {"verdict": judged.verdict_with_parts} for judged in claims]
    columns = [field.name for field in fields(JudgedClaim)]
    return pd.DataFrame(rows, columns=columns, dtype=object).drop(columns="digits")


def headline(claims: Sequence[JudgedClaim]) -> str:
    """How many claims have each verdict, and what the mark of modified data means."""
    counts = Counter(judged.verdict for judged in claims)
    counted = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in counts]
    line = f"{len(claims)} claims: {', '.join(counted)}."
    return f"{line} {IS_MODIFIED}" if any(judged.data == "partial" for judged in claims) else line


def claims_section(claims: Sequence[JudgedClaim]) -> Section:
    """The claims as a table of text, without empty columns; on a terminal and a page as findings."""
    findings = [
        Finding(judged.verdict, judged.verdict_with_parts, judged.claim, judged.source, claim_facts(judged))
        for judged in claims
    ]
    rows = [
        {"claim": finding.claim, "source": finding.source, "verdict": finding.verdict_in_words, **finding.facts}
        for finding in findings
    ]
    table = pd.DataFrame(rows, dtype=object)
    return Section(
        "What the paper claims",
        table.loc[:, (table != "").any()],
        [headline(claims)],
        frame=claims_frame(claims),
        findings=findings,
    )


def claim_facts(judged: JudgedClaim) -> dict[str, str]:
    """The numbers behind a claim's verdict, as text; "" for what is not known."""
    return {
        "published": signed(judged.published_effect, judged.digits),
        "published as claimed": published_as_claimed(judged),
        "ours": our_difference(judged),
        "interval": bounds(judged.low, judged.high, judged.digits),
        "p": probability(judged.p),
        "n": f"{judged.n}, {judged.parts_measured} parts" if judged.parts_measured > 1 else judged.n,
        "test": judged.test,
        "missing": judged.missing,
        "not judged": judged.why_not_judged,
        "by part": judged.by_part,
        "quantity": judged.quantity,
    }


def published_as_claimed(judged: JudgedClaim) -> str:
    """Whether the published numbers are as claimed."""
    if judged.published_effect is None:
        return ""
    return {True: "yes", False: "NO", None: "a tie"}[judged.published_supports]


def our_difference(judged: JudgedClaim) -> str:
    """Our effect, with the part that decided, marked if it rests on modified data."""
    words = [signed(judged.effect, judged.digits)]
    words += [f"({judged.part})"] if judged.part else []
    words += [MODIFIED] if judged.data == "partial" else []
    return " ".join(words)
