"""The claims and their verdicts, as a section (`claims_section`) and as claims.csv (`claims_frame`)."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from cse.lab.report.formats import bounds, counted_noun, digits_of, first_few, format_of, probability, signed
from cse.lab.report.numbers.statistics import TEST_NAMES
from cse.lab.report.paper.claims import JudgedClaim
from cse.lab.report.verdicts import CONTRADICTED, HOLDS, INCONCLUSIVE, NOT_RUN, NOT_TESTED, SEE_FIGURE
from cse.lab.sections import Section
from cse.lab.sharing.score_tables import IS_MODIFIED, MODIFIED

ORDER = (SEE_FIGURE, NOT_TESTED, NOT_RUN, INCONCLUSIVE, HOLDS, CONTRADICTED)
"""The order in which the headline counts the verdicts."""


def claims_section(claims: Sequence[JudgedClaim]) -> Section:
    """Return the section of claims, without empty columns. A terminal and a page show a paragraph for each claim."""
    rows = [
        {"claim": judged.claim.says, "source": judged.claim.source, "verdict": judged.verdict_with_parts}
        | claim_facts(judged)
        for judged in claims
    ]
    table = pd.DataFrame(rows, dtype=object)
    filled = table.loc[:, (table != "").any()]
    return Section("What the paper claims", filled, layout="claims")


def headline(claims: Sequence[JudgedClaim]) -> str:
    """Return the number of claims with each verdict, and the meaning of the mark for modified data."""
    counts = Counter(judged.verdict for judged in claims)
    counted = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in counts]
    line = f"{counted_noun(len(claims), 'claim')}: {', '.join(counted)}."
    return f"{line} {IS_MODIFIED}" if any(judged.modified for judged in claims) else line


def claim_facts(judged: JudgedClaim) -> dict[str, str]:
    """Return {name: text} of the numbers behind a claim's verdict; "" for an unknown number."""
    effect, digits = judged.effect, digits_of_claim(judged)
    return {
        "published": published_difference(judged, digits),
        "ours": our_difference(judged, digits),
        "interval": bounds(effect.low, effect.high, digits),
        "p": probability(judged.p_holm),
        "n": f"{effect.n}, {judged.parts_measured} parts" if judged.parts_measured > 1 else effect.n,
        "test": TEST_NAMES.get(effect.test, effect.test),
        "missing": missing_cells(judged),
        "not tested": judged.why_not_tested,
        "each part": each_part(judged),
        "measured by": quantity_of(judged),
    }


def claims_frame(claims: Sequence[JudgedClaim]) -> pd.DataFrame:
    """Return the table of claims.csv: a row for each claim, unrounded. p_raw: the p before Holm's correction."""
    rows = []
    for judged in claims:
        effect = judged.effect
        rows.append(
            {
                "claim": judged.claim.says,
                "source": judged.claim.source,
                "verdict": judged.verdict_with_parts,
                "effect": effect.size,
                "low": effect.low,
                "high": effect.high,
                "n": effect.n,
                "test": effect.test,
                "p": judged.p_holm,
                "p_raw": judged.p_of_claim,
                "part": deciding_part(judged),
                "parts_measured": judged.parts_measured,
                "parts": len(judged.parts),
                "missing": missing_cells(judged),
                "published_effect": judged.published,
                "published_supports": judged.published_supports,
                "why_not_tested": judged.why_not_tested,
                "by_part": each_part(judged),
                "quantity": quantity_of(judged),
                "data": data_of(judged),
            }
        )
    return pd.DataFrame(rows, dtype=object)


def digits_of_claim(judged: JudgedClaim) -> int | None:
    """Return how many decimals our and the published difference have; None: as many as each number needs."""
    values = [value for part in judged.parts for side in part.sides for value in side.values]
    sizes = [size for size in (judged.effect.size, judged.published) if size]
    return digits_of(format_of(values), sizes or [1.0])


def published_difference(judged: JudgedClaim, digits: int | None) -> str:
    """Return the published difference, and whether the difference supports the claim; "" if none is published."""
    if judged.published is None:
        return ""
    support = {True: "supports the claim", False: "does NOT support the claim", None: "a tie"}
    return f"{signed(judged.published, digits)} ({support[judged.published_supports]})"


def our_difference(judged: JudgedClaim, digits: int | None) -> str:
    """Return our difference, with the deciding part, and with a mark for modified data."""
    part = deciding_part(judged)
    words = [signed(judged.effect.size, digits)]
    words += [f"({part})"] if part else []
    words += [MODIFIED] if judged.modified else []
    return " ".join(words)


def deciding_part(judged: JudgedClaim) -> str:
    """Return the name of the part that decides the claim; "" for a single part, or if no part is measured."""
    if len(judged.parts) < 2 or not judged.measured or judged.deciding is None:
        return ""
    return judged.deciding.name


def missing_cells(judged: JudgedClaim) -> str:
    """Return the names of the cells without scores."""
    return "; ".join(dict.fromkeys(lack for part in judged.parts for lack in part.lacks))


def each_part(judged: JudgedClaim) -> str:
    """Return the verdict on each measured part, as one text; "" for a claim with a single part."""
    if not judged.verdicts_of_parts:
        return ""
    both = zip(judged.measured, judged.verdicts_of_parts, strict=True)
    return "; ".join(f"{part.name}: {verdict}" for part, verdict in both)


def quantity_of(judged: JudgedClaim) -> str:
    """Return the quantity that the paper measured, or the scores that the parts compare."""
    scores = dict.fromkeys(side.metric for part in judged.parts for side in part.sides if side.metric)
    return judged.claim.quantity or first_few(list(scores))


def data_of(judged: JudgedClaim) -> str:
    """Return "partial" if a measured part uses scores on modified data, else "whole"; "" without a measured part."""
    if not judged.measured:
        return ""
    return "partial" if judged.modified else "whole"
