"""A sweep's report as one HTML page that needs no other file."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cse.report import findings
from cse.report.layout import Grid, grid, remarks
from cse.report.render import rendered
from cse.report.runs import Run
from cse.report.table import Table
from cse.report.terminal import COLOURS
from cse.report.verdicts import Finding


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
        tables=[{"title": table.title, "grid": grid(table), "remarks": remarks(table)} for table in report.tables],
        claims=findings.grid(report.findings),
        pictures=[
            {"name": one.name, "image": encoded(one.path), "why_not": one.why_not, "claims": one.claims}
            for one in report.pictures
        ],
        runs=provenance(report.runs),
        verdicts=COLOURS,
    )


def encoded(path: Path | None) -> str:
    """A picture's file as base64; "" for None."""
    return base64.b64encode(path.read_bytes()).decode() if path else ""


def provenance(runs: list[Run]) -> Grid:
    """What made the numbers: every run's command, seed, commit, device and versions."""
    lines = [
        [
            str(run.folder),
            run.status,
            str(run.results.get("seed", "")),
            str(run.results.get("command", "")),
            str(run.results.get("git_commit") or "")[:9],
            str(run.results.get("device", "")),
            str(run.versions.get("torch", "")),
        ]
        for run in runs
    ]
    return Grid(["folder", "status", "seed", "command", "commit", "device", "torch"], lines, set())
