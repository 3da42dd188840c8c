"""A sweep's report as one HTML page that needs no other file."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cse.record.runs import Run
from cse.record.status import status_of
from cse.report import findings
from cse.report.cells import OTHER_SETTING, PUBLISHED_ONLY
from cse.report.comparison import command_of
from cse.report.layout import PLUS_MINUS, TIED, Grid, grid, remarks
from cse.report.render import rendered
from cse.report.table import Table
from cse.report.terminal import COLOURS
from cse.report.verdicts import Finding

MARKS = {  # what may stand in a table: what it means
    PLUS_MINUS: "the sample standard deviation over (n) seeds",
    TIED: "the best of our rows in a column, and those that cannot be told apart from it",
    "*": "a printed number that the paper's text garbles; how it was read stands below the table",
    "interval": "where the difference lies, in brackets",
    "PASS": "the means agree within the tolerance",
    "WITHIN SEED NOISE": "the printed number lies where further runs of ours would be expected",
    "DIFFERS": "it lies further off than seeds explain",
    "ONE SEED": "one run alone, and nothing tells how seeds vary",
    OTHER_SETTING: "our runs are not the paper's experiment (how, is named below the table), so the numbers are not "
    "compared",
    PUBLISHED_ONLY: "another group's model, which is not run here",
}


@dataclass
class Picture:
    """A drawn figure with the paper's own claims about it, or None and why it is not drawn."""

    name: str
    path: Path | None
    claims: Sequence[str] = field(default_factory=list)
    why_not: str = ""


@dataclass
class Report:
    """Everything a report shows: tables, pictures, and the runs behind them."""

    title: str
    subtitle: str
    tables: list[Table]
    pictures: list[Picture]
    runs: list[Run]
    findings: list[Finding] = field(default_factory=list)


def to_html(report: Report) -> str:
    """The whole page; pictures are inside it."""
    return rendered(
        "sweep.html",
        title=report.title,
        subtitle=report.subtitle,
        tables=[
            {"title": table.title, "grid": lines, "remarks": remarks(table), "marks": marks(lines)}
            for table in report.tables
            for lines in [grid(table)]
        ],
        claims=findings.grid(report.findings),
        pictures=[
            {"name": one.name, "image": encoded(one.path), "why_not": one.why_not, "claims": one.claims}
            for one in report.pictures
        ],
        runs=provenance(report.runs),
        verdicts=COLOURS,
    )


def marks(lines: Grid) -> dict[str, str]:
    """The marks and words that stand in a table, with their meanings."""
    cells = {cell for line in [lines.header, *lines.lines] for cell in line}
    signs = "".join(cells)
    return {mark: meaning for mark, meaning in MARKS.items() if (mark in cells if mark[0].isalpha() else mark in signs)}


def encoded(path: Path | None) -> str:
    """A picture's file as base64; "" for None."""
    return base64.b64encode(path.read_bytes()).decode() if path else ""


def provenance(runs: list[Run]) -> Grid:
    """What made the numbers: every run's command (as it is typed, without what a sweep added), commit and device."""
    lines = [
        [
            str(run.folder),
            status_of(run).state,
            str(run.results.get("seed", "")),
            command_of(run),
            str(run.results.get("git_commit") or "")[:9],
            str(run.results.get("device", "")),
            str(run.versions.get("torch", "")),
        ]
        for run in runs
    ]
    return Grid(["folder", "status", "seed", "command", "commit", "device", "torch"], lines, set())
