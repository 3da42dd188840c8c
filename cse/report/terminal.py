"""A report on the terminal."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cse.report import findings
from cse.report.cells import NOT_RUN, OTHER_SETTING, PUBLISHED_ONLY
from cse.report.comparison import Comparison
from cse.report.layout import Grid, grid, remarks
from cse.report.table import Table
from cse.report.verdicts import CONTRADICTED, HOLDS, NOT_SEEN, Finding

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {
    "PASS": "green",
    "WITHIN SEED NOISE": "yellow",
    "DIFFERS": "red",
    OTHER_SETTING: "magenta",
    HOLDS: "green",
    NOT_SEEN: "yellow",
    CONTRADICTED: "red",
    "ONE SEED": "bright_black",
    NOT_RUN: "bright_black",
    PUBLISHED_ONLY: "bright_black",
    "running": "yellow",
    "failed": "red",
    "stopped": "magenta",
}
MANY = 10  # runs of one state that are named one by one


def console() -> "Console":
    """The terminal; to a pipe or a file, lines of any length."""
    from rich.console import Console

    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def show(tables: list[Table], console: "Console") -> None:
    """The tables and their remarks on a rich console."""
    from rich.text import Text

    for table in tables:
        console.print(Text(table.title, style="italic"))
        show_grid(grid(table), console)
        for remark in remarks(table):
            console.print(Text(remark, style="dim"))


def show_grid(whole: Grid, console: "Console", fixed: int = 2) -> None:
    """A grid whose cells are never cut: what is wider than a terminal goes on in a table below, with the first columns.

    fixed: how many columns are text and stand before every part; the rest are numbers. Where nobody watches (a pipe, a
    file), a line is as long as it has to be.
    """
    from rich.cells import cell_len
    from rich.text import Text

    widths = [max(map(cell_len, cells)) for cells in zip(whole.header, *whole.lines, strict=True)]
    blocks = len(whole.lines) > len(whole.first)

    def line(cells: list[str], columns: list[int], header: bool = False) -> Text:
        parts: list[tuple[str, str]] = []
        for number in columns:
            space = " " * (widths[number] - cell_len(cells[number]))
            text = cells[number] + space if number < fixed else space + cells[number]
            parts.append((text + "  ", "bold" if header else COLOURS.get(cells[number], "")))
        whole_line = Text.assemble(*parts)
        whole_line.rstrip()
        return whole_line

    for columns in split(widths, fixed, console.width if console.is_terminal else None):
        console.print(line(whole.header, columns, header=True), soft_wrap=True)
        for index, cells in enumerate(whole.lines):
            if index in whole.first and index and blocks:
                console.print()
            console.print(line(cells, columns), soft_wrap=True)


def split(widths: list[int], fixed: int, width: int | None) -> Iterator[list[int]]:
    """The columns of each table that columns of these widths need in `width` characters; None: all of them in one."""
    first = list(range(fixed))
    part: list[int] = []
    for number in range(fixed, len(widths)):
        if part and width is not None and sum(widths[one] + 2 for one in [*first, *part, number]) > width + 2:
            yield [*first, *part]
            part = []
        part.append(number)
    yield [*first, *part]


def show_claims(results: list[Finding], console: "Console") -> None:
    """The claims on a rich console, a short line each and its numbers below."""
    from rich.text import Text

    for finding in results:
        facts = findings.facts(finding)
        verdict = Text(f"{findings.said(finding):12}", style=COLOURS.get(finding.verdict, ""))
        console.print(Text.assemble(verdict, " ", finding.claim.says, (f"  ({finding.claim.source})", "dim")))
        numbers = "; ".join(f"{name} {value}" for name, value in facts.items() if value)
        console.print(Text(f"             {numbers}", style="dim"))


def show_comparison(comparison: Comparison, console: "Console") -> None:
    """What became of runs, a line for each setting, the best, and where the rest stands, on a rich console."""
    from rich.text import Text

    console.print(Text.assemble((comparison.title, "bold"), f"  {comparison.counted}"), soft_wrap=True)
    pending = comparison.pending
    for run, life in pending[:MANY]:
        state = Text(f"{life.state:8}", style=COLOURS.get(life.state, ""))
        console.print(Text.assemble(state, " ", comparison.name(run), (f"  {life.detail}", "dim")), soft_wrap=True)
    if len(pending) > MANY:
        console.print(Text(f"and {len(pending) - MANY} more, in runs.csv", style="dim"))
    if not comparison.ranked:
        return
    console.print()
    show_grid(comparison.grid(), console, fixed=1 + len(comparison.keys))
    hidden = len(comparison.metrics) - len(comparison.chosen)
    if hidden:
        console.print(Text(f"{hidden} more scores: metrics=[test/sts/*], report.html and runs.csv", style="dim"))
    for note in comparison.notes:
        console.print(Text(note, style="dim"), soft_wrap=True)
    best = comparison.ranked[0]
    score = Text(f"\n* best by {comparison.best_by}: {comparison.label(best)}: ")
    console.print(Text.assemble(score, (best.mean_and_sd(comparison.best_by or ""), "bold")), soft_wrap=True)
    if again := comparison.more_seeds(best):
        console.print(Text(f"  more seeds of it: {again}"), soft_wrap=True)
