"""What our runs say of a paper's claims: the two sides of each, how they compare, and the lines that tell it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from cse.errors import UserError
from cse.record.runs import Run, Where, grouped, plain
from cse.report import verdicts
from cse.report.cells import Cell, finished_runs, scores
from cse.report.claims import Claim, Place, names
from cse.report.markup import bounds, probability, signed, to_markdown
from cse.report.spec import Spec
from cse.report.statistics import NOTHING, Comparison, holm, rank_correlation
from cse.report.table import Table
from cse.report.verdicts import CONTRADICTED, HOLDS, NOT_RUN, NOT_SEEN

MANY = 4  # more than so many rows or scores that are missing are only counted


@dataclass(frozen=True)
class Finding:
    """What our runs say of a claim. found: its effect is positive where it points as claimed; of `alike` the difference
    itself.

    parts: how many of its parts were measured, and of how many; part: the one that decided; missing: what the others
    lack. printed: the printed difference that speaks least for the claim; supported: whether it says what the claim
    says. None where the paper prints none.
    """

    claim: Claim
    verdict: str = NOT_RUN
    found: Comparison = NOTHING
    part: str = ""
    parts: tuple[int, int] = (0, 0)
    missing: str = ""
    printed: float | None = None
    supported: bool | None = None

    @property
    def verdict_text(self) -> str:
        """The verdict, with how many of a claim's parts it rests on where these are not all."""
        measured, parts = self.parts
        return f"{self.verdict} ({measured} of {parts} parts)" if 0 < measured < parts else self.verdict


@dataclass(frozen=True)
class Side:
    """One side of one part. part: its name among the parts; source: the row or the settings of its runs; unscored: what
    these did not measure, "" where there are no such runs."""

    cell: Cell
    part: str
    source: str
    unscored: str


Pairs = list[tuple[Side, Side]]


def judged(claims: list[Claim], spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> list[Finding]:
    """Every claim's finding, p corrected over all of them. table: None where the sweep draws figures only."""
    raw = [(_trend if claim.is_trend else _difference)(claim, spec, table, runs, confidence) for claim in claims]
    return [
        one
        if one.found.effect is None
        else replace(one, found=replace(one.found, p=p), verdict=one.verdict if p < 1 - confidence else NOT_SEEN)
        for one, p in zip(raw, holm([one.found.p for one in raw]), strict=True)
    ]


def _difference(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A comparison of two places, part by part. Its verdict is still the direction alone."""
    pairs = _of_runs(claim, spec, runs) if "where" in claim.left else _of_table(claim, spec, table)
    ran = [(left, right) for left, right in pairs if left.cell.values and right.cell.values]
    printed = _printed(claim, pairs)
    finding = Finding(
        claim,
        parts=(len(ran), len(pairs)),
        missing=_missing(pairs),
        printed=printed,
        supported=None if printed is None else verdicts.is_as_claimed(claim, printed),
    )
    if not ran:
        return finding
    tests = [verdicts.of_part(claim, left.cell, right.cell, confidence) for left, right in ran]
    place = verdicts.decisive(tests)
    verdict, found = tests[place]
    if verdict == CONTRADICTED:
        found = verdicts.corrected(found, len(tests))
    part = ran[place][0].part or ran[place][1].part
    return replace(finding, verdict=verdict, part=part if len(pairs) > 1 else "", found=found)


def _missing(pairs: Pairs) -> str:
    """The rows or settings without a finished run, and the scores that the runs there are lack."""
    sides = [side for pair in pairs for side in pair if not side.cell.values]
    lacking = {
        "runs of": list(dict.fromkeys(side.source for side in sides if not side.unscored)),
        "scores:": list(dict.fromkeys(side.unscored for side in sides if side.unscored)),
    }
    return "; ".join(
        f"{what} {', '.join(which[:MANY])}" + (f", {len(which) - MANY} more" if len(which) > MANY else "")
        for what, which in lacking.items()
        if which
    )


def _printed(claim: Claim, pairs: Pairs) -> float | None:
    sign = -1 if claim.form == "less" else 1
    both = [(left.cell.published, right.cell.published) for left, right in pairs]
    printed = [sign * (a.mean - b.mean) for a, b in both if a and b]
    return max(printed, key=abs, default=None) if claim.form == "alike" else min(printed, default=None)


def _of_table(claim: Claim, spec: Spec, table: Table | None) -> Pairs:
    """The cells of both places. One side of one number is compared with each of the other's."""
    lefts, rights = (_sides(place, spec, table) for place in claim.places)
    if len(lefts) == 1:
        lefts *= len(rights)
    if len(rights) == 1:
        rights *= len(lefts)
    if len(lefts) != len(rights):
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    return list(zip(lefts, rights, strict=True))


def _sides(place: Place, spec: Spec, table: Table | None) -> list[Side]:
    assert table is not None
    rows = names(place.get("row")) or list(spec.rows)
    columns = names(place.get("column")) or list(spec.columns)
    sides = []
    for row in rows:
        for column in columns:
            cells, own = table.cells[row], spec.columns.get(column)
            ran = cells[column].unscored if own else any(cell.values for cell in cells.values())
            sides.append(
                Side(
                    cells[column],
                    part=", ".join(name for name, of in ((row, rows), (column, columns)) if len(of) > 1),
                    source=f"{row} with {column}" if own and own.where else row,
                    unscored=column if ran else "",
                )
            )
    return sides


def _of_runs(claim: Claim, spec: Spec, runs: list[Run]) -> Pairs:
    """Both places, or both at each value of the key `at` that either has."""
    if not claim.at:
        return [_matched("", claim, {}, spec, runs)]
    finished = [run for place in claim.places for run in finished_runs(place["where"], spec, runs)]
    values = sorted({value for run in finished if isinstance(value := plain(run.get(claim.at)), float)})
    parts = [(f"{claim.at}={value:g}", {claim.at: value}) for value in values] or [("", {})]
    return [_matched(part, claim, at, spec, runs) for part, at in parts]


def _matched(part: str, claim: Claim, at: Where, spec: Spec, runs: list[Run]) -> tuple[Side, Side]:
    """Both places over the settings that both were run with, so that what was tried on one side alone does not speak
    for it: the values of the sweep's axes that the claim does not name."""
    wheres = [{**place["where"], **at} for place in claim.places]
    metrics = [place["metric"] for place in claim.places]
    axes = [axis for axis in spec.axes if axis not in {*wheres[0], *wheres[1]}]

    def setting(run: Run) -> tuple[str, ...]:
        return tuple(str(plain(run.get(axis))) for axis in axes)

    finished = [finished_runs(where, spec, runs) for where in wheres]
    scored = [[run for run in of if metric in run.metrics] for metric, of in zip(metrics, finished, strict=True)]
    both = set.intersection(*({setting(run) for run in of} for of in scored))
    same = f" with the same {', '.join(axes)}" if all(scored) and not both else ""
    sides = []
    for where, metric, of, found in zip(wheres, metrics, finished, scored, strict=True):
        cell = Cell(row="", column="", metric=metric)
        alike = [run for run in found if not all(scored) or setting(run) in both]
        cell.fill(grouped(alike, spec.seed), partial(_mean_score, metric=metric))
        source = ", ".join(f"{key}={' or '.join(names(value)) or value}" for key, value in where.items())
        sides.append(Side(cell, part, source + same, unscored=metric if of and not same else ""))
    return sides[0], sides[1]


def _mean_score(runs: list[Run], metric: str) -> float:
    return float(np.mean(scores(runs, metric)))


def _trend(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A rank correlation, of runs with a config key or of a table's rows with another column."""
    sign = 1 if claim.form == "rises" else -1
    points, pairs = _points(claim, spec, table, runs)
    effect = rank_correlation(pairs, confidence).effect if len(pairs) > 2 else None
    printed = None if effect is None else sign * effect
    finding = Finding(claim, parts=(0, 1), printed=printed, supported=None if printed is None else printed > 0)
    if len(points) < 3 or len({x for x, _ in points}) < 2:
        return replace(finding, missing="three points, at two values or more")
    found = rank_correlation([(sign * x, y) for x, y in points], confidence)
    return replace(finding, verdict=HOLDS if (found.effect or 0) > 0 else CONTRADICTED, parts=(1, 1), found=found)


Points = list[tuple[float, float]]


def _points(claim: Claim, spec: Spec, table: Table | None, runs: list[Run]) -> tuple[Points, Points]:
    """(x, y) of a trend's runs or rows, and of the printed numbers ([] where x is a config key)."""
    if isinstance(claim.right, str):
        finished = finished_runs(claim.left["where"], spec, runs)
        values = [(plain(run.get(claim.right)), run.metrics.get(claim.left["metric"])) for run in finished]
        return [(x, y) for x, y in values if isinstance(x, float) and y is not None], []
    ys, xs = (_sides(place, spec, table) for place in claim.places)
    sides = [(x.cell, y.cell) for x, y in zip(xs, ys, strict=True)]
    ours = [(x.ours.mean, y.ours.mean) for x, y in sides if x.ours and y.ours]
    return ours, [(x.published.mean, y.published.mean) for x, y in sides if x.published and y.published]


FACTS: dict[str, Callable[[Finding], str]] = {
    "printed": lambda f: signed(f.printed, 2),
    "printed so": lambda f: {True: "yes", False: "NO", None: ""}[f.supported],
    "ours": lambda f: signed(f.found.effect, 2) + (f" ({f.part})" if f.part else ""),
    "interval": lambda f: bounds(f.found.interval, 2),
    "over items": lambda f: bounds(f.found.over_items, 2),
    "p": lambda f: probability(f.found.p),
    "n": lambda f: f"{f.found.n}, {f.parts[0]} parts" if f.parts[0] > 1 else f.found.n,
    "test": lambda f: f.found.test,
    "missing": lambda f: f.missing,
}


def facts(finding: Finding) -> dict[str, str]:
    """What is known of a claim beside its words and its verdict; "" where nothing is."""
    return {name: text(finding) for name, text in FACTS.items()}


def text_table(findings: list[Finding]) -> pd.DataFrame:
    """A line for each claim, its verdict first; without facts that no claim has."""
    lines = [{"claim": f.claim.says, "source": f.claim.source, "verdict": f.verdict_text, **facts(f)} for f in findings]
    table = pd.DataFrame(lines, columns=["claim", "source", "verdict", *FACTS])
    return table.loc[:, (table != "").any()]


def section(findings: list[Finding]) -> str:
    """The claims under a heading, as a Markdown table."""
    return f"### What the paper claims\n\n{to_markdown(text_table(findings))}\n"


COLUMNS: dict[str, Callable[[Finding], object]] = {
    "claim": lambda f: f.claim.says,
    "source": lambda f: f.claim.source,
    "verdict": lambda f: f.verdict_text,
    "effect": lambda f: f.found.effect,
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
}
"""The columns of claims.csv, and what stands there for a finding."""


def findings_frame(findings: list[Finding]) -> pd.DataFrame:
    """A line for each claim, numbers unrounded: claims.csv."""
    lines = [[column(finding) for column in COLUMNS.values()] for finding in findings]
    return pd.DataFrame(lines, columns=list(COLUMNS), dtype=object)
