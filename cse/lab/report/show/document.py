"""What a report shows, as data: its sections, and what stands beside them on the page and in short on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
import plotly.graph_objects as go
from matplotlib.figure import Figure

from cse.lab.sections import Section

NOT_DRAWN = "Not drawn: no finished run has what it shows."


@dataclass(frozen=True)
class Picture:
    """A paper's figure drawn from runs, None if no finished run has what it shows, and the paper's claims about it."""

    name: str
    figure: Figure | None
    claims: Sequence[str] = ()

    @property
    def file(self) -> str:
        """Its file in the report's folder."""
        return f"figures/{self.name}.png"


@dataclass(frozen=True)
class Best:
    """The best setting.

    by: the score that chose it.
    leading: the score that is shown of it.
    score: the value of that, as text.
    doubt: why the setting has not won.
    again: the command that trains more seeds of it.
    """

    setting: str
    by: str
    leading: str
    score: str
    doubt: str
    again: str


@dataclass(frozen=True)
class Report:
    """What a report shows.

    sections: tables with notes, in every medium.
    csv: by file's name; None removes an earlier report's file.
    best, pending, hint, charts: on the page, and in short on the terminal.
    pending: the state, the folder and the reason of each run or planned job that is not done.
    all_runs: a table of all runs, on the page alone, which sorts and filters.
    log: what made the numbers of all runs, on the page alone.
    link: the paper's address.
    start: the command that makes the runs, if none is done.
    gate: what a gate says, in lines.
    is_passed: False if it fails the command.
    """

    title: str
    subtitle: str
    sections: list[Section]
    csv: dict[str, pd.DataFrame | None]
    best: Best | None = None
    pending: Sequence[tuple[str, str, str]] = ()
    hint: str = ""
    charts: Mapping[str, go.Figure] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()
    all_runs: Section | None = None
    log: pd.DataFrame | None = None
    link: str = ""
    start: str = ""
    gate: Sequence[str] = ()
    is_passed: bool = True
