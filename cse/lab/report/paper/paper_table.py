"""The section with a paper's numbers beside our numbers: cells as text, and the notes below the table.

Start at `paper_table`. `as_section` makes a table of the cells' facts (FACTS), `as_in_paper` makes a table in the
paper's layout, and `cells_frame` makes report.csv. Then come the lines below the table: missing runs, the legend and
the notes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from cse.lab.report.formats import bounds, first_few, number, probability, signed
from cse.lab.report.numbers.groups import Group
from cse.lab.report.numbers.notes import (
    detectable_differences,
    nearest_captions,
    no_better_remarks,
    seen_in_training,
)
from cse.lab.report.numbers.statistics import Value
from cse.lab.report.numbers.unlike import differences_in_number, notes_on_unlike_runs, remarks_on_number
from cse.lab.report.paper.cells import Cell, RankedColumn, cells_of, ranked_columns
from cse.lab.report.paper.departures import notes_on_departures
from cse.lab.report.paper.missing_jobs import missing_jobs
from cse.lab.report.paper.published import PublishedTable
from cse.lab.report.paper.report_block import ReportBlock
from cse.lab.report.paper.sweep_runs import SweepRuns
from cse.lab.report.show.look import NO_BETTER, PLUS_MINUS, TIED, legend_of
from cse.lab.report.verdicts import NOT_RUN
from cse.lab.sections import GridCell, PaperSection
from cse.lab.sharing.score_tables import MODIFIED


def paper_table(sweep: SweepRuns) -> tuple[PaperSection, pd.DataFrame]:
    """Return the sweep's runs beside the published table, as a section and as the table of report.csv."""
    ranked = ranked_columns(sweep.groups, sweep.confidence)
    cells = cells_of(sweep, ranked)
    missing = [*unscored_cells(sweep), *missing_jobs(sweep.runs, sweep.expected, sweep.block.seed)]
    section = replace(
        as_section(sweep.published, cells, what_rows_are(sweep.block)),
        label=sweep.name,
        legend=legend_of_cells(cells),
        notes=[*notes_on_verdicts(sweep, cells), *sweep.published.notes, *notes_on_cells(sweep, ranked)],
        missing=list(dict.fromkeys(missing)),
    )
    return section, cells_frame(cells)


def as_section(table: PublishedTable, cells: Sequence[Cell], rows_are: str = "model") -> PaperSection:
    """Return the table as text, without facts that no cell has. rows_are: the heading over the names of rows.

    If the paper's table has one or two columns, each cell has a line, with its facts side by side. If the table has
    more columns, each row of the paper has a block. The block has a line for each fact, under the paper's columns.
    """
    texts = facts_as_text(table, cells)
    best = [line for line, cell in enumerate(cells) if cell.is_marked]
    if len(table.columns) > 2:
        blocks = in_blocks(texts)
        lines, columns = list(blocks.index), list(blocks.columns)
        bold = [(lines.index((row, "ours")), 2 + columns.index(column)) for row, column in texts.index[best]]
        text = blocks.reset_index().set_axis([rows_are, "", *columns], axis=1)
        text.iloc[:, 0] = text.iloc[:, 0].mask(text.iloc[:, 0].duplicated(), "")
    else:
        bold = [(line, 2 + list(texts).index("ours")) for line in best]
        text = texts.reset_index().set_axis([rows_are, "score", *texts.columns], axis=1)
    return PaperSection(table.title, text, bold=bold, grid=as_in_paper(table, cells, rows_are))


def what_rows_are(block: ReportBlock) -> str:
    """Return the heading over the names of the rows.

    If only one key selects the rows, and this key is not `case`, the heading is the last part of the key. Otherwise the
    heading is "model".
    """
    keys = {key for line in block.rows.values() for key in line.where}
    return keys.pop().rpartition(".")[2] if len(keys) == 1 and keys != {"case"} else "model"


def facts_as_text(table: PublishedTable, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a line for each cell and a column for each fact that a cell has. The index has the row and the column."""
    splits = {column: table.split_of(column) for column in table.columns}
    names = {column: column if split == "none" else f"{column} ({split})" for column, split in splits.items()}
    texts = pd.DataFrame(
        {name: [fact(cell, table.digits(cell.column)) for cell in cells] for name, fact in FACTS.items()},
        index=pd.MultiIndex.from_tuples([(cell.row, names[cell.column]) for cell in cells], names=["row", "column"]),
    )
    return texts.loc[:, (texts != "").any()]


def in_blocks(texts: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each row of the paper and each fact of the row, under the paper's columns."""
    lines = texts.stack(future_stack=True).unstack(level=1, sort=False)
    return lines[(lines != "").any(axis=1)]


def as_in_paper(table: PublishedTable, cells: Sequence[Cell], rows_are: str) -> pd.DataFrame:
    """Return the table in the layout of its paper. rows_are: the heading over the names of rows."""
    lines: dict[str, list[GridCell]] = {row: [] for row in table.cells}
    for cell in cells:
        digits = table.digits(cell.column)
        lines[cell.row].append(
            GridCell(
                ours=our_number(cell, digits),
                published=published_number(cell, digits),
                difference=signed(cell.difference.size, digits),
                verdict=shown_verdict(cell),
                is_best=cell.is_marked,
            )
        )
    grid = pd.DataFrame(index=pd.Index(list(lines), name=rows_are), columns=table.columns, dtype=object)
    for row, of_row in lines.items():
        grid.loc[row] = pd.Series(of_row, index=table.columns, dtype=object)
    return grid


def with_spread(value: Value, digits: int | None) -> str:
    """Return the text "mean ± sd (n)"; only the mean if there is no sd."""
    mean = number(value.mean, digits)
    return mean if value.sd is None else f"{mean} {PLUS_MINUS} {number(value.sd, digits)} ({value.n})"


def published_number(cell: Cell, digits: int | None) -> str:
    """Return the published number, with a star if the paper's text garbles the number."""
    if cell.published is None:
        return ""
    text = with_spread(cell.published, digits)
    return f"{text}*" if cell.published.note else text


def our_number(cell: Cell, digits: int | None) -> str:
    """Return our number, how several runs of a seed make it (`made_of`), marks, and any missing runs."""
    if cell.ours is None:
        return ""
    runs, words = cell.group.num_distinct, [with_spread(cell.ours, digits)]
    words += [made_of(cell.group)] if runs > cell.ours.n else []
    words += [MODIFIED] if cell.group.modified else []
    words += [NO_BETTER] if cell.group.no_better else []
    words += [TIED] if cell.is_marked else []
    words += [f"[{runs} of {cell.expected_runs} runs]"] if runs < (cell.expected_runs or 0) else []
    return " ".join(words)


def made_of(group: Group) -> str:
    """Return how several runs of a seed become one number; see `Measure`."""
    seeds = len(group.values)
    if seeds == 1:
        return f"{group.aggregate} of {group.num_distinct}"
    each = "" if group.aggregate == "mean" else f"the {group.aggregate} of each of "
    return f"mean over {each}{seeds} seeds, {group.num_distinct} runs"


def shown_verdict(cell: Cell) -> str:
    """Return the verdict; "" for NOT RUN, because the empty cell already shows this verdict."""
    return "" if cell.verdict == NOT_RUN else cell.verdict


FACTS: dict[str, Callable[[Cell, int | None], str]] = {
    "published": published_number,
    "ours": our_number,
    "difference": lambda cell, digits: signed(cell.difference.size, digits),
    "interval": lambda cell, digits: bounds(cell.difference.low, cell.difference.high, digits),
    "gain": lambda cell, digits: signed(cell.gain.size, digits),
    "its interval": lambda cell, digits: bounds(cell.gain.low, cell.gain.high, digits),
    "published gain": lambda cell, digits: signed(cell.gain_published, digits),
    "published p": lambda cell, _: cell.p_published,
    "p Student": lambda cell, _: probability(cell.p_student),
    "p Welch": lambda cell, _: probability(cell.gain.p),
    "verdict": lambda cell, _: shown_verdict(cell),
}
"""{column: the function that returns a fact of a cell as text}. The second argument is the number of decimals."""


def cells_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the table of report.csv: a row for each cell, unrounded. An unknown value is None or ""."""
    rows = []
    for cell in cells:
        published, ours, group = cell.published, cell.ours, cell.group
        rows.append(
            {
                "row": cell.row,
                "column": cell.column,
                "split": cell.split,
                "metric": group.metric,
                "aggregate": group.aggregate,
                "published": published.mean if published else None,
                "published_sd": published.sd if published else None,
                "published_n": published.n if published else None,
                "ours": ours.mean if ours else None,
                "ours_sd": ours.sd if ours else None,
                "seeds": ours.n if ours else 0,
                "runs": group.num_distinct,
                "expected_runs": cell.expected_runs,
                "difference": cell.difference.size,
                "difference_low": cell.difference.low,
                "difference_high": cell.difference.high,
                "gain": cell.gain.size,
                "gain_low": cell.gain.low,
                "gain_high": cell.gain.high,
                "gain_published": cell.gain_published,
                "p_published": cell.p_published,
                "p_student": known_p(cell.p_student),
                "p_welch": known_p(cell.gain.p),
                "tied_with_best": cell.tied_with_best,
                "verdict": cell.verdict,
                "data": data_of_group(group),
                "no_better": group.no_better if ours else None,
                "published_note": published.note if published else "",
                "values": " ".join(map(repr, group.values)),
            }
        )
    return pd.DataFrame(rows, dtype=object)


def data_of_group(group: Group) -> str:
    """Return "partial" if a run of the group was scored on modified data, else "whole"; "" without runs."""
    if not group.values:
        return ""
    return "partial" if group.modified else "whole"


def known_p(p: float) -> float | None:
    """Return p; None for NaN, which means that there is no test."""
    return None if math.isnan(p) else p


def unscored_cells(sweep: SweepRuns) -> list[str]:
    """Return a line for each cell with finished runs that lack the cell's score, or a number at its config key."""
    lines = []
    for (row, column), group in sweep.groups.items():
        what = group.metric or f"a number at {sweep.block.columns[column].config}"
        if group.unscored:
            runs = "1 finished run" if group.unscored == 1 else f"{group.unscored} finished runs"
            lines.append(f"{row}, {column}: {runs} without {what}")
    return lines


def legend_of_cells(cells: Sequence[Cell]) -> list[str]:
    """Return the meaning of the signs beside numbers."""
    signs = {
        MODIFIED: any(cell.group.modified for cell in cells),
        NO_BETTER: any(cell.group.no_better for cell in cells),
        TIED: any(cell.is_marked for cell in cells),
    }
    return legend_of(signs)


def notes_on_verdicts(sweep: SweepRuns, cells: Sequence[Cell]) -> list[str]:
    """Return the meaning of the verdicts, the gain, p and the intervals."""
    block, lines = sweep.block, []
    if bases := sorted(set(block.baselines.values())):
        lines.append(f"gain and p: against our own runs of {', '.join(bases)}.")
    if any(cell.ours and cell.ours.n == 1 and cell.difference.size is not None for cell in cells):
        lines.append(
            "The verdict on a cell with one seed rests on the SD over seeds of other cells in the column. If no other "
            "cell has several seeds, the verdict is ONE SEED."
        )
    tolerances = {column: line.tolerance for column, line in block.columns.items() if line.tolerance is not None}
    in_columns = "".join(f", {column} within {tolerance:g}" for column, tolerance in tolerances.items())
    lines.append(f"PASS: within {block.tolerance:g} of the published number{in_columns}.")
    lines.append(f"Intervals: {sweep.confidence:.0%}, by Student's t over seeds.")
    return lines


def notes_on_cells(sweep: SweepRuns, ranked: Sequence[RankedColumn]) -> list[str]:
    """Return notes: how runs depart from the paper's setting, which captions they retrieved, which difference their
    seeds detect, and which cells have unlike runs.
    """
    block = sweep.block
    in_cells = [run for group in sweep.groups.values() for run in group.runs]
    lines = notes_on_departures(in_cells, block.paper_setting)
    done = [run for run in sweep.runs if run.is_done]
    by_row = {row: [run for run in done if run.matches(line.where)] for row, line in block.rows.items()}
    lines += nearest_captions({row: of_row[-1] for row, of_row in by_row.items() if of_row})
    for row, of_row in by_row.items():
        lines += [f"{row}: {remark}" for remark in no_better_remarks(of_row) + seen_in_training(of_row)]
    lines += notes_on_seeds(ranked, len(block.rows), 1 - sweep.confidence)
    noted: set[str] = set()
    for (row, column), group in sweep.groups.items():
        differences = differences_in_number(group.runs, block.seed, also_settings=group.aggregate == "mean")
        noted.update(differences)
        lines += [f"{row}, {column}: {remark}" for remark in remarks_on_number(differences)]
    return lines + notes_on_unlike_runs("cells", in_cells, noted)


def notes_on_seeds(ranked: Sequence[RankedColumn], rows: int, level: float) -> list[str]:
    """Return the smallest difference that the seeds of each ranked column with several rows detect.

    rows: the number of rows that runs may fill.
    """
    spreads = {}
    for column in ranked:
        of_rows = "" if len(column.groups) == rows else f" of {first_few(list(column.groups))}"
        if column.spread and len(column.groups) > 1:
            spreads[f"{column.column}{of_rows} "] = column.spread
    return detectable_differences(spreads, level)
