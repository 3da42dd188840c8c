"""A table of ours beside the paper's: its cells, their verdicts, and the remarks that a reader needs."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
from scipy import stats

from cse.lab.folder.runs import Run, Where, described, same
from cse.lab.folder.score_tables import ALTERED
from cse.lab.report import layout
from cse.lab.report.group import Group, Groups, compare, listed, other_setting, seed_spread
from cse.lab.report.markup import (
    DIFFERS,
    NO_BETTER,
    NOT_RUN,
    ONE_SEED,
    OTHER_SETTING,
    PASS,
    PUBLISHED_ONLY,
    TIED,
    WITHIN_NOISE,
    legend_of,
)
from cse.lab.report.notes import deviations, missing_jobs, mixed, no_better, not_alike, retrieved, seen_in_training
from cse.lab.report.published import Published
from cse.lab.report.spec import Spec
from cse.lab.report.statistics import SeedSpread, Value, compare_seeds, holm, reach_of_noise, summary
from cse.lab.sections import Section
from cse.lab.settings.dotted import Config

COLUMNS = (
    "row", "column", "split", "metric", "aggregate", "published", "published_sd", "published_n", "ours", "ours_sd",
    "seeds", "runs", "expected_runs", "difference", "difference_low", "difference_high", "gain", "gain_low",
    "gain_high", "gain_published", "p_published", "p_student", "p_welch", "tied_with_best", "verdict", "data",
    "no_better", "published_note", "values",
)  # fmt: skip
"""Of report.csv. expected_runs: planned jobs; difference: ours minus the printed number; gain: over the baseline's row,
in this column; tied_with_best: the best of ours in its column, of rows with one score and statistic, or not told apart
from it."""


def build(
    spec: Spec,
    published: Published,
    groups: Groups,
    runs: list[Run],
    expected: list[Where],
    confidence: float,
    label: str = "",
) -> Section:
    """Put the groups of runs beside the published table, with a row of report.csv for each printed cell.

    expected: every job's axes, as the sweep plans them. label: LaTeX's.
    """
    lines = {
        (row, column): as_printed(spec, published, row, column) for row, of in published.cells.items() for column in of
    }
    spreads = {}
    for column, by_row in of_one_score(groups):
        spread = seed_spread(by_row.values())
        seed_sd = spread.sd if spread else None
        if len(by_row) == len(spec.rows):
            spreads[column] = spread
        elif len(by_row) > 1:
            spreads[f"{column} of {listed(list(by_row))}"] = spread
        tied = ties(by_row, seed_sd, confidence)
        for row, group in by_row.items():
            line, printed = lines[row, column], published.cells[row][column]
            where = {**spec.rows[row].where, **spec.columns[column].where}
            line |= as_run(group) | {"expected_runs": number_of_jobs(where, expected)}
            line["tied_with_best"] = str(row in tied) if group.values else ""
            line["verdict"] = judge_cell(group, printed, column, spec, seed_sd, confidence)
            if line["verdict"] != OTHER_SETTING:  # such a difference would mean nothing
                line |= beside_printed(group, printed, confidence)
            base = spec.baselines.get(row)
            if base and not spec.columns[column].config:
                line |= over_baseline(group, groups[base, column], (printed, published.cells[base][column]), confidence)
    cells = pd.DataFrame(lines.values(), columns=list(COLUMNS), dtype=object)
    unscored = [
        f"{row}, {column}: {group.unscored} finished run(s) did not measure {group.metric}"
        for (row, column), group in groups.items()
        if group.unscored
    ]
    return replace(
        layout.section(published, cells),
        notes=[*published.notes, *notes(groups, spec, runs, spreads, 1 - confidence)],
        legend=legend(cells, spec, confidence),
        missing=list(dict.fromkeys(unscored + missing_jobs(runs, expected))),
        label=label,
    )


def of_one_score(groups: Groups) -> list[tuple[str, dict[str, Group]]]:
    """(column, its cells by row) of the cells with one score and one statistic: others have no best in common, nor one
    deviation over seeds."""
    found: dict[tuple[str, str | None, str], dict[str, Group]] = {}
    for (row, column), group in groups.items():
        found.setdefault((column, group.metric, group.aggregate), {})[row] = group
    return [(column, by_row) for (column, *_), by_row in found.items()]


def as_printed(spec: Spec, published: Published, row: str, column: str) -> Config:
    """A line of report.csv without runs. A column that no run measures (widths) has no verdict."""
    printed = published.cells[row][column]
    return (
        dict.fromkeys(COLUMNS)
        | as_run(Group([], {}, aggregate=""))
        | {
            "row": row,
            "column": column,
            "split": published.split_of(column),
            "published": printed and printed.mean,
            "published_sd": printed and printed.sd,
            "published_n": printed and printed.n,
            "published_note": printed.note if printed else "",
            "p_published": published.p_values.get((row, column), ""),
            "verdict": PUBLISHED_ONLY if row in published.others else "" if row in spec.rows else NOT_RUN,
        }
    )


def as_run(group: Group) -> Config:
    """The columns of a cell that say what our runs give."""
    ours = summary(group.values.values()) if group.values else None
    return {
        "metric": group.metric or "",
        "aggregate": group.aggregate,
        "ours": ours and ours.mean,
        "ours_sd": ours and ours.sd,
        "seeds": len(group.values),
        "runs": len(group.runs),
        "data": "" if not ours else "partial" if group.altered else "whole",
        "no_better": str(group.no_better) if ours else "",
        "values": " ".join(map(repr, group.values.values())),
    }


def number_of_jobs(where: Where, expected: list[Where]) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes cannot tell."""
    if not expected or not set(where) <= set(expected[0]):
        return None
    return sum(all(key in job and same(job[key], value) for key, value in where.items()) for job in expected)


def beside_printed(group: Group, printed: Value | None, confidence: float) -> Config:
    """How far our mean is from the printed number, with its t interval over seeds."""
    if not group.values or printed is None:
        return {}
    found = compare_seeds(group.values, {"None": printed.mean}, confidence)
    return {"difference": found.effect, "difference_low": found.low, "difference_high": found.high}


def over_baseline(group: Group, base: Group, printed: tuple[Value | None, Value | None], confidence: float) -> Config:
    """The gain of our row over our baseline's row, and the printed one.

    Student's test is that of NonLing-CSE's Table 3; Welch's does not assume equal variances.
    """
    ours, theirs = printed
    found: Config = {"gain_published": ours.mean - theirs.mean if ours and theirs else None}
    if group.values and base.values:
        tested = compare_seeds(group.values, base.values, confidence)
        found["gain"] = tested.effect
        if tested.test == "Welch":
            found |= {"gain_low": tested.low, "gain_high": tested.high, "p_welch": tested.p}
            found["p_student"] = float(stats.ttest_ind(*(list(of.values.values()) for of in (group, base))).pvalue)
    return found


def legend(cells: pd.DataFrame, spec: Spec, confidence: float) -> list[str]:
    """What the signs beside numbers, the verdicts and the intervals mean."""
    columns = {ALTERED: ("data", "partial"), NO_BETTER: ("no_better", "True"), TIED: ("tied_with_best", "True")}
    lines = legend_of({sign: (cells[name] == value).any() for sign, (name, value) in columns.items()})
    if bases := sorted(set(spec.baselines.values())):
        lines.append(f"gain and p: against our own runs of {', '.join(bases)}.")
    if (cells["difference"].notna() & (cells["seeds"] == 1)).any():
        lines.append(
            "A cell with one seed is judged by how much the seeds of its column's other cells of one score vary; if "
            "there are none, it is not (ONE SEED)."
        )
    own = {column: line.tolerance for column, line in spec.columns.items() if line.tolerance is not None}
    others = "".join(f", {column} within {tolerance:g}" for column, tolerance in own.items())
    lines.append(f"PASS: within {spec.tolerance:g}{others}. Intervals: {confidence:.0%}, t over seeds.")
    return lines


def notes(
    groups: Groups, spec: Spec, runs: list[Run], spreads: Mapping[str, SeedSpread | None], level: float
) -> list[str]:
    """How runs differ from the paper's setting, what they retrieved, what their seeds show, and which cells join runs
    that are not alike."""
    lines = deviations(spec.setting, [run for group in groups.values() for run in group.runs])
    done = [run for run in runs if run.status == "done"]
    lines += retrieved({row: run for row, line in spec.rows.items() for run in done if run.matches(line.where)})
    for row, line in spec.rows.items():
        own = [run for run in done if run.matches(line.where)]
        lines += [f"{row}: {remark}" for remark in no_better(own) + seen_in_training(own)]
    said = {column: spread.in_words(level) for column, spread in spreads.items() if spread}
    lines += [f"{column}: {words}" for column, words in said.items() if words]
    for (row, column), group in groups.items():
        joined = mixed(group.runs, spec.seed, settings=group.aggregate == "mean")
        lines += [f"{row}, {column}: {remark}" for remark in joined]
    return lines + not_alike("cells", [run for group in groups.values() for run in group.runs], lines)


def judge_cell(
    group: Group, printed: Value | None, column: str, spec: Spec, seed_sd: float | None, confidence: float
) -> str:
    """The verdict on a cell that runs may fill; "" where the paper prints no number.

    seed_sd: how much seeds vary in the column's cells with several; None without such cells.
    """
    if not group.values:
        return NOT_RUN
    if printed is None:
        return ""
    if other_setting(group.runs, spec):
        return OTHER_SETTING
    ours, line = summary(group.values.values()), spec.columns[column]
    if line.config:
        return PASS if same(ours.mean, printed.mean) else DIFFERS
    tolerance = spec.tolerance if line.tolerance is None else line.tolerance
    noise = 0.0 if group.only_scored else seed_sd  # another seed would score the same
    return against_printed(ours, printed, tolerance, noise, confidence)


def against_printed(ours: Value, printed: Value, tolerance: float, seed_sd: float | None, confidence: float) -> str:
    """PASS, WITHIN SEED NOISE or DIFFERS; ONE SEED where one run and no `seed_sd` cannot tell the last two apart."""
    distance = abs(ours.mean - printed.mean)
    if distance <= tolerance + 1e-9:
        return PASS
    if ours.sd is None and seed_sd is None:
        return ONE_SEED
    return WITHIN_NOISE if distance <= reach_of_noise(ours, printed.n, seed_sd, confidence) else DIFFERS


def ties(groups: Mapping[str, Group], seed_sd: float | None, confidence: float) -> list[str]:
    """The row with the best of a column's scores, and those that may differ from it by noise alone: none has won.

    p is corrected by Holm over the column; without a test (one seed), what lies further off than seeds explain is told
    apart. A column with one filled row has no best. groups: by row. seed_sd: see judge_cell.
    """
    filled = {row: group for row, group in groups.items() if group.values and group.metric}
    if len(filled) < 2:
        return []
    of = {row: summary(group.values.values()) for row, group in filled.items()}
    first = next(iter(filled.values()))
    sign = 1 if described(first.runs, first.metric).lower_is_better else -1
    best = min(of, key=lambda row: sign * of[row].mean)
    others = [row for row in filled if row != best]
    p_values = holm([compare(filled[best], filled[row], confidence).p for row in others])
    knows_noise = seed_sd is not None or of[best].sd is not None

    def is_tied(row: str, p: float) -> bool:
        if not math.isnan(p) or not knows_noise:
            return not p < 1 - confidence
        return abs(of[best].mean - of[row].mean) <= reach_of_noise(of[best], of[row].n, seed_sd, confidence)

    return [best, *(row for row, p in zip(others, p_values, strict=True) if is_tied(row, p))]
