"""A report on the terminal.

`show_report` prints the unfinished runs, the sections (`show_section`), and the best setting. `fitted_lines` fits a
table to the terminal's width.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from cse.lab.report.formats import folded
from cse.lab.report.show.document import NOT_DRAWN, Best, Report
from cse.lab.report.show.look import tone_of, verdict_places
from cse.lab.sections import Section
from cse.lab.text_columns import BETWEEN, WORD, aligned, command_at_width, in_column

MANY = 10  # at most this many unfinished runs have a line each


def show_report(report: Report, out: Path, console: Console) -> None:
    """Print the report: unfinished runs, sections, pictures, and the best setting or verdicts. out: its folder."""
    console.print(Text.assemble((report.title, "bold"), f"  {report.subtitle}"))
    if report.verdicts:
        console.print(Text(report.verdicts, style="bold"))
    shown = report.pending[:MANY]
    width = max((len(state) for state, *_ in shown), default=0)
    for state, folder, why in shown:
        coloured = Text(state.ljust(width), style=terminal_style(state))
        console.print(Text.assemble(coloured, BETWEEN, folder, (f"  {why}", "dim")))
    if len(report.pending) > MANY:
        console.print(Text(f"and {len(report.pending) - MANY} more, in runs.csv", style="dim"))
    for section in report.sections:
        console.print()
        show_section(section, console)
    if report.hint:
        console.print(Text(report.hint, style="dim"))
    for picture in (picture for picture in report.pictures if picture.is_of_paper):
        drawn = str(out / picture.file) if picture.figure else NOT_DRAWN
        console.print(Text(f"{picture.name}: {drawn}", style="dim"))
    if report.best:
        show_best(report.best, console)


def open_console() -> Console:
    """Return the console of the terminal. In a pipe or a file, lines may have any length."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def terminal_style(verdict: str) -> str:
    """Return the colour of a verdict or a state on the terminal; "" for any other text."""
    tone = tone_of(verdict)
    return tone.terminal if tone else ""


def show_section(section: Section, console: Console) -> None:
    """Print a section: a paper's claims, or a table and the lines below the table. No number is truncated."""
    if section.layout == "claims":
        show_claims(section, console)
        return
    if section.title:
        console.print(Text(section.title, style="bold"))
    if not section.shown.empty:
        lines = fitted_lines(section, console.width if console.is_terminal else None)
        console.print(Text("\n").join(lines), soft_wrap=True)
    for line in section.lines_below:
        console.print(Text(line, style="dim"))


def fitted_lines(section: Section, width: int | None) -> list[Text]:
    """Return the lines of the section's table. width: the terminal's width; None: lines may have any length.

    If the table is wider than the terminal, names of scores lose their common beginning, and each folder has its own
    line. If the table is still too wide, its last columns form a block below the table. The block repeats the names of
    the rows. If the widest column does not fit beside these names, the longest names are shortened.
    """
    table = section.shown.map(folded)
    heads = list(map(folded, table.columns))
    if len(set(heads)) == len(heads):
        table.columns = heads
    lines = lines_of(table, section.label_columns)
    if width is None or widest(lines) <= width:
        return lines
    table.columns = [name.removeprefix(section.column_prefix) for name in section.shown.columns]
    shorten_names(table, section.label_columns, width)
    *above, last = [lines_of(block, section.label_columns) for block in blocks_of(table, section.label_columns, width)]
    if "folder" in table:
        last = with_lines_of_folders(last, [folded(name, width - 4) for name in section.shown["folder"]])
    is_path = section.column_prefix.rpartition("/")[0]  # not "/", and not the prefix of a p
    shared = [Text(f"scores: {section.column_prefix}...")] if is_path else []
    return [*shared, *(line for block in above for line in (*block, Text())), *last]


def shorten_names(table: pd.DataFrame, label_columns: int, width: int) -> None:
    """Shorten the names in the widest label column if a block does not fit. Different names stay different."""
    sizes = [max(map(len, [name, *cells])) for name, cells in table.drop(columns="folder", errors="ignore").items()]
    excess = sum(sizes[:label_columns]) + max(sizes[label_columns:], default=0) + len(BETWEEN) * label_columns - width
    place = max(range(label_columns), key=sizes.__getitem__, default=0)
    column = table.iloc[:, place]
    shortened = [column.map(partial(folded, most=most)) for most in range(max(10, sizes[place] - excess), sizes[place])]
    table.isetitem(place, next((names for names in shortened if names.nunique() == column.nunique()), column))


def blocks_of(table: pd.DataFrame, label_columns: int, width: int) -> list[pd.DataFrame]:
    """Return the table without folders, in blocks that fit into the width. Each block begins with the label columns."""
    labels = list(range(label_columns))
    blocks = [labels]
    for column in range(label_columns, len(table.columns)):
        if table.columns[column] == "folder":
            continue
        wider = [*blocks[-1], column]
        if blocks[-1] != labels and widest(lines_of(table.iloc[:, wider], label_columns)) > width:
            blocks.append([*labels, column])
        else:
            blocks[-1] = wider
    return [table.iloc[:, block] for block in blocks]


def with_lines_of_folders(lines: Sequence[Text], folders: Sequence[str]) -> list[Text]:
    """Return the lines of a table, with the folder of each row in a line below the row."""
    head, *rows = lines
    pairs = zip(rows, folders, strict=True)
    return [head, *(line for row, folder in pairs for line in (row, Text(f"    {folder}")))]


def lines_of(table: pd.DataFrame, label_columns: int) -> list[Text]:
    """Return a table as lines: the names of its columns, then its rows. Verdicts have their colours.

    label_columns: the number of columns that name a row. The other columns are aligned at the right.
    """
    coloured = verdict_places(table)
    rows = [[str(name) for name in table.columns], *table.to_numpy().tolist()]
    texts = aligned(rows, right=range(label_columns, len(table.columns)))
    lines = []
    for row, cells in enumerate(texts, -1):  # row -1: the names
        line = Text()
        for column, cell in enumerate(cells):
            line.append(cell, terminal_style(cell.strip()) if (row, column) in coloured else "").append(BETWEEN)
        line.rstrip()
        lines.append(line)
    return lines


def widest(lines: Sequence[Text]) -> int:
    """Return the width of the widest line on a terminal."""
    return max(line.cell_len for line in lines)


def show_claims(section: Section, console: Console) -> None:
    """Print a paragraph for each claim: a line with verdict and claim, and below it a line for each other fact."""
    for row in section.shown.to_dict("records"):
        verdict = Text(f"{row['verdict']:12}", style=terminal_style(row["verdict"]))
        console.print(Text.assemble(verdict, " ", row["claim"]))
        for name, fact in row.items():
            if fact and name not in ("claim", "verdict"):
                head = f"    {name:12} "
                line = in_column(head, fact, console.width) if console.is_terminal else head + fact
                console.print(Text(line, style="dim"))


def show_best(best: Best, console: Console) -> None:
    """Print the best setting, with its leading score, and the commands for more seeds.

    On a terminal, the score and a command have lines of their own if the line is too wide. A pipe gets whole lines.
    """
    width = console.width if console.is_terminal else sys.maxsize
    line = Text.assemble(f"* {best.named} (", (best.shown, "bold"), ")")
    if line.cell_len > width:
        line = Text.assemble(in_column("* ", best.named, width), "\n  ", (best.shown, "bold"))
    console.print()
    console.print(line, soft_wrap=True)
    for fact, style in ((best.untrained, "bold"), (best.verdict, "")):
        if fact:
            console.print(Text(in_column("  ", fact, width), style=style), soft_wrap=True)
    for name, command in best.again.items():
        named = f"more seeds of {name}:"
        line = Text(f"  {named} {command}")
        if line.cell_len > width:
            wrapped = command_at_width(WORD.findall(command), "    ", width)
            line = Text(in_column("  ", named, width) + f"\n{wrapped}")
        console.print(line, soft_wrap=True)
