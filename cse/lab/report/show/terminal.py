"""A report on the terminal.

To read: `show_report` prints what is not done, the sections (`show_section`), and what is best.
"""

import sys
from itertools import chain
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from cse.lab.report.formats import folded
from cse.lab.report.show.document import NOT_DRAWN, Best, Report
from cse.lab.report.show.look import TONE_OF
from cse.lab.sections import Section

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

    In a table that is wider than the terminal, each folder has its own line. If the table is still wider, its last
    columns stand below it.
    """
    table, labels = section.table, section.label_columns
    names = [name or None for name in table.columns[:labels]]
    index = pd.MultiIndex.from_arrays(table.iloc[:, :labels].map(folded).T.to_numpy(), names=names)
    cells = table.iloc[:, labels:].map(folded).set_axis(index)
    short = list(map(folded, cells.columns))
    if len(set(short)) == len(short):
        cells.columns = short
    text = cells.to_string(sparsify=False)
    if width is None or len(text.partition("\n")[0]) <= width:
        return text
    others = cells.drop(columns="folder", errors="ignore")
    lines = others.to_string(line_width=width, sparsify=False).splitlines()
    folders = cells["folder"].radd("    ") if "folder" in cells else [""] * len(cells)
    rows = zip(lines[-len(cells) :], folders, strict=True)
    return "\n".join([*lines[: -len(cells)], *filter(None, chain.from_iterable(rows))])


def show_findings(section: Section, console: Console) -> None:
    """Print the findings: a short line for each, and its numbers below."""
    for note in section.notes:
        console.print(Text(note, style="bold"))
    for finding in section.findings:
        verdict = Text(f"{finding.verdict_in_words:12}", style=terminal_style(finding.verdict))
        console.print(Text.assemble(verdict, " ", finding.claim, (f"  ({finding.source})", "dim")))
        numbers = [f"{name} {fact}" for name, fact in finding.facts.items() if fact]
        if numbers:
            console.print(Text(f"             {'; '.join(numbers)}", style="dim"))


def show_best(best: Best, console: Console) -> None:
    """Print the best setting, with the score that leads, and the command for more seeds."""
    score = best.score if best.leading == best.by else f"{best.leading} {best.score}"
    doubt = f" ({best.doubt})" if best.doubt else ""
    words = f"\n* best by {best.by}: {best.setting}: "
    console.print(Text.assemble(words, (score, "bold"), doubt), soft_wrap=True)
    if best.again:
        console.print(Text(f"  more seeds of it: {best.again}"), soft_wrap=True)
