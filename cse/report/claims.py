"""What a paper claims from its table, as data, and what the runs say of it.

A sweep's `report.claims` is a list of these; each has `says` (the claim), `source` (where the paper says so, with a few
of its words) and one form:

    more: PLACE, than: PLACE            less: PLACE, than: PLACE             of metrics of which less is better
    alike: PLACE, to: PLACE, within: 1  the difference is below so much, in the score's own unit
    rises: PLACE, along: KEY            or falls: the rank correlation of a score with a config key, over runs;
                                        along: {column: NAME}, with another column of the table, over its rows

    PLACE   {row: NAME, column: NAME}   of the published table; a list stands for several, one that is left out for all
                                        that the report fills: `more: {column: shuffled}` speaks of every row
            {where: {case: small_both}, metric: dev/declutr/average}         runs by their config, for figures
    at: KEY                             with `where`: at each value of a config key that both sides have

A claim of several parts (every row, every value) holds if each part does: its p is the largest of theirs. It is
contradicted by its worst part, whose p is multiplied by their number. p is two-sided: over seeds that both sides share
a paired t test, else Welch's, against an encoder that has no seed (it is only scored) a one-sample t test. Holm's
correction is over all claims of the table. HOLDS and CONTRADICTED need p below 1 - confidence; NOT SEEN is the rest:
the runs cannot tell. The printed numbers are held to the same claim, by their means alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cse.errors import UserError
from cse.report import statistics
from cse.report.runs import Run, Where, grouped, plain
from cse.report.spec import Spec
from cse.report.statistics import Interval
from cse.report.table import Table, finished_runs, scores

HOLDS, NOT_SEEN, CONTRADICTED, NOT_RUN = "HOLDS", "NOT SEEN", "CONTRADICTED", "NOT RUN"
FORMS = {"more": "than", "less": "than", "alike": "to", "rises": "along", "falls": "along"}
PLACE = {"row", "column", "where", "metric"}


@dataclass(frozen=True)
class Claim:
    """One statement. left and right are places (right of a trend: a config key or a column), within of `alike`."""

    says: str
    source: str
    form: str
    left: dict[str, Any]
    right: Any
    within: float = 0.0
    at: str | None = None

    def scored_by(self, score: str) -> "Claim":
        """The claim of another score than the paper's, where it names runs and not a cell of the table."""
        places = (self.left, self.right if isinstance(self.right, dict) else {})
        left, right = ({**place, "metric": score} if "metric" in place else place for place in places)
        return replace(self, left=left, right=right if isinstance(self.right, dict) else self.right)

    @property
    def is_trend(self) -> bool:
        return FORMS[self.form] == "along"


@dataclass(frozen=True)
class Side:
    """One number: ours by seed (empty: not run), and as printed (None: it is not)."""

    label: str
    ours: dict[str, float]
    printed: float | None = None


@dataclass(frozen=True)
class Finding:
    """What was found of a claim. effect is positive where it points as claimed; of `alike` it is the difference itself.

    parts: how many of its parts were measured, and of how many; part: the one that decided. supported: whether the
    printed numbers say what the claim says, None where they do not speak of it.
    """

    claim: Claim
    verdict: str
    effect: float | None = None
    interval: Interval | None = None
    n: str = ""
    test: str = ""
    p: float = math.nan
    part: str = ""
    parts: tuple[int, int] = (0, 0)
    printed: float | None = None
    supported: bool | None = None


def parse(raw: list[dict[str, Any]], spec: Spec, where: str) -> list[Claim]:
    """The claims of a report block. Raises UserError naming the file, the claim and what is wrong with it."""
    claims = [_claim(entry, f"{where}: claim {number}") for number, entry in enumerate(raw, 1)]
    for number, claim in enumerate(claims, 1):
        for place in (claim.left, claim.right):
            for kind, known in (("row", spec.rows), ("column", spec.columns)):
                names = _names(place.get(kind)) if isinstance(place, dict) else []
                if unknown := [name for name in names if name not in known]:
                    raise UserError(
                        f"{where}: claim {number} names the {kind} {unknown[0]!r}; the report's are {', '.join(known)}"
                    )
    return claims


def _claim(entry: dict[str, Any], name: str) -> Claim:
    forms = [form for form in FORMS if form in entry]
    if len(forms) != 1 or not {"says", "source", FORMS[forms[0]]} <= set(entry):
        pairs = ", ".join(f"{form} and {other}" for form, other in FORMS.items())
        raise UserError(f"{name} needs says, source and one of: {pairs}")
    form = forms[0]
    if unknown := set(entry) - {"says", "source", "within", "at", form, FORMS[form]}:
        raise UserError(f"{name} has no key {sorted(unknown)[0]!r}")
    if (form == "alike") != ("within" in entry):
        raise UserError(f"{name}: within belongs to alike, and alike needs it")
    for place in (entry[form], entry[FORMS[form]]):
        if isinstance(place, dict) and (unknown := set(place) - PLACE):
            raise UserError(f"{name}: a place has no key {sorted(unknown)[0]!r}; it has {', '.join(sorted(PLACE))}")
    return Claim(entry["says"], entry["source"], form, entry[form], entry[FORMS[form]], entry.get("within", 0.0),
                 entry.get("at"))  # fmt: skip


def _names(value: Any) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else [] if value is None else [str(value)]


def judged(claims: list[Claim], spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> list[Finding]:
    """Every claim's finding, p corrected over all of them. table: None where the sweep draws figures only."""
    raw = [
        _trend(claim, spec, table, runs, confidence)
        if claim.is_trend
        else _compared(claim, spec, table, runs, confidence)
        for claim in claims
    ]
    corrected = statistics.holm([finding.p for finding in raw])
    return [_verdict(finding, p, 1 - confidence) for finding, p in zip(raw, corrected, strict=True)]


def _verdict(finding: Finding, p: float, level: float) -> Finding:
    if finding.effect is None:
        return finding
    as_claimed = finding.verdict == HOLDS
    seen = not math.isnan(p) and p < level
    verdict = (HOLDS if as_claimed else CONTRADICTED) if seen else NOT_SEEN
    return Finding(**{**vars(finding), "p": p, "verdict": verdict})


def _compared(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A comparison of two places, part by part. Its verdict is still the direction alone."""
    pairs = _pairs(claim, spec, table, runs)
    sign = -1 if claim.form == "less" else 1
    printed = [sign * (a.printed - b.printed) for a, b in pairs if a.printed is not None and b.printed is not None]
    weakest = max(printed, key=abs) if claim.form == "alike" and printed else min(printed, default=None)
    supported = None if weakest is None else abs(weakest) <= claim.within if claim.form == "alike" else weakest > 1e-9
    measured = [(a, b) for a, b in pairs if a.ours and b.ours]
    if not measured:
        return Finding(claim, NOT_RUN, parts=(0, len(pairs)), printed=weakest, supported=supported)
    test = _alike if claim.form == "alike" else _greater
    tried = [(a.label or b.label, *test(claim, a.ours, b.ours, confidence)) for a, b in measured]
    against = [one for one in tried if not one[2]]
    part, found, as_claimed, p = (
        min(against, key=lambda one: _or_one(one[3])) if against else max(tried, key=lambda one: _or_one(one[3]))
    )
    p = min(1.0, p * len(tried)) if against else p
    return Finding(
        claim, HOLDS if as_claimed else CONTRADICTED, found.effect, found.interval, found.n, found.test, p,
        part if len(pairs) > 1 else "", (len(measured), len(pairs)), weakest, supported,
    )  # fmt: skip


def _or_one(p: float) -> float:
    return 1.0 if math.isnan(p) else p


def _greater(claim: Claim, left: Mapping[str, float], right: Mapping[str, float], confidence: float):
    """(comparison, whether it points as claimed, p)."""
    high, low = (right, left) if claim.form == "less" else (left, right)
    found = statistics.compared(high, low, confidence)
    return found, found.effect > 0, found.p


def _alike(claim: Claim, left: Mapping[str, float], right: Mapping[str, float], confidence: float):
    """Two one-sided tests (Schuirmann): that the difference is above -within, and that it is below within."""
    found = statistics.compared(left, right, confidence)
    above, below = (
        statistics.compared(left, right, confidence, shift).p / 2 for shift in (-claim.within, claim.within)
    )
    if abs(found.effect) <= claim.within:
        return found, True, max(above, below)
    return found, False, below if found.effect > 0 else above


def _pairs(claim: Claim, spec: Spec, table: Table | None, runs: list[Run]) -> list[tuple[Side, Side]]:
    """The parts of a comparison. One side of one number is compared with each of the other's."""
    if claim.at:
        left, right = (_at_each(place, claim.at, spec, runs) for place in (claim.left, claim.right))
        return [(left[value], right[value]) for value in left if value in right]
    lefts, rights = (_sides(place, spec, table, runs) for place in (claim.left, claim.right))
    if len(lefts) == 1:
        lefts *= len(rights)
    if len(rights) == 1:
        rights *= len(lefts)
    if len(lefts) != len(rights):
        raise UserError(f"claim {claim.says!r} compares {len(lefts)} numbers with {len(rights)}")
    return list(zip(lefts, rights, strict=True))


def _sides(place: dict[str, Any], spec: Spec, table: Table | None, runs: list[Run]) -> list[Side]:
    if "where" in place:
        label = ", ".join(f"{key}={value}" for key, value in place["where"].items())
        return [Side(label, _by_seed(place["where"], place["metric"], spec, runs))]
    assert table is not None
    rows = _names(place.get("row")) or list(spec.rows)
    columns = _names(place.get("column")) or list(spec.columns)
    sides = []
    for row in rows:
        for column in columns:
            cell = table.cells[row][column]
            label = ", ".join(name for name, of in ((row, rows), (column, columns)) if len(of) > 1)
            ours = dict(zip(grouped(cell.runs, spec.seed), cell.values, strict=True))
            sides.append(Side(label, ours, cell.published.mean if cell.published else None))
    return sides


def _at_each(place: dict[str, Any], key: str, spec: Spec, runs: list[Run]) -> dict[Any, Side]:
    """{value of a config key: the runs there}."""
    values = {plain(run.get(key)) for run in finished_runs(place["where"], spec, runs)}
    return {
        value: Side(f"{key}={value:g}", _by_seed({**place["where"], key: value}, place["metric"], spec, runs))
        for value in sorted(value for value in values if isinstance(value, float))
    }


def _by_seed(where: Where, metric: str, spec: Spec, runs: list[Run]) -> dict[str, float]:
    """{seed: mean score of its runs}."""
    groups = grouped(finished_runs(where, spec, runs), spec.seed)
    return {seed: float(np.mean(values)) for seed, group in groups.items() if (values := scores(group, metric))}


def _trend(claim: Claim, spec: Spec, table: Table | None, runs: list[Run], confidence: float) -> Finding:
    """A rank correlation, of runs with a config key or of a table's rows with another column."""
    sign = 1 if claim.form == "rises" else -1
    printed: float | None = None
    if isinstance(claim.right, dict):
        assert table is not None
        ys, xs = (_sides(place, spec, table, runs) for place in (claim.left, claim.right))
        points = [(_mean(x), _mean(y)) for x, y in zip(xs, ys, strict=True) if x.ours and y.ours]
        pairs = [(x.printed, y.printed) for x, y in zip(xs, ys, strict=True) if x.printed is not None
                 and y.printed is not None]  # fmt: skip
        printed = sign * statistics.rank_correlation(pairs, confidence).effect if len(pairs) > 2 else None
    else:
        finished = finished_runs(claim.left["where"], spec, runs)
        found = [(plain(run.get(claim.right)), run.metrics.get(claim.left["metric"])) for run in finished]
        points = [(x, y) for x, y in found if isinstance(x, float) and y is not None]
    supported = None if printed is None else printed > 0
    if len({x for x, _ in points}) < 2:
        return Finding(claim, NOT_RUN, parts=(0, 1), printed=printed, supported=supported)
    tried = statistics.rank_correlation(points, confidence)
    interval = tried.interval
    if interval and sign < 0:
        interval = -interval[1], -interval[0]
    return Finding(claim, HOLDS if sign * tried.effect > 0 else CONTRADICTED, sign * tried.effect, interval, tried.n,
                   tried.test, tried.p, "", (1, 1), printed, supported)  # fmt: skip


def _mean(side: Side) -> float:
    return float(np.mean(list(side.ours.values())))
