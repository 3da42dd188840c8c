"""A report on the terminal.

To read: `show_report` prints what is not done, the sections (`show_section`), and what is best.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from cse.lab.report.formats import folded
from cse.lab.report.show.document import NOT_DRAWN, Best, Report
from cse.lab.report.show.look import TONE_OF
from cse.lab.sections import Section
from cse.lab.text_columns import to_columns

MANY = 10  # unfinished runs that are named one by one


def show_report(report: Report, out: Path, console: Console) -> None:
    """Print the report: what is not done, its sections and pictures, and what is best. out: the report's folder."""
    console.print(Text.assemble((report.title, "bold"), f"  {report.subtitle}"), soft_wrap=True)
    for state, folder, why in report.pending[:MANY]:
        coloured = Text(f"{state:8}", style=terminal_style(state))
        console.print(Text.assemble(coloured, " ", folder, (f"  {why}", "dim")), soft_wrap=True)
    if len(report.pending) > MANY:
        console.print(Text(f"and {len(report.pending) - MANY} more, in runs.csv", style="dim"))
    for section in report.sections:
        console.print()
        show_section(section, console)
    if report.hint:
        console.print(Text(report.hint, style="dim"))
    for picture in report.pictures:
        drawn = str(out / picture.file) if picture.figure else NOT_DRAWN
        console.print(Text(f"{picture.name}: {drawn}", style="dim"))
    if report.best:
        show_best(report.best, console)


def open_console() -> Console:
    """The terminal. Into a pipe or a file, lines may be of any length."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def terminal_style(word: str) -> str:
    """The colour of a verdict or a state on the terminal; "" if it has none."""
    return TONE_OF[word].terminal if word in TONE_OF else ""


def show_section(section: Section, console: Console) -> None:
    """Print a table without cutting numbers, and the lines below it; or its findings."""
    if section.findings:
        show_findings(section, console)
        return
    if section.title:
        console.print(Text(section.title, style="bold"), soft_wrap=True)
    if not section.table.empty:
        text = Text(table_as_text(section, console.width if console.is_terminal else None))
        for verdict, tone in TONE_OF.items():
            text.highlight_words([verdict], tone.terminal)
        console.print(text, soft_wrap=True)
    for line in section.lines_below:
        console.print(Text(line, style="dim"))


def table_as_text(section: Section, width: int | None) -> str:
    """The section's table in columns. width: of the terminal; None: lines may be of any length.

    If the table is wider than the terminal, names of scores lose what all of them begin with, and each folder has its
    own line. If it is still wider, its last columns stand below, beside the same names of lines.
    """
    table, words = section.table.map(folded), section.label_columns
    heads = list(map(folded, table.columns))
    if len(set(heads)) == len(heads):
        table.columns = heads
    whole = list(range(len(table.columns)))
    text = columns_of(table, whole, words)
    if width is None or width_of(text) <= width:
        return text
    shared = section.column_prefix
    table.columns = [name.removeprefix(shared) for name in section.table.columns]
    folders = list(table["folder"]) if "folder" in table else []
    blocks = [list(range(words))]
    for column in [place for place in whole[words:] if table.columns[place] != "folder"]:
        if len(blocks[-1]) > words and width_of(columns_of(table, [*blocks[-1], column], words)) > width:
            blocks.append(list(range(words)))
        blocks[-1].append(column)
    texts = [columns_of(table, block, words) for block in blocks]
    if folders:
        head, *lines = texts[-1].splitlines()
        pairs = zip(lines, folders, strict=True)
        texts[-1] = "\n".join([head, *(line for row, folder in pairs for line in (row, f"    {folder}"))])
    above = [f"scores: {shared}..."] if shared.strip("/") else []
    return "\n\n".join(["\n".join([*above, texts[0]]), *texts[1:]])


def columns_of(table: pd.DataFrame, chosen: Sequence[int], words: int) -> str:
    """These columns as text. words: how many columns name a line; the others are aligned at the right."""
    part = table.iloc[:, list(chosen)]
    rows = [list(part.columns), *part.to_numpy().tolist()]
    return to_columns(rows, right=range(words, len(chosen)))


def width_of(text: str) -> int:
    """The width of the widest line."""
    return max(map(len, text.splitlines()))


def show_findings(section: Section, console: Console) -> None:
    """Print the findings: the verdict and the claim, and below them a line for each number."""
    for note in section.notes:
        console.print(Text(note, style="bold"))
    for finding in section.findings:
        verdict = Text(f"{finding.verdict_in_words:12}", style=terminal_style(finding.verdict))
        console.print(Text.assemble(verdict, " ", finding.claim))
        facts = {"source": finding.source, **finding.facts}
        for name, fact in facts.items():
            if fact:
                console.print(Text(f"    {name:12} {fact}", style="dim"))


def show_best(best: Best, console: Console) -> None:
    """Print the best setting, with the score that leads, and the command for more seeds."""
    score = best.score if best.leading == best.by else f"{best.leading} {best.score}"
    console.print()
    console.print(Text.assemble(f"* best by {best.by}: ", (score, "bold")), soft_wrap=True)
    console.print(Text(f"  setting: {best.setting}"), soft_wrap=True)
    if best.doubt:
        console.print(Text(f"  {best.doubt}"))
    if best.again:
        console.print(Text(f"  more seeds: {best.again}"), soft_wrap=True)
