"""How far each setting is from the best one, or from a named one, how surely, and how many seeds would tell.

Tests and ties are those of a sweep's table (cse.report.cells.compare), corrected by Holm over the settings that are
compared.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cse.errors import UserError
from cse.record.runs import Run, described, grouped, same
from cse.report.cells import Cell, compare, few_seeds, listed
from cse.report.comparison import Comparison
from cse.report.frame import format_setting
from cse.report.markup import TIED, bounds, probability, signed
from cse.report.seeds import in_words, pooled_sd, seeds_for, smallest_difference
from cse.report.statistics import Effect, holm

MOST = 30  # settings, the best first, that are compared: with more, Holm's correction would leave nothing to see
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Differences:
    """The differences of one score. reference: the setting to compare with; cells: what was compared, by setting.

    frame: differences.csv, a row for each setting that is compared with the reference, by its number. p_holm: NaN if
    there are no seeds to test; tied: p_holm does not tell them apart; seeds_to_tell: a side, "" if these do.
    """

    comparison: Comparison
    score: str
    reference: int
    cells: dict[int, Cell]
    frame: pd.DataFrame
    confidence: float

    @property
    def title(self) -> str:
        """The table's heading."""
        by = "" if self.score == self.comparison.best_by else f" by {self.comparison.best_by}"
        best = f"the best{by}, " if self.reference == self.comparison.best else ""
        return f"{self.score}: difference to {best}{self.comparison.label(self.reference)}"

    def table(self) -> pd.DataFrame:
        """A line for each compared setting, as text, without empty columns."""
        names = self.comparison.keys
        lines = [
            {
                **{name: row[key] for key, name in names.items()},
                "difference": signed(row["difference"], 2) + (f" {TIED}" if row["tied"] == "True" else ""),
                f"{self.confidence:.0%} interval": bounds(None if row["low"] is None else (row["low"], row["high"]), 2),
                "p": probability(row["p_holm"]),
                "of": row["of"],
                "seeds to tell": row["seeds_to_tell"],
            }
            for row in self.frame.to_dict("records")
        ]
        table = pd.DataFrame(lines)
        keep = [*names.values(), "difference"]
        return table.loc[:, [name for name in table if name in keep or (table[name] != "").any()]]

    @property
    def notes(self) -> list[str]:
        """What the signs mean, what these seeds can tell, and which settings they cannot."""
        notes = [f"{TIED}: not told apart from it."] if (self.frame["tied"] == "True").any() else []
        if tested := self.frame["p_holm"].notna().sum():
            notes.append(f"p: by Holm over {tested}.")
        sd, several = seed_sd(self.cells)
        notes += [f"{in_words(sd, several, level=(1 - self.confidence) / len(self.frame))}."] if sd else []
        untold = self.frame[self.frame["seeds_to_tell"] != ""]
        for setting, size, of, seeds in untold[["difference", "of", "seeds_to_tell"]].head(3).itertuples():
            name = self.comparison.label(setting)
            notes.append(f"{name}: {of} cannot tell; {seeds} seeds a side would show {abs(size):.2g}.")
        trained = [cell for cell in self.cells.values() if not cell.only_scored]
        if trained and (few := few_seeds([min(trained, key=lambda cell: len(cell.values))])):
            notes.append(f"No verdict: {few}.")
        left = int(self.comparison.scores[self.score, "mean"].notna().sum()) - len(self.cells)
        return notes + ([f"{left} further settings, which rank lower, are not compared."] if left else [])


def differences(comparison: Comparison, baseline: str | None, confidence: float) -> Differences | None:
    """Compare each setting with the first, which is the best, or the baseline; None if fewer than two have the score.

    Raises UserError for a baseline that names no setting, or several.
    """
    score = comparison.compared_by
    if score is None:
        return None
    reference = int(comparison.scores.index[0]) if baseline is None else setting_named(comparison, baseline)
    ranked = [one for one in comparison.scores.index if not math.isnan(comparison.scores.loc[one, (score, "mean")])]
    chosen = list(dict.fromkeys([reference, *ranked[:MOST]]))
    if len(chosen) < 2 or reference not in ranked:
        return None
    cells = {one: cell_of(comparison, one, score) for one in chosen}
    found = {one: compare(cell, cells[reference], confidence) for one, cell in cells.items() if one != reference}
    p_values = holm([one.p for one in found.values()])
    rows = [
        {
            **{key: format_setting(comparison.runs_by_setting[setting][0], key) for key in comparison.keys},
            "score": score,
            "reference": comparison.label(reference),
            "difference": one.size,
            **dict(zip(("low", "high"), one.interval or (None, None), strict=True)),
            "of": one.n,
            "test": one.test,
            "p": one.p,
            "p_holm": p,
            "tied": "" if math.isnan(p) else str(p >= 1 - confidence),
            "seeds_to_tell": "" if p < 1 - confidence else seeds_to_tell(cells, one, confidence, len(found)),
        }
        for (setting, one), p in zip(found.items(), p_values, strict=True)
    ]
    return Differences(
        comparison, score, reference, cells, pd.DataFrame(rows, index=list(found), dtype=object), confidence
    )


def cell_of(comparison: Comparison, setting: int, score: str) -> Cell:
    """The finished runs of a setting that have the score, by seed."""
    runs = [run for run in comparison.runs_by_setting[setting] if run.status == "done" and score in run.metrics]
    cell = Cell(comparison.label(setting), score, metric=score)
    cell.fill(grouped(runs, comparison.seed), lambda group: float(np.mean([run.metrics[score] for run in group])))
    return cell


def seed_sd(cells: dict[int, Cell]) -> tuple[float, int]:
    """The pooled deviation of seeds, over the cells with several, and the fewest seeds of these; 0, 0 without any."""
    groups = [list(cell.values.values()) for cell in cells.values() if len(cell.values) > 1]
    return (pooled_sd(groups), min(map(len, groups))) if groups else (0.0, 0)


def seeds_to_tell(cells: dict[int, Cell], found: Effect, confidence: float, tests: int) -> str:
    """The seeds a side that show such a difference with 80% power; "" if nothing tells how much seeds vary."""
    (sd, _), level = seed_sd(cells), (1 - confidence) / tests
    if not sd or not found.size:
        return ""
    if abs(found.size) < smallest_difference(sd, MOST_SEEDS, level):
        return f"more than {MOST_SEEDS:,}"
    return str(seeds_for(abs(found.size), sd, level))


def setting_named(comparison: Comparison, name: str | Path) -> int:
    """The setting that `KEY=VALUE,...` names or else, and for a Path, that of the runs at or below this folder.

    Raises UserError if there is none, or several.
    """
    keys = {name: key for key, name in comparison.keys.items()}
    runs = comparison.runs_by_setting
    words = str(name).strip("[]").split(",") if isinstance(name, str) and "=" in name else []
    asked = [(keys.get(key, key), value) for key, _, value in (word.strip().partition("=") for word in words)]

    def has_all(run: Run) -> bool:
        return all(same(run.get(key), value) or format_setting(run, key) == value for key, value in asked)

    place = Path(name).resolve()
    found = [one for one in runs if asked and has_all(runs[one][0])]
    found = found or [one for one in runs if any(run.folder.resolve().is_relative_to(place) for run in runs[one])]
    if len(found) == 1:
        return found[0]
    known = listed([f"'{comparison.label(one)}'" for one in found or runs])
    raise UserError(f"baseline={name} names {len(found)} settings instead of one: {known}")


def gate(comparison: Comparison, least: float, baseline: str | None, confidence: float) -> tuple[bool, list[str]]:
    """Whether the first setting is better than the baseline, or than every other one, by `least` or more, with a line
    for each. The first setting is that of the first folder if several are named, else the best.

    A difference counts if it is told apart from one of `least`, with the seeds that a verdict needs, on whole data.
    """
    first = comparison.best if len(comparison.folders) == 1 else setting_named(comparison, comparison.folders[0])
    score = comparison.compared_by
    if first is None:
        raise UserError(f"gate={least:g}: no dev score says which setting is the best: name it, runs=[A,B]")
    known = [setting_named(comparison, baseline)] if baseline else list(comparison.runs_by_setting)
    others = [one for one in known if one != first]
    if score is None or not others:
        raise UserError(f"gate={least:g} needs two settings with scores: runs=[A,B], or baseline=KEY=VALUE")
    sign = -1 if described(comparison.runs, score).lower_is_better else 1
    cell, passed, lines = cell_of(comparison, first, score), True, []
    against = {one: cell_of(comparison, one, score) for one in others}
    if not all(of.values for of in (cell, *against.values())):
        raise UserError(f"gate={least:g}: not every setting has {score}, by which they are compared")
    found = {one: compare(cell, of, confidence, sign * least) for one, of in against.items()}
    for (one, of), p in zip(found.items(), holm([of.p for of in found.values()]), strict=True):
        assert of.size is not None
        larger, unfit = sign * of.size > least, few_seeds([cell, against[one]])
        if any(score in run.altered for setting in (first, one) for run in comparison.runs_by_setting[setting]):
            unfit = "its data are incomplete or altered"
        why = unfit or (f"p {probability(p) or 'unknown'}" if larger else "not even these runs' means are")
        is_so = larger and not unfit and p < 1 - confidence
        passed &= is_so
        result = f"p {probability(p)}" if is_so else f"not shown, {why}"
        gain = f"{signed(of.size, 2)} {bounds(of.interval, 2)}".strip()
        lines.append(f"{comparison.label(first)} against {comparison.label(one)}: {gain}, {least:g} better: {result}")
    return passed, lines
