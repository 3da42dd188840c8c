"""The judged claims as a section (`claims_section`) and as claims.csv (`claims_frame`)."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from cse.lab.report.formats import bounds, counted_noun, digits_of, first_few, format_of, probability, signed
from cse.lab.report.numbers.statistics import TEST_NAMES
from cse.lab.report.paper.claims import Evidence, JudgedClaim
from cse.lab.report.verdicts import CONTRADICTED, HOLDS, INCONCLUSIVE, NOT_RUN, NOT_TESTED, SEE_FIGURE
from cse.lab.sections import Finding, Section
from cse.lab.sharing.score_tables import IS_MODIFIED, MODIFIED

ORDER = (SEE_FIGURE, NOT_TESTED, NOT_RUN, INCONCLUSIVE, HOLDS, CONTRADICTED)  # as the headline counts


def claims_section(claims: Sequence[JudgedClaim]) -> Section:
    """The claims as a table of text, without empty columns; on a terminal and a page as findings."""
    findings = [
        Finding(judged.verdict, judged.verdict_with_parts, judged.claim.says, judged.claim.source, claim_facts(judged))
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


def headline(claims: Sequence[JudgedClaim]) -> str:
    """How many claims have each verdict, and what the mark of modified data means."""
    counts = Counter(judged.verdict for judged in claims)
    counted = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in counts]
    line = f"{counted_noun(len(claims), 'claim')}: {', '.join(counted)}."
    return f"{line} {IS_MODIFIED}" if any(judged.evidence.modified for judged in claims) else line


def claim_facts(judged: JudgedClaim) -> dict[str, str]:
    """The numbers behind a claim's verdict, as text; "" for what is not known."""
    evidence, effect = judged.evidence, judged.effect
    digits, measured = digits_of_claim(evidence), evidence.parts_measured
    return {
        "published": published_difference(evidence, digits),
        "ours": our_difference(evidence, digits),
        "interval": bounds(effect.low, effect.high, digits),
        "p": probability(judged.p_holm),
        "n": f"{effect.n}, {measured} parts" if measured > 1 else effect.n,
        "test": TEST_NAMES.get(effect.test, effect.test),
        "missing": missing_cells(evidence),
        "not tested": judged.why_not_tested,
        "each part": by_part(judged),
        "measured by": quantity_of(evidence),
    }


def claims_frame(claims: Sequence[JudgedClaim]) -> pd.DataFrame:
    """claims.csv: a row for each claim, unrounded."""
    rows = []
    for judged in claims:
        claim, evidence, effect = judged.claim, judged.evidence, judged.effect
        rows.append(
            {
                "claim": claim.says,
                "source": claim.source,
                "verdict": judged.verdict_with_parts,
                "effect": effect.size,
                "low": effect.low,
                "high": effect.high,
                "n": effect.n,
                "test": effect.test,
                "p": judged.p_holm,
                "p_raw": evidence.p_of_claim,
                "part": deciding_part(evidence),
                "parts_measured": evidence.parts_measured,
                "parts": len(evidence.parts),
                "missing": missing_cells(evidence),
                "published_effect": evidence.published,
                "published_supports": evidence.published_supports,
                "why_not_tested": judged.why_not_tested,
                "by_part": by_part(judged),
                "quantity": quantity_of(evidence),
                "data": data_of(evidence),
            }
        )
    return pd.DataFrame(rows, dtype=object)


def digits_of_claim(evidence: Evidence) -> int | None:
    """The decimals of our difference and the published one, as of scores in any table; None: as few as each needs."""
    values = [value for part in evidence.parts for side in part.sides for value in side.values]
    sizes = [size for size in (evidence.effect.size, evidence.published) if size]
    return digits_of(format_of(values), sizes or [1.0])


def published_difference(evidence: Evidence, digits: int | None) -> str:
    """The published difference, and whether it supports the claim."""
    if evidence.published is None:
        return ""
    support = {True: "supports the claim", False: "does NOT support the claim", None: "a tie"}
    return f"{signed(evidence.published, digits)} ({support[evidence.published_supports]})"


def our_difference(evidence: Evidence, digits: int | None) -> str:
    """Our effect, with the part that decided, marked if it rests on modified data."""
    part = deciding_part(evidence)
    words = [signed(evidence.effect.size, digits)]
    words += [f"({part})"] if part else []
    words += [MODIFIED] if evidence.modified else []
    return " ".join(words)


def deciding_part(evidence: Evidence) -> str:
    """The name of the part that decided, of several; "" if none is measured."""
    if len(evidence.parts) < 2 or not evidence.measured or evidence.deciding is None:
        return ""
    return evidence.deciding.name


def missing_cells(evidence: Evidence) -> str:
    """The cells without scores."""
    return "; ".join(dict.fromkeys(lack for part in evidence.parts for lack in part.lacks))


def by_part(judged: JudgedClaim) -> str:
    """The verdict of each part; "" of a claim with a single one."""
    if not judged.verdicts_of_parts:
        return ""
    both = zip(judged.evidence.measured, judged.verdicts_of_parts, strict=True)
    return "; ".join(f"{part.name}: {verdict}" for part, verdict in both)


def quantity_of(evidence: Evidence) -> str:
    """What the paper measured, or the scores that the parts compare."""
    scores = dict.fromkeys(side.metric for part in evidence.parts for side in part.sides if side.metric)
    return evidence.claim.quantity or first_few(list(scores))


def data_of(evidence: Evidence) -> str:
    """Whether the measured parts rest on whole or on modified data; "" without any."""
    if not evidence.measured:
        return ""
    return "partial" if evidence.modified else "whole"
