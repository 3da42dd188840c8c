"""A table of ours beside the paper's: its cells, their verdicts, the remarks that a reader needs, and the text of it.

To read: `paper_table`. A cell is what the paper prints (`printed_cell`) and what our runs give (`with_runs`): how far
that lies from the printed number and from our own baseline (`gain_over`), and a verdict (`judge`). What only the cells
of one score can tell together is a `OneScore`. TEXTS are the facts of a cell as text; `as_section` lays them out.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from cse.lab.folder.runs import Run, Where, score_named
from cse.lab.folder.score_tables import ALTERED
from cse.lab.report.departures import departures_in, notes_on_departures
from cse.lab.report.groups import Group, compare, seed_spread
from cse.lab.report.notes import (
    missing_jobs,
    no_better_remarks,
    retrieved,
    seen_in_training,
    unlike_in_all,
    unlike_in_one,
)
from cse.lab.report.paper_groups import Groups
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
    first_few,
    legend_of,
    number,
    probability,
    signed,
)
from cse.lab.report.spec import Spec
from cse.lab.report.statistics import (
    Effect,
    SeedSpread,
    Value,
    compare_seeds,
    holm,
    is_shown,
    mean_and_sd,
    reach_of_noise,
)
from cse.lab.sections import Section
from cse.lab.settings.values import same


@dataclass(frozen=True)
class Cell:
    """A number of the paper and ours: a line of report.csv, in this order. None and "": it is not known.

    runs: those that count (Group.distinct); expected_runs: planned jobs. difference: ours minus the printed number;
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


@dataclass(frozen=True)
class OneScore:
    """The cells of a column with one score and one statistic: others have no best in common, nor one deviation over
    seeds.

    groups: by row. spread: how much seeds vary in the cells with several; None without such cells. tied: the rows that
    no other has won over (see `ties`).
    """

    column: str
    groups: dict[str, Group]
    spread: SeedSpread | None
    tied: list[str]

    @property
    def seed_sd(self) -> float | None:
        """A seed's deviation; None if no cell has several."""
        return self.spread.sd if self.spread else None


def paper_table(
    spec: Spec, published: Published, groups: Groups, runs: list[Run], expected: list[Where], confidence: float
) -> tuple[Cells, Section]:
    """The groups of runs beside the published table: its cells, and the section of them.

    expected: every job's axes, as the sweep plans them.
    """
    alike = scores_of_columns(groups, confidence)
    cells = {
        (row, column): printed_cell(spec, published, row, column)
        for row, of in published.cells.items()
        for column in of
    }
    for one in alike:
        for row, group in one.groups.items():
            line = spec.columns[one.column]
            base = None if line.config or row not in spec.baselines else groups[spec.baselines[row], one.column]
            printed = published.cells[row][one.column]
            cells[row, one.column] = with_runs(
                cells[row, one.column],
                group,
                verdict=judge(group, printed, one.column, spec, one.seed_sd, confidence),
                gain=Gain() if base is None else gain_over(group, base, confidence),
                is_tied=row in one.tied,
                jobs=number_of_jobs({**spec.rows[row].where, **line.where}, expected),
                confidence=confidence,
            )
    missing = [*unscored_cells(groups), *missing_jobs(runs, expected)]
    section = replace(
        as_section(published, cells),
        notes=[*published.notes, *notes_on_cells(groups, spec, runs, alike, 1 - confidence)],
        legend=legend_of_cells(cells.values(), spec, confidence),
        missing=list(dict.fromkeys(missing)),
    )
    return cells, section


def scores_of_columns(groups: Groups, confidence: float) -> list[OneScore]:
    """The cells that runs may fill, those of one column, score and statistic together."""
    found: dict[tuple[str, str | None, str], dict[str, Group]] = {}
    for (row, column), group in groups.items():
        found.setdefault((column, group.metric, group.aggregate), {})[row] = group
    alike = []
    for (column, *_), by_row in found.items():
        spread = seed_spread(by_row.values())
        tied = ties(by_row, spread.sd if spread else None, confidence)
        alike.append(OneScore(column, by_row, spread, tied))
    return alike


def unscored_cells(groups: Groups) -> list[str]:
    """A line for each cell of which finished runs lack the score."""
    return [
        f"{row}, {column}: {group.unscored} finished run(s) did not measure {group.metric}"
        for (row, column), group in groups.items()
        if group.unscored
    ]


def printed_cell(spec: Spec, published: Published, row: str, column: str) -> Cell:
    """A cell without runs. A column that no run measures (widths) has no verdict."""
    printed = published.cells[row][column]
    verdict = ""
    if row in published.others:
        verdict = PUBLISHED_ONLY
    elif row not in spec.rows:
        verdict = NOT_RUN
    return Cell(
        row,
        column,
        published.split_of(column),
        published=printed.mean if printed else None,
        published_sd=printed.sd if printed else None,
        published_n=printed.n if printed else None,
        gain_published=printed_gain(spec, published, row, column),
        p_published=published.p_values.get((row, column), ""),
        verdict=verdict,
        published_note=printed.note if printed else "",
    )


def printed_gain(spec: Spec, published: Published, row: str, column: str) -> float | None:
    """The printed number minus that of the row's baseline; None if there is none, and for the value of a key."""
    if row not in spec.baselines or column not in spec.columns or spec.columns[column].config:
        return None
    ours, theirs = published.cells[row][column], published.cells[spec.baselines[row]][column]
    return ours.mean - theirs.mean if ours and theirs else None


class Gain(NamedTuple):
    """Our row over our baseline's, by Welch's test, which does not assume equal variances, and by Student's, which is
    that of NonLing-CSE's Table 3. Without both: one side has too few seeds for a test."""

    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p_student: float | None = None
    p_welch: float | None = None


def gain_over(group: Group, base: Group, confidence: float) -> Gain:
    """The gain over the baseline's runs; an empty one if a side has none."""
    if not group.values or not base.values:
        return Gain()
    found = compare_seeds(group.side, base.side, confidence)
    if found.test != "Welch":
        return Gain(found.effect)
    student = stats.ttest_ind(group.values, base.values)
    return Gain(found.effect, found.low, found.high, float(student.pvalue), found.p)


def with_runs(
    cell: Cell, group: Group, *, verdict: str, gain: Gain, is_tied: bool, jobs: int | None, confidence: float
) -> Cell:
    """The cell with what our runs give. jobs: how many are planned."""
    if not group.values:
        filled = replace(cell, metric=group.metric or "", aggregate=group.aggregate)
        return replace(filled, runs=group.distinct, expected_runs=jobs, verdict=verdict)
    ours = mean_and_sd(group.values)
    apart = Effect()
    if cell.published is not None and verdict != OTHER_SETTING:  # such a difference would mean nothing
        apart = compare_seeds(group.side, cell.published, confidence)
    return replace(
        cell,
        metric=group.metric or "",
        aggregate=group.aggregate,
        ours=ours.mean,
        ours_sd=ours.sd,
        seeds=len(group.values),
        runs=group.distinct,
        expected_runs=jobs,
        difference=apart.effect,
        difference_low=apart.low,
        difference_high=apart.high,
        gain=gain.effect,
        gain_low=gain.low,
        gain_high=gain.high,
        p_student=gain.p_student,
        p_welch=gain.p_welch,
        tied_with_best=is_tied,
        verdict=verdict,
        data="partial" if group.altered else "whole",
        no_better=group.no_better,
        values=" ".join(map(repr, group.values)),
    )


def number_of_jobs(where: Where, expected: list[Where]) -> int | None:
    """How many planned jobs belong to a cell; None if the sweep's axes cannot tell."""
    if not expected or not set(where) <= set(expected[0]):
        return None
    return sum(all(key in job and same(job[key], value) for key, value in where.items()) for job in expected)


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
    if departures_in(group.runs, spec.setting):
        return OTHER_SETTING
    ours, line = mean_and_sd(group.values), spec.columns[column]
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
    of = {row: mean_and_sd(group.values) for row, group in filled.items()}
    first = next(iter(filled.values()))
    sign = 1 if score_named(first.runs, first.metric).lower_is_better else -1
    best = min(of, key=lambda row: sign * of[row].mean)
    others = [row for row in filled if row != best]
    p_values = holm([compare(filled[best], filled[row], confidence).p for row in others])
    knows_noise = seed_sd is not None or of[best].sd is not None

    def is_tied(row: str, p: float) -> bool:
        if not math.isnan(p) or not knows_noise:
            return not is_shown(p, 1 - confidence)
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


def notes_on_cells(groups: Groups, spec: Spec, runs: list[Run], alike: Sequence[OneScore], level: float) -> list[str]:
    """How runs differ from the paper's setting, what they retrieved, what their seeds show, and which cells join runs
    that are not alike."""
    every = [run for group in groups.values() for run in group.runs]
    lines = notes_on_departures(every, spec.setting)
    done = [run for run in runs if run.is_done]
    by_row = {row: [run for run in done if run.matches(line.where)] for row, line in spec.rows.items()}
    lines += retrieved({row: own[-1] for row, own in by_row.items() if own})
    for row, own in by_row.items():
        lines += [f"{row}: {remark}" for remark in no_better_remarks(own) + seen_in_training(own)]
    lines += notes_on_seeds(alike, len(spec.rows), level)
    for (row, column), group in groups.items():
        joined = unlike_in_one(group.runs, spec.seed, settings=group.aggregate == "mean")
        lines += [f"{row}, {column}: {remark}" for remark in joined]
    return lines + unlike_in_all("cells", every, lines)


def notes_on_seeds(alike: Sequence[OneScore], rows: int, level: float) -> list[str]:
    """What seeds show, a line for each column and score that several rows have. rows: of the table that runs fill."""
    lines = []
    for one in alike:
        said = one.spread.in_words(level) if one.spread else ""
        if said and len(one.groups) == rows:
            lines.append(f"{one.column}: {said}")
        elif said and len(one.groups) > 1:
            lines.append(f"{one.column} of {first_few(list(one.groups))}: {said}")
    return lines


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


TEXTS: dict[str, Callable[[Cell, int | None], str]] = {
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
        {name: [fact(cell, printed.digits(cell.column)) for cell in cells.values()] for name, fact in TEXTS.items()},
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
    facts = [field.name for field in fields(Cell)]
    frame = pd.DataFrame([asdict(cell) for cell in cells.values()], columns=facts, dtype=object)
    return Section(printed.title, text, bold=bold, frame=frame)
