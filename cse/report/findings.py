"""What our runs say about a paper's claims: how the sides of each compare, its verdict, and all this as text."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from cse.columns import to_markdown
from cse.record.runs import Run, grouped, plain
from cse.record.scores import ALTERED, IS_ALTERED
from cse.report import verdicts
from cse.report.cells import Cell, finished_runs
from cse.report.claims import Claim
from cse.report.markup import bounds, probability, signed
from cse.report.sides import missing, pairs_of, printed_difference, sides_of
from cse.report.spec import Spec, quantity
from cse.report.statistics import Effect, Points, holm, rank_correlation
from cse.report.table import Table
from cse.report.verdicts import CONTRADICTED, HOLDS, NOT_JUDGED, NOT_RUN, NOT_SEEN, Part

ORDER = (NOT_JUDGED, NOT_RUN, NOT_SEEN, HOLDS, CONTRADICTED)  # as the headline counts


@dataclass(frozen=True)
class Finding:
    """What our runs say about a claim. found: positive if it points as claimed; for `alike`, the difference itself.

    parts: how many parts were judged (measured, if none was), and how many there are; part: the one that decided;
    by_part: all, if there are several; missing: what unmeasured parts lack; why: why it, or a part, is not judged.
    quantity: what the paper measured. printed: the printed difference that supports the claim least; supported: whether
    it supports it. Both are None if the paper prints none; supported is None for equal numbers too, which rounding may
    have made equal. altered: whether some of the data was incomplete or altered.
    """

    claim: Claim
    verdict: str = NOT_RUN
    found: Effect = field(default_factory=Effect)
    part: str = ""
    parts: tuple[int, int] = (0, 0)
    by_part: list[Part] = field(default_factory=list)
    missing: str = ""
    why: str = ""
    quantity: str = ""
    printed: float | None = None
    supported: bool | None = None
    altered: bool = False

    @property
    def verdict_text(self) -> str:
        """The verdict and, if it does not rest on all parts of the claim, on how many."""
        measured, parts = self.parts
        return f"{self.verdict} ({measured} of {parts} parts)" if 0 < measured < parts else self.verdict


def judge_claims(spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> list[Finding]:
    """A finding for each claim, p corrected over all that are judged. table: None if the report has figures only."""
    raw = [(_trend if claim.is_trend else _difference)(claim, spec, table, runs, confidence) for claim in spec.claims]
    p_values = holm([one.found.p for one in raw])
    number = sum(not math.isnan(p) for p in p_values)
    found = [one if math.isnan(p) else _by_p(one, p, number, confidence) for one, p in zip(raw, p_values, strict=True)]
    held = {one.claim.says for one in found if one.verdict == HOLDS}
    return [_controlled(one, held) for one in found]


def _by_p(finding: Finding, p: float, claims: int, confidence: float) -> Finding:
    """The finding with its verdict by the corrected p, and those of its parts."""
    verdict = finding.verdict if p < 1 - confidence else NOT_SEEN
    parts = verdicts.judge_parts(finding.by_part, verdict == HOLDS, claims, confidence)
    return replace(finding, verdict=verdict, found=replace(finding.found, p=p), by_part=parts)


def _controlled(finding: Finding, held: set[str]) -> Finding:
    """The finding, NOT JUDGED if its control does not hold. Its p has counted in Holm's correction all the same."""
    control = finding.claim.control
    if not control or control in held or finding.verdict in (NOT_RUN, NOT_JUDGED):
        return finding
    why = f"its positive control was not seen to hold: {control}"
    unjudged = [replace(part, verdict=NOT_JUDGED) for part in finding.by_part]
    found = replace(finding.found, p=math.nan)
    return replace(finding, verdict=NOT_JUDGED, found=found, by_part=unjudged, why=why)


def _difference(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A comparison of two places, part by part. Its verdict is still the direction alone: that of the surest part
    against the claim, with Bonferroni's p, or else of the least sure part."""
    pairs = pairs_of(claim, spec, table, runs)
    ran = [(left, right) for left, right in pairs if left.cell.values and right.cell.values]
    printed = printed_difference(claim, pairs)
    is_tie = printed is not None and claim.form in ("more", "less") and abs(printed) < 1e-9
    finding = Finding(
        claim,
        quantity=quantity(claim, spec),
        parts=(len(ran), len(pairs)),
        missing=missing(pairs),
        printed=printed,
        supported=None if printed is None or is_tie else verdicts.is_as_claimed(claim, printed),
    )
    if not ran:
        return finding
    parts = [
        verdicts.judge_part(left.part or right.part, claim, left.cell, right.cell, spec, confidence)
        for left, right in ran
    ]
    tests = [part for part in parts if not part.why]
    if against := [part for part in tests if part.verdict == CONTRADICTED]:
        part = min(against, key=lambda part: part.found.p)
        found = replace(part.found, p=min(1.0, part.found.p * len(tests)))
    else:
        part = max(tests, key=lambda part: part.found.p) if tests else parts[0]
        found = part.found
    return replace(
        finding,
        verdict=part.verdict,
        part=part.name if len(pairs) > 1 else "",
        found=found,
        parts=(len(tests or ran), len(pairs)),
        by_part=parts if len(pairs) > 1 else [],
        why="; ".join(dict.fromkeys(part.why for part in parts if part.why)),
        altered=any(side.cell.altered for pair in ran for side in pair),
    )


def _trend(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A rank correlation of runs' scores with a config key, or of a table's column with another."""
    sign = 1 if claim.form == "rises" else -1
    points, pairs, cells = _points(claim, spec, table, runs)
    effect = rank_correlation([pairs], confidence).size if len(pairs) > 2 else None
    printed = None if effect is None else sign * effect
    finding = Finding(claim, quantity=quantity(claim, spec), parts=(0, 1), printed=printed)
    supported, altered = None if printed is None else printed > 0, any(cell.altered for cell in cells)
    finding = replace(finding, supported=supported, altered=altered)
    every = [point for of in points for point in of]
    if len(every) < 3 or len({x for x, _ in every}) < 2:
        return replace(finding, missing="three points, at two values or more")
    found = rank_correlation([[(sign * x, y) for x, y in of] for of in points], confidence)
    why = verdicts.why_not(claim, cells, spec)
    if not why and math.isnan(found.p):
        why = found.test
    if not why and found.least >= 1 - confidence:
        why = f"its points can reach no p below {found.least:.2g}"
    if why:
        return replace(finding, verdict=NOT_JUDGED, parts=(1, 1), found=replace(found, p=math.nan), why=why)
    return replace(finding, verdict=HOLDS if (found.size or 0) > 0 else CONTRADICTED, parts=(1, 1), found=found)


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
    ys, xs = (sides_of(place, spec, table) for place in claim.places)
    sides = [(x.cell, y.cell) for x, y in zip(xs, ys, strict=True)]
    ours = [(x.ours.mean, y.ours.mean) for x, y in sides if x.ours and y.ours]
    printed = [(x.published.mean, y.published.mean) for x, y in sides if x.published and y.published]
    return [ours] if ours else [], printed, [cell for pair in sides for cell in pair if cell.values]


def by_part(finding: Finding) -> str:
    """The verdict on each part that ran; "" for a claim of one part."""
    return "; ".join(f"{part.name}: {part.verdict}" for part in finding.by_part)


FACTS: dict[str, Callable[[Finding], str]] = {
    "printed": lambda f: signed(f.printed, 2),
    "printed so": lambda f: {True: "yes", False: "NO", None: "" if f.printed is None else "a tie"}[f.supported],
    "ours": lambda f: signed(f.found.size, 2) + (f" ({f.part})" if f.part else "") + f" {ALTERED}" * f.altered,
    "interval": lambda f: bounds(f.found.interval, 2),
    "over items": lambda f: bounds(f.found.over_items, 2),
    "p": lambda f: probability(f.found.p),
    "n": lambda f: f"{f.found.n}, {f.parts[0]} parts" if f.parts[0] > 1 else f.found.n,
    "test": lambda f: f.found.test,
    "missing": lambda f: f.missing,
    "not judged": lambda f: f.why,
    "by part": by_part,
    "quantity": lambda f: f.quantity,
}


def headline(findings: Sequence[Finding]) -> str:
    """How many claims have each verdict, NOT JUDGED first, and what the mark of altered data means."""
    counts = Counter(finding.verdict for finding in findings)
    parts = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in counts]
    mark = f" {IS_ALTERED}." if any(finding.altered for finding in findings) else ""
    return f"{len(findings)} claims: {', '.join(parts)}.{mark}"


def facts(finding: Finding) -> dict[str, str]:
    """What is known about a claim besides its words and verdict; "" for what is not."""
    return {name: text(finding) for name, text in FACTS.items()}


def text_table(findings: list[Finding]) -> pd.DataFrame:
    """A line for each claim, without empty columns."""
    lines = [{"claim": f.claim.says, "source": f.claim.source, "verdict": f.verdict_text, **facts(f)} for f in findings]
    table = pd.DataFrame(lines, columns=["claim", "source", "verdict", *FACTS])
    return table.loc[:, (table != "").any()]


def section(findings: list[Finding]) -> str:
    """The claims as a Markdown table under a heading."""
    return f"### What the paper claims\n\n{headline(findings)}\n\n{to_markdown(text_table(findings))}\n"


COLUMNS: dict[str, Callable[[Finding], object]] = {
    "claim": lambda f: f.claim.says,
    "source": lambda f: f.claim.source,
    "verdict": lambda f: f.verdict_text,
    "effect": lambda f: f.found.size,
    "low": lambda f: f.found.interval and f.found.interval[0],
    "high": lambda f: f.found.interval and f.found.interval[1],
    "items_low": lambda f: f.found.over_items and f.found.over_items[0],
    "items_high": lambda f: f.found.over_items and f.found.over_items[1],
    "n": lambda f: f.found.n,
    "test": lambda f: f.found.test,
    "p": lambda f: f.found.p,
    "part": lambda f: f.part,
    "parts_measured": lambda f: f.parts[0],
    "parts": lambda f: f.parts[1],
    "missing": lambda f: f.missing,
    "published_effect": lambda f: f.printed,
    "published_supports": lambda f: f.supported,
    "why_not_judged": lambda f: f.why,
    "by_part": by_part,
    "quantity": lambda f: f.quantity,
    "data": lambda f: "" if f.found.size is None else "partial" if f.altered else "whole",
}
"""The columns of claims.csv, and their values for a finding."""


def findings_frame(findings: list[Finding]) -> pd.DataFrame:
    """claims.csv: a line for each claim, with unrounded numbers."""
    lines = [[column(finding) for column in COLUMNS.values()] for finding in findings]
    return pd.DataFrame(lines, columns=list(COLUMNS), dtype=object)
