"""Every verdict of a report, and the rules by which it is reached: of a cell, of a column's rows, of a claim.

A cell, our mean against the printed number:
    PASS                within the tolerance
    WITHIN SEED NOISE   the printed number lies where further runs of ours would be expected
    DIFFERS             it lies further off than seeds explain
    ONE SEED            one run alone, and nothing tells how seeds vary
    OTHER SETTING       our runs are not the paper's experiment, so the numbers are not compared
    NOT RUN, PUBLISHED ONLY     there is nothing of ours; another group's model, which is not run here

A claim, its corrected p against 1 - confidence: HOLDS, CONTRADICTED (the other way round), NOT SEEN (the runs cannot
tell), NOT RUN.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cse.eval.score import nature
from cse.record.runs import same
from cse.report.cells import Cell, compare
from cse.report.claims import Claim
from cse.report.spec import Spec, metric_of
from cse.report.statistics import Comparison, Value, holm, pooled_sd, reach_of_noise

PASS, WITHIN_NOISE, DIFFERS, ONE_SEED = "PASS", "WITHIN SEED NOISE", "DIFFERS", "ONE SEED"
NOT_RUN, PUBLISHED_ONLY, OTHER_SETTING = "NOT RUN", "PUBLISHED ONLY", "OTHER SETTING"
HOLDS, NOT_SEEN, CONTRADICTED = "HOLDS", "NOT SEEN", "CONTRADICTED"


def of_cell(cell: Cell, spec: Spec, seed_sd: float | None, confidence: float) -> str:
    """The verdict of a cell that runs may fill; "" where the paper prints no number. seed_sd: see `seed_sd_of`."""
    ours, column = cell.ours, spec.columns[cell.column]
    if ours is None:
        return NOT_RUN
    if cell.published is None:
        return ""
    if spec.stands_in or any(run.departures or not run.matches(spec.setting) for run in cell.runs):
        return OTHER_SETTING
    if column.config:
        return PASS if same(ours.mean, cell.published.mean) else DIFFERS
    tolerance = spec.tolerance if column.tolerance is None else column.tolerance
    return against_printed(ours, cell.published, tolerance, seed_sd, confidence)


def against_printed(ours: Value, printed: Value, tolerance: float, seed_sd: float | None, confidence: float) -> str:
    """PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED where neither can be said: one run, and no `seed_sd`."""
    distance = abs(ours.mean - printed.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and seed_sd is None:
        return ONE_SEED
    return WITHIN_NOISE if distance <= reach_of_noise(ours, printed.n, seed_sd, confidence) else DIFFERS


def seed_sd_of(column: str, spec: Spec, filled: list[Cell]) -> float | None:
    """How much seeds vary in a column, for cells with one: said by the sweep, else pooled over the column's cells with
    several, else, of STS scores alone, `spec.seed_sd`; None where nothing tells."""
    if spec.columns[column].seed_sd is not None:
        return spec.columns[column].seed_sd
    several = [list(cell.values.values()) for cell in filled if len(cell.values) > 1]
    if several:
        return pooled_sd(several)
    metrics = {str(metric_of(spec, cell.row, column)) for cell in filled}
    return spec.seed_sd if all(nature(metric).kind == "sts" for metric in metrics) else None


def mark_ties(cells: Sequence[Cell], confidence: float) -> None:
    """Mark the best of a column's cells of scores, and those that differ from it by noise alone: none has won.

    p corrected by Holm over the column. A column with one filled row has no best.
    """
    cells = [cell for cell in cells if cell.values and cell.metric]
    if len(cells) < 2:
        return
    metric = cells[0].metric  # a mean of several scores is best where it is most
    sign = 1 if isinstance(metric, str) and nature(metric).lower_is_better else -1
    best = min(cells, key=lambda cell: sign * float(np.mean(list(cell.values.values()))))
    best.tied = True
    order = [cell for cell in cells if cell is not best]
    for cell, p in zip(order, holm([compare(best, cell, confidence).p for cell in order]), strict=True):
        cell.tied = math.isnan(p) or p >= 1 - confidence


def of_part(claim: Claim, left: Cell, right: Cell, confidence: float) -> tuple[str, Comparison]:
    """Which way one part of a comparison points, HOLDS or CONTRADICTED, and how surely.

    `alike` is two one-sided tests (Schuirmann): above -within, and below within.
    """
    if claim.form == "less":
        left, right = right, left
    found = compare(left, right, confidence)
    assert found.effect is not None
    holds = is_as_claimed(claim, found.effect)
    if claim.form == "alike":
        above, below = (compare(left, right, confidence, shift).p / 2 for shift in (-claim.within, claim.within))
        found = replace(found, p=max(above, below) if holds else below if found.effect > 0 else above)
    return HOLDS if holds else CONTRADICTED, found


def is_as_claimed(claim: Claim, difference: float) -> bool:
    """Whether a difference, of ours or printed, is what the claim says, by its size alone."""
    return abs(difference) <= claim.within if claim.form == "alike" else difference > 1e-9


def decisive(parts: Sequence[tuple[str, Comparison]]) -> int:
    """The place of the part that decides: of those against the claim the surest, else the least sure."""
    p = [1.0 if math.isnan(found.p) else found.p for _, found in parts]
    against = [place for place, (verdict, _) in enumerate(parts) if verdict == CONTRADICTED]
    return min(against, key=p.__getitem__) if against else max(range(len(parts)), key=p.__getitem__)


def corrected(found: Comparison, parts: int) -> Comparison:
    """Bonferroni's, of the part that speaks against a claim of so many."""
    return replace(found, p=float(np.minimum(1.0, found.p * parts)))  # NaN stays
