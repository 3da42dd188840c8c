"""A table of ours beside the paper's: its cells, their verdicts, the remarks that a reader needs, and the text of it.

To read: `paper_table` fills the cells. A cell is what the paper prints (`printed_cell`), what our runs give (`fill`),
how far that lies from it and from our own baseline (`beside_printed`, `over_baseline`), and a verdict (`judge`). FACTS
are the facts of a cell as text; `as_section` lays them out.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pandas as pd
from scipy import stats

from cse.lab.folder.runs import Run, Where, described, same
from cse.lab.folder.score_tables import ALTERED
from cse.lab.report.groups import Group, Groups, compare, first_few, other_setting, seed_spread
from cse.lab.report.notes import (
    deviations,
    missing_jobs,
    mixed,
    no_better_remarks,
    not_alike,
    retrieved,
    seen_in_training,
)
from cse.lab.report.published import Published
from cse.lab.report.signs import (
    DIFFERS,
    NO_BETTER,
    NOT_RUN,
    ONE_SEED,
    OTHER_SETTING,
    PASS,
    PLUS_MINUS,
    PUBLISHED_ONLY,
    TIED,
    WITHIN_NOISE,
    bounds,
    legend_of,
    number,
    probability,
    signed,
)
from cse.lab.report.spec import Spec
from cse.lab.report.statistics import SeedSpread, Value, compare_seeds, holm, reach_of_noise, summary
from cse.lab.sections import Section


@dataclass
class Cell:
    """A number of the paper and ours: a line of report.csv, in this order. None and "": it is not known.

    runs: those that count (Group.counted); expected_runs: planned jobs. difference: ours minus the printed number;
    gain: over the baseline's row, in this column; tied_with_best: the best of ours in its column, of rows with one
    score and statistic, or not told apart from it. data: whole, or partial if altered; values: ours of each seed.
    """

    row: str
    column: str
    split: str
    metric: str = ""
    aggregate: str = ""
    published: float | None = None
    published_sd: float | None = None
    published_n: int | None = None
    ours: float | None = None
    ours_sd: float | None = None
    seeds: int = 0
    runs: int = 0
    expected_runs: int | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    gain_published: float | None = None
    p_published: str = ""
    p_student: float | None = None
    p_welch: float | None = None
    tied_with_best: bool | None = None
    verdict: str = ""
    data: str = ""
    no_better: bool | None = None
    published_note: str = ""
    values: str = ""


Cells = dict[tuple[str, str], Cell]
"""Of the printed table, by row and column, in its order."""


def paper_table(
    spec: Spec, published: Published, groups: Groups, runs: list[Run], expected: list[Where], confidence: float
) -> tuple[Cells, Section]:
    """The groups of runs beside the published table: its cells, and the section of them.

    expected: every job's axes, as the sweep plans them.
    """
    cells = {
        (row, column): printed_cell(spec, published, row, column)
        for row, of in published.cells.items()
        for column in of
    }
    spreads: dict[str, SeedSpread | None] = {}
    for column, by_row in columns_of_one_score(groups):
        spread = seed_spread(by_row.values())
        if len(by_row) == len(spec.rows):
            spreads[column] = spread
        elif len(by_row) > 1:
            spreads[f"{column} of {first_few(list(by_row))}"] = spread
        seed_sd = spread.sd if spread else None
        tied = ties(by_row, seed_sd, confidence)
        for row, group in by_row.items():
            cell, printed = cells[row, column], published.cells[row][column]
            fill(cell, group)
            cell.expected_runs = number_of_jobs({**spec.rows[row].where, **spec.columns[column].where}, expected)
            cell.tied_with_best = row in tied if group.values else None
            cell.verdict = judge(group, printed, column, spec, seed_sd, confidence)
            if cell.verdict != OTHER_SETTING:  # such a difference would mean nothing
                beside_printed(cell, group, printed, confidence)
            base = spec.baselines.get(row)
            if base and not spec.columns[column].config:
                over_baseline(cell, group, groups[base, column], (printed, published.cells[base][column]), confidence)
    unscored = [
        f"{row}, {column}: {group.unscored} finished run(s) did not measure {group.metric}"
        for (row, column), group in groups.items()
        if group.unscored
    ]
    section = replace(
        as_section(published, cells),
        notes=[*published.notes, *notes_on_cells(groups, spec, runs, spreads, 1 - confidence)],
        legend=legend_of_cells(cells.values(), spec, confidence),
        missing=list(dict.fromkeys(unscored + missing_jobs(runs, expected))),
    )
    return cells, section


def columns_of_one_score(groups: Groups) -> list[tuple[str, dict[str, Group]]]:
    """(column, its cells by row) of the cells with one score and one statistic: others have no best in common, nor one
    deviation over seeds."""
    found: dict[tuple[str, str | None, str], dict[str, Group]] = {}
    for (row, column), group in groups.items():
        found.setdefault((column, group.metric, group.aggregate), {})[row] = group
    return [(column, by_row) for (column, *_), by_row in found.items()]


def printed_cell(spec: Spec, published: Published, row: str, column: str) -> Cell:
    """A cell without runs. A column that no run measures (widths) has no verdict."""
    cell = Cell(row, column, published.split_of(column), p_published=published.p_values.get((row, column), ""))
    if printed := published.cells[row][column]:
        cell.published, cell.published_sd, cell.published_n = printed.mean, printed.sd, printed.n
        cell.published_note = printed.note
    if row in published.others:
        cell.verdict = PUBLISHED_ONLY
    elif row not in spec.rows:
        cell.verdict = NOT_RUN
    return cell


def fill(cell: Cell, group: Group) -> None:
    """Put into a cell what our runs give."""
    cell.metric, cell.aggregate = group.metric or "", group.aggregate
    cell.seeds, cell.runs = len(group.values), group.counted
    cell.values = " ".join(map(repr, group.values))
    if group.values:
        ours = summary(group.values)
        cell.ours, cell.ours_sd = ours.mean, ours.sd
        cell.data = "partial" if group.altered else "whole"
        cell.no_better = group.no_better


def number_of_jobs(where: Where, expected: list[Where]) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes cannot tell."""
    if not expected or not set(where) <= set(expected[0]):
        return None
    return sum(all(key in job and same(job[key], value) for key, value in where.items()) for job in expected)


def beside_printed(cell: Cell, group: Group, printed: Value | None, confidence: float) -> None:
    """Say how far our mean is from the printed number, with its t interval over seeds."""
    if group.values and printed is not None:
        found = compare_seeds(group.scores, printed.mean, confidence)
        cell.difference, cell.difference_low, cell.difference_high = found.effect, found.low, found.high


def over_baseline(
    cell: Cell, group: Group, base: Group, printed: tuple[Value | None, Value | None], confidence: float
) -> None:
    """Say the gain of our row over our baseline's row, and the printed one.

    Student's test is that of NonLing-CSE's Table 3; Welch's does not assume equal variances.
    """
    ours, theirs = printed
    if ours and theirs:
        cell.gain_published = ours.mean - theirs.mean
    if group.values and base.values:
        found = compare_seeds(group.scores, base.scores, confidence)
        cell.gain = found.effect
        if found.test == "Welch":
            cell.gain_low, cell.gain_high, cell.p_welch = found.low, found.high, found.p
            both = [side.values for side in (group, base)]
            cell.p_student = float(stats.ttest_ind(*both).pvalue)


def judge(
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
    ours, line = summary(group.values), spec.columns[column]
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
    apart. A column with one filled row has no best. groups: by row. seed_sd: see `judge`.
    """
    filled = {row: group for row, group in groups.items() if group.values and group.metric}
    if len(filled) < 2:
        return []
    of = {row: summary(group.values) for row, group in filled.items()}
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


def legend_of_cells(cells: Iterable[Cell], spec: Spec, confidence: float) -> list[str]:
    """What the signs beside numbers, the verdicts and the intervals mean."""
    cells = list(cells)
    signs = {
        ALTERED: any(cell.data == "partial" for cell in cells),
        NO_BETTER: any(cell.no_better for cell in cells),
        TIED: any(cell.tied_with_best for cell in cells),
    }
    lines = legend_of(signs)
    if bases := sorted(set(spec.baselines.values())):
        lines.append(f"gain and p: against our own runs of {', '.join(bases)}.")
    if any(cell.seeds == 1 and cell.difference is not None for cell in cells):
        lines.append(
            "A cell with one seed is judged by how much the seeds of its column's other cells of one score vary; if "
            "there are none, it is not (ONE SEED)."
        )
    own = {column: line.tolerance for column, line in spec.columns.items() if line.tolerance is not None}
    others = "".join(f", {column} within {tolerance:g}" for column, tolerance in own.items())
    lines.append(f"PASS: within {spec.tolerance:g}{others}. Intervals: {confidence:.0%}, t over seeds.")
    return lines


def notes_on_cells(
    groups: Groups, spec: Spec, runs: list[Run], spreads: Mapping[str, SeedSpread | None], level: float
) -> list[str]:
    """How runs differ from the paper's setting, what they retrieved, what their seeds show, and which cells join runs
    that are not alike."""
    every = [run for group in groups.values() for run in group.runs]
    lines = deviations(spec.setting, every)
    done = [run for run in runs if run.is_done]
    by_row = {row: [run for run in done if run.matches(line.where)] for row, line in spec.rows.items()}
    lines += retrieved({row: own[-1] for row, own in by_row.items() if own})
    for row, own in by_row.items():
        lines += [f"{row}: {remark}" for remark in no_better_remarks(own) + seen_in_training(own)]
    for column, spread in spreads.items():
        if spread and (words := spread.in_words(level)):
            lines.append(f"{column}: {words}")
    for (row, column), group in groups.items():
        joined = mixed(group.runs, spec.seed, settings=group.aggregate == "mean")
        lines += [f"{row}, {column}: {remark}" for remark in joined]
    return lines + not_alike("cells", every, lines)


def with_spread(mean: float, sd: float | None, n: int | None, digits: int | None) -> str:
    """mean ± sd (n); only the mean if there is no sd."""
    return number(mean, digits) if sd is None else f"{number(mean, digits)} {PLUS_MINUS} {number(sd, digits)} ({n})"


def printed_number(cell: Cell, digits: int | None) -> str:
    """The printed number, starred if the paper's text garbles it."""
    if cell.published is None:
        return ""
    text = with_spread(cell.published, cell.published_sd, cell.published_n, digits)
    return f"{text}*" if cell.published_note else text


def our_number(cell: Cell, digits: int | None) -> str:
    """Our number, what a statistic is over, the marks of altered data and of a tie, and how many runs are missing."""
    if cell.ours is None:
        return ""
    words = [with_spread(cell.ours, cell.ours_sd, cell.seeds, digits)]
    words += [f"{cell.aggregate} of {cell.runs}"] if cell.runs > cell.seeds else []
    words += [ALTERED] if cell.data == "partial" else []
    words += [NO_BETTER] if cell.no_better else []
    words += [TIED] if cell.tied_with_best else []
    words += [f"[{cell.runs} of {cell.expected_runs} runs]"] if cell.runs < (cell.expected_runs or 0) else []
    return " ".join(words)


FACTS: dict[str, Callable[[Cell, int | None], str]] = {
    "published": printed_number,
    "ours": our_number,
    "difference": lambda cell, digits: signed(cell.difference, digits),
    "interval": lambda cell, digits: bounds(cell.difference_low, cell.difference_high, digits),
    "gain": lambda cell, digits: signed(cell.gain, digits),
    "its interval": lambda cell, digits: bounds(cell.gain_low, cell.gain_high, digits),
    "gain as printed": lambda cell, digits: signed(cell.gain_published, digits),
    "p as printed": lambda cell, _: cell.p_published,
    "p Student": lambda cell, _: probability(cell.p_student),
    "p Welch": lambda cell, _: probability(cell.p_welch),
    "verdict": lambda cell, _: cell.verdict,
}


def as_printed(printed: Published, cells: Cells) -> dict[str, list[tuple[str, str, str]]]:
    """The table as its paper prints it: of each row, for each cell (ours, the printed number and the difference, the
    verdict)."""
    lines: dict[str, list[tuple[str, str, str]]] = {row: [] for row in printed.cells}
    for cell in cells.values():
        digits = printed.digits(cell.column)
        below = [printed_number(cell, digits), signed(cell.difference, digits)]
        lines[cell.row].append((our_number(cell, digits), " · ".join(filter(None, below)), cell.verdict))
    return lines


def as_section(printed: Published, cells: Cells) -> Section:
    """The table as text, without facts that no cell has.

    With up to two columns, each number has a line, with its facts side by side. With more, each row of the paper has a
    block with a line for each fact, under the paper's own columns.
    """
    splits = {column: printed.split_of(column) for column in printed.columns}
    names = {column: column if split == "none" else f"{column} ({split})" for column, split in splits.items()}
    texts = pd.DataFrame(
        {name: [fact(cell, printed.digits(cell.column)) for cell in cells.values()] for name, fact in FACTS.items()},
        index=pd.MultiIndex.from_tuples([(row, names[column]) for row, column in cells], names=["row", "column"]),
    )
    texts = texts.loc[:, (texts != "").any()]
    tied = np.array([bool(cell.tied_with_best) for cell in cells.values()], dtype=bool)
    best = pd.DataFrame({name: tied & (name == "ours") for name in texts}, index=texts.index)
    in_blocks = len(names) > 2
    if in_blocks:
        texts, best = (one.stack(future_stack=True).unstack(level=1, sort=False) for one in (texts, best))
        filled = (texts != "").any(axis=1)
        texts, best = texts[filled], best[filled]
    text = texts.reset_index()
    if in_blocks:  # a row's name heads its block
        text.iloc[:, 0] = text.iloc[:, 0].mask(text.iloc[:, 0].duplicated(), "")
    text = text.set_axis(["", "" if in_blocks else "score", *texts.columns], axis=1)
    bold = [(row, 2 + column) for row, column in np.argwhere(best.to_numpy()).tolist()]
    return Section(printed.title, text, bold=bold, frame=cells_frame(cells.values()))


def cells_frame(cells: Iterable[Cell]) -> pd.DataFrame:
    """report.csv."""
    columns = [field.name for field in fields(Cell)]
    return pd.DataFrame([asdict(cell) for cell in cells], columns=columns, dtype=object)
