"""What a report shows, as data: its sections, and what stands beside them on the page and in short on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from cse.lab.folder.runs import Run
from cse.lab.report.paper.claims import JudgedClaim
from cse.lab.sections import Section

NOT_DRAWN = "Not drawn: no finished run has what it shows."


@dataclass(frozen=True)
class Picture:
    """A figure's file, or None if no finished run has what it shows, and the paper's words about it."""

    name: str
    path: Path | None
    claims: Sequence[str] = ()


@dataclass(frozen=True)
class Best:
    """The best setting.

    by: the score that chose it. leading: the score that is shown of it. score: the value of that, as text. doubt: why
    the setting has not won. again: the command that trains more seeds of it.
    """

    setting: str
    by: str
    leading: str
    score: str
    doubt: str
    again: str


@dataclass(frozen=True)
class Unfinished:
    """A run, or a planned job without one, that is not done."""

    state: str
    folder: str
    why: str


@dataclass(frozen=True)
class OfPaper:
    """What the report of a sweep has besides tables.

    claims: as judged. log: the runs behind the page. grid: the first section as its paper prints it, under `columns`.
    link: the paper's address. start: the command that makes the runs, if none is done.
    """

    claims: list[JudgedClaim] = field(default_factory=list)
    pictures: Sequence[Picture] = ()
    log: Sequence[Run] = ()
    grid: Mapping[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    columns: Sequence[str] = ()
    link: str = ""
    start: str = ""


@dataclass(frozen=True)
class Report:
    """What a report shows.

    sections: tables with notes, in every medium. csv: by file's name; None removes an earlier report's file. best,
    pending, hint, charts: on the page, and in short on the terminal. runs: a table of all runs, on the page alone.
    paper: what only the report of a sweep has.
    """

    title: str
    subtitle: str
    sections: list[Section]
    csv: dict[str, pd.DataFrame | None]
    best: Best | None = None
    pending: Sequence[Unfinished] = ()
    hint: str = ""
    charts: Mapping[str, go.Figure] = field(default_factory=dict)
    runs: Section | None = None
    paper: OfPaper = field(default_factory=OfPaper)
