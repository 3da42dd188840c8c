"""A report on the terminal."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import pandas as pd
from rich.console import Console
from rich.text import Text

from cse.lab.report import findings
from cse.lab.report.comparison import Comparison
from cse.lab.report.frame import folded
from cse.lab.report.markup import VERDICTS
from cse.lab.sections import Section

COLOURS = {name: colour for name, (colour, _) in VERDICTS.items()}
COLOURS |= {"running": "yellow", "failed": "red", "stopped": "magenta"}
MANY = 10  # unfinished runs that are named one by one


def console() -> Console:
    """The terminal. Into a pipe or a file, lines may be of any length."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def show(section: Section, console: Console) -> None:
    """Print a table without cutting numbers, and the remarks. In a table that is wider than the terminal, each folder
    has its own line. If the table is still wider, its last columns are printed below it."""
    if section.title:
        console.print(Text(section.title, style="bold"), soft_wrap=True)
    table, words = section.table, section.words
    if not table.empty:
        names = [name or None for name in table.columns[:words]]
        index = pd.MultiIndex.from_arrays(table.iloc[:, :words].map(folded).T.to_numpy(), names=names)
        width = console.width if console.is_terminal else None
        cells = table.iloc[:, words:].map(folded).set_axis(index)
        short = list(map(folded, cells.columns))
        cells.columns = short if len(set(short)) == len(short) else cells.columns
        shown = cells.to_string(sparsify=False)
        if width and len(shown.partition("\n")[0]) > width:
            others = cells.drop(columns="folder", errors="ignore")
            lines = others.to_string(line_width=width, sparsify=False).splitlines()
            folders = cells["folder"].radd("    ") if "folder" in cells else [""] * len(cells)
            rows = zip(lines[-len(cells) :], folders, strict=True)
            shown = "\n".join([*lines[: -len(cells)], *filter(None, chain.from_iterable(rows))])
        text = Text(shown)
        for verdict, colour in COLOURS.items():
            text.highlight_words([verdict], colour)
        console.print(text, soft_wrap=True)
    for line in section.remarks:
        console.print(Text(line, style="dim"))


def show_claims(claims: pd.DataFrame, console: Console) -> None:
    """Print the claims: a short line for each, and its numbers below."""
    if len(claims):
        console.print(Text(findings.headline(claims), style="bold"))
    for line in findings.lines(claims):
        says, source, verdict = (line.pop(name) for name in ("claim", "source", "verdict"))
        shown = Text(f"{verdict:12}", style=COLOURS.get(verdict.partition(" (")[0], ""))
        console.print(Text.assemble(shown, " ", says, (f"  ({source})", "dim")))
        numbers = "; ".join(f"{name} {value}" for name, value in line.items() if value)
        console.print(Text(f"             {numbers}", style="dim"))


def show_comparison(comparison: Comparison, sections: Sequence[Section], console: Console, doubt: str = "") -> None:
    """Print the unfinished runs, the sections, of which the first is the comparison's, and the best setting.

    doubt: why this has not won; see cse.lab.report.differences.
    """
    console.print(Text.assemble((comparison.title, "bold"), f"  {comparison.counted}"), soft_wrap=True)
    pending = comparison.pending
    for state, name, why in pending[:MANY]:
        shown = Text(f"{state:8}", style=COLOURS.get(state, ""))
        console.print(Text.assemble(shown, " ", name, (f"  {why}", "dim")), soft_wrap=True)
    if len(pending) > MANY:
        console.print(Text(f"and {len(pending) - MANY} more, in runs.csv", style="dim"))
    hidden = [name for name in comparison.metrics if name not in comparison.chosen]
    more = []
    if hidden:
        suite = "/".join(hidden[0].split("/")[:-1][:2])
        more = [f"{len(hidden)} more scores: metrics=[{suite}/*], report.html and runs.csv"]
    first, *others = sections
    for section in (replace(first, title="", notes=[*more, *first.notes]), *others):
        console.print()
        show(section, console)
    by, best = str(comparison.best_by), comparison.best
    if best is None:
        return
    words = Text(f"\n* best by {by}: {comparison.label(best)}: ")
    console.print(
        Text.assemble(words, (comparison.best_text(best), "bold"), f" ({doubt})" * bool(doubt)), soft_wrap=True
    )
    if again := comparison.more_seeds(best):
        console.print(Text(f"  more seeds of it: {again}"), soft_wrap=True)
