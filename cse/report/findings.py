"""What was found of a paper's claims as lines of text, the same for the terminal, Markdown, CSV and HTML."""

from collections.abc import Callable

import pandas as pd

from cse.report.markup import bounds, probability, signed, to_markdown
from cse.report.verdicts import Finding

FACTS: dict[str, Callable[[Finding], str]] = {
    "printed": lambda f: signed(f.printed, 2),
    "printed so": lambda f: {True: "yes", False: "NO", None: ""}[f.supported],
    "ours": lambda f: signed(f.effect, 2) + (f" ({f.part})" if f.part else ""),
    "interval": lambda f: bounds(f.interval, 2),
    "over items": lambda f: bounds(f.over_items, 2),
    "p": lambda f: probability(f.p),
    "n": lambda f: f"{f.n}, {f.parts[0]} parts" if f.parts[0] > 1 else f.n,
    "test": lambda f: f.test,
    "missing": lambda f: f.missing,
}


def verdict_text(finding: Finding) -> str:
    """The verdict, with how many of a claim's parts it rests on where these are not all."""
    measured, parts = finding.parts
    return f"{finding.verdict} ({measured} of {parts} parts)" if 0 < measured < parts else finding.verdict


def facts(finding: Finding) -> dict[str, str]:
    """What is known of a claim beside its words and its verdict; "" where nothing is."""
    return {name: text(finding) for name, text in FACTS.items()}


def text_table(findings: list[Finding]) -> pd.DataFrame:
    """A line for each claim, its verdict first; without facts that no claim has."""
    lines = [
        {"claim": f.claim.says, "source": f.claim.source, "verdict": verdict_text(f), **facts(f)} for f in findings
    ]
    table = pd.DataFrame(lines, columns=["claim", "source", "verdict", *FACTS])
    return table.loc[:, (table != "").any()]


def section(findings: list[Finding]) -> str:
    """The claims under a heading, as a Markdown table."""
    return f"### What the paper claims\n\n{to_markdown(text_table(findings))}\n"


def findings_frame(findings: list[Finding]) -> pd.DataFrame:
    """A line for each claim, numbers unrounded: claims.csv."""
    lines = [[column(finding) for column in COLUMNS.values()] for finding in findings]
    return pd.DataFrame(lines, columns=list(COLUMNS), dtype=object)


COLUMNS: dict[str, Callable[[Finding], object]] = {
    "claim": lambda f: f.claim.says,
    "source": lambda f: f.claim.source,
    "verdict": verdict_text,
    "effect": lambda f: f.effect,
    "low": lambda f: f.interval and f.interval[0],
    "high": lambda f: f.interval and f.interval[1],
    "items_low": lambda f: f.over_items and f.over_items[0],
    "items_high": lambda f: f.over_items and f.over_items[1],
    "n": lambda f: f.n,
    "test": lambda f: f.test,
    "p": lambda f: f.p,
    "part": lambda f: f.part,
    "parts_measured": lambda f: f.parts[0],
    "parts": lambda f: f.parts[1],
    "missing": lambda f: f.missing,
    "published_effect": lambda f: f.printed,
    "published_supports": lambda f: f.supported,
}
"""The columns of claims.csv, and what stands there for a finding."""
