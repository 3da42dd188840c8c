"""The claims of a report (cse.lab.report.verdicts) as text: a headline, and the facts about each."""

from collections import Counter

import pandas as pd

from cse.lab.folder.score_tables import ALTERED, IS_ALTERED
from cse.lab.report.markup import CONTRADICTED, HOLDS, NOT_JUDGED, NOT_RUN, NOT_SEEN, bounds, probability, signed
from cse.lab.sections import Section

ORDER = (NOT_JUDGED, NOT_RUN, NOT_SEEN, HOLDS, CONTRADICTED)  # as the headline counts


def headline(claims: pd.DataFrame) -> str:
    """How many claims have each verdict, NOT JUDGED first, and what the mark of altered data means."""
    counts = Counter(verdict.partition(" (")[0] for verdict in claims["verdict"])
    parts = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in counts]
    mark = f" {IS_ALTERED}" if (claims["data"] == "partial").any() else ""
    return f"{len(claims)} claims: {', '.join(parts)}.{mark}"


def lines(claims: pd.DataFrame) -> list[dict[str, str]]:
    """A line for each claim, as text; "" for what is not known."""
    return [
        {
            "claim": one.claim,
            "source": one.source,
            "verdict": one.verdict,
            "printed": signed(one.published_effect, 2),
            "printed so": {True: "yes", False: "NO"}.get(
                one.published_supports, "" if one.published_effect is None else "a tie"
            ),
            "ours": signed(one.effect, 2) + f" ({one.part})" * bool(one.part) + f" {ALTERED}" * (one.data == "partial"),
            "interval": bounds(one.low, one.high, 2),
            "p": probability(one.p),
            "n": f"{one.n}, {one.parts_measured} parts" if one.parts_measured > 1 else one.n,
            "test": one.test,
            "missing": one.missing,
            "not judged": one.why_not_judged,
            "by part": one.by_part,
            "quantity": one.quantity,
        }
        for one in claims.itertuples()
    ]


def section(claims: pd.DataFrame) -> Section:
    """The claims as a table of text, without empty columns."""
    table = pd.DataFrame(lines(claims))
    return Section("What the paper claims", table.loc[:, (table != "").any()], [headline(claims)])
