"""Every verdict of a report, and the rules behind it: on a cell, on the rows of a column, on a claim.

A cell compares our mean with the printed number:
    PASS                within the tolerance
    WITHIN SEED NOISE   the printed number lies where further runs of ours would be expected
    DIFFERS             it lies further off than seeds explain
    ONE SEED            there is one run, and nothing says how much seeds vary
    OTHER SETTING       our runs are not the paper's experiment, so the numbers are not compared
    NOT RUN             we have no run of it
    PUBLISHED ONLY      another group's model, which is never run here

A claim, by its corrected p against 1 - confidence: HOLDS, CONTRADICTED (it is the other way round), NOT SEEN (the runs
cannot tell); NOT JUDGED, with the reason, where the runs are no test of it (`why_not`); NOT RUN.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cse.record.runs import Run, described, same
from cse.report.cells import Cell, compare
from cse.report.claims import MARGINS, Claim
from cse.report.seeds import pooled_sd
from cse.report.spec import Spec
from cse.report.statistics import Effect, Value, holm, reach_of_noise

PASS, WITHIN_NOISE, DIFFERS, ONE_SEED = "PASS", "WITHIN SEED NOISE", "DIFFERS", "ONE SEED"
NOT_RUN, PUBLISHED_ONLY, OTHER_SETTING = "NOT RUN", "PUBLISHED ONLY", "OTHER SETTING"
HOLDS, NOT_SEEN, CONTRADICTED, NOT_JUDGED = "HOLDS", "NOT SEEN", "CONTRADICTED", "NOT JUDGED"

SEEDS = 3  # on each trained side of a claim that is judged
MANY = 4  # names in a list; further ones are counted


def judge_cell(cell: Cell, spec: Spec, seed_sd: float | None, confidence: float) -> str:
    """The verdict on a cell that runs may fill; "" where the paper prints no number. seed_sd: see `seed_sd_of`."""
    ours, column = cell.ours, spec.columns[cell.column]
    if ours is None:
        return NOT_RUN
    if cell.published is None:
        return ""
    if other_setting(cell.runs, spec):
        return OTHER_SETTING
    if column.config:
        return PASS if same(ours.mean, cell.published.mean) else DIFFERS
    tolerance = spec.tolerance if column.tolerance is None else column.tolerance
    return against_printed(ours, cell.published, tolerance, seed_sd, confidence)


def against_printed(ours: Value, printed: Value, tolerance: float, seed_sd: float | None, confidence: float) -> str:
    """PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED where one run and no `seed_sd` cannot tell the last two apart."""
    distance = abs(ours.mean - printed.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and seed_sd is None:
        return ONE_SEED
    return WITHIN_NOISE if distance <= reach_of_noise(ours, printed.n, seed_sd, confidence) else DIFFERS


def seed_sd_of(column: str, spec: Spec, filled: list[Cell]) -> float | None:
    """The seeds' deviation in a column, for its cells with one seed: as the sweep says, else pooled over the column's
    cells with several, else `spec.seed_sd` if all its scores are STS scores; None if nothing tells."""
    if spec.columns[column].seed_sd is not None:
        return spec.columns[column].seed_sd
    several = [list(cell.values.values()) for cell in filled if len(cell.values) > 1]
    if several:
        return pooled_sd(several)
    metrics = {str(spec.metric_of(cell.row, column)) for cell in filled}
    return spec.seed_sd if all("/sts" in metric for metric in metrics) else None


def mark_ties(cells: Sequence[Cell], confidence: float) -> None:
    """Mark the best of a column's scores, and those that may differ from it by noise alone: none of these has won.

    p is corrected by Holm over the column. A column with one filled row has no best.
    """
    cells = [cell for cell in cells if cell.values and cell.metric]
    if len(cells) < 2:
        return
    runs, metric = cells[0].runs, cells[0].metric  # of a mean of several scores more is better
    sign = 1 if described(runs, metric).lower_is_better else -1
    best = min(cells, key=lambda cell: sign * float(np.mean(list(cell.values.values()))))
    best.tied = True
    order = [cell for cell in cells if cell is not best]
    for cell, p in zip(order, holm([p_apart(compare(best, cell, confidence)) for cell in order]), strict=True):
        cell.tied = math.isnan(p) or p >= 1 - confidence


def p_apart(found: Effect) -> float:
    """The larger of the p over seeds and the p over items, where there are both; NaN where there is neither."""
    return float(np.fmax(found.p, found.p_items))


def other_setting(runs: Iterable[Run], spec: Spec) -> list[str]:
    """Where the runs' settings differ from their sweep's or from what the paper held fixed."""
    found: dict[str, None] = {}
    for run in runs:
        found |= dict.fromkeys(run.departures)
        found |= {f"{key}={run.get(key)}": None for key, value in spec.setting.items() if not same(run.get(key), value)}
    return list(found)


def why_not(claim: Claim, sides: Sequence[Cell], spec: Spec) -> str:
    """Why these runs are no test of a claim; "" where they are one."""
    if claim.quantity:
        instead = next((str(cell.metric) for cell in sides if cell.metric), "ours")
        return f"the paper measured {claim.quantity}, and {instead} is another score"
    if claim.form in MARGINS and not claim.control:
        return "the claim names no positive control: without one, runs may be alike because they learnt nothing"
    if others := other_setting([run for cell in sides for run in cell.runs], spec):
        return f"another setting than the paper's: {listed(others)}"
    return few_seeds(sides)


def few_seeds(sides: Sequence[Cell]) -> str:
    """A line if some trained side has too few seeds for a verdict; "" if all have enough."""
    seeds = [len(cell.values) for cell in sides if not cell.only_scored]
    if not seeds or min(seeds) >= SEEDS:
        return ""
    return f"too few seeds ({' and '.join(map(str, seeds))}): each trained side needs {SEEDS}"


def listed(words: Sequence[str]) -> str:
    """The first few words, and how many more there are."""
    return ", ".join(words[:MANY]) + (f", {len(words) - MANY} more" if len(words) > MANY else "")


@dataclass(frozen=True)
class Part:
    """One part of a comparison. verdict: until its p is corrected, the direction alone, HOLDS or CONTRADICTED. Where it
    is NOT JUDGED, found.p is NaN and `why` is the reason."""

    name: str
    verdict: str
    found: Effect
    why: str = ""


def judge_part(name: str, claim: Claim, left: Cell, right: Cell, spec: Spec, confidence: float) -> Part:
    """Which way one part of a comparison points, and its p.

    `alike` is two one-sided tests (Schuirmann): above -within and below within; what contradicts it is tested against
    the nearer bound, two-sided. `no_less` is tested against -within, two-sided.
    """
    if claim.form == "less":
        left, right = right, left
    found = compare(left, right, confidence)
    assert found.size is not None
    holds = is_as_claimed(claim, found.size)
    if claim.form == "alike":
        above, below = (compare(left, right, confidence, shift).p for shift in (-claim.within, claim.within))
        found = replace(found, p=max(above, below) / 2 if holds else below if found.size > 0 else above)
    elif claim.form == "no_less":
        found = replace(found, p=compare(left, right, confidence, -claim.within).p)
    why = why_not(claim, [left, right], spec)
    if not why and math.isnan(found.p):
        why = found.test if found.test.startswith("none: ") else "encoders that are only scored need their test items"
    if why:
        return Part(name, NOT_JUDGED, replace(found, p=math.nan), why)
    return Part(name, HOLDS if holds else CONTRADICTED, found)


def is_as_claimed(claim: Claim, difference: float) -> bool:
    """Whether a difference, ours or the printed one, is as claimed by its size alone."""
    if claim.form == "no_less":
        return difference > -claim.within
    return abs(difference) <= claim.within if claim.form == "alike" else difference > 1e-9


def judge_parts(parts: Sequence[Part], claim_holds: bool, claims: int, confidence: float) -> list[Part]:
    """The parts of a claim with their final verdicts: as claimed if the claim holds, else each by its own p.

    That p is Holm's within the claim, times the number of claims of the table.
    """
    p_values = [min(1.0, p * claims) for p in holm([part.found.p for part in parts])]  # NaN stays: NOT JUDGED
    return [
        part if part.why or claim_holds or p < 1 - confidence else replace(part, verdict=NOT_SEEN)
        for part, p in zip(parts, p_values, strict=True)
    ]
