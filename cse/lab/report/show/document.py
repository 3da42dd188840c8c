"""A report as data: the sections, and the further content of the page and of the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
import plotly.graph_objects as go
from matplotlib.figure import Figure

from cse.lab.report.formats import capitalised
from cse.lab.report.show.look import NO_BETTER, legend_of
from cse.lab.sections import Section
from cse.lab.sharing.score_tables import MODIFIED

NOT_DRAWN = "Not drawn: no finished run has the numbers of this figure."


@dataclass(frozen=True)
class Picture:
    """A figure that matplotlib draws from runs.

    figure: the figure; None if no finished run has the figure's numbers.
    caption: what the figure shows, for LaTeX and Markdown; "" for a figure that has its title inside.
    claims: the paper's claims about the figure.
    is_of_paper: whether the figure belongs to a sweep's paper. All other figures are for the user's own paper. The page
        shows charts in place of these other figures.
    """

    name: str
    figure: Figure | None
    caption: str = ""
    claims: Sequence[str] = ()
    is_of_paper: bool = True

    @property
    def file(self) -> str:
        """The file of the picture in the report's folder."""
        return f"figures/{self.name}.png"


@dataclass(frozen=True)
class Best:
    """The best setting.

    by: the name of the score that ranks settings.
    leading: the name of the score that is shown.
    score: the value of the shown score, as text.
    verdict: whether the setting is significantly better than others (`Differences.verdict`); "" without others.
    untrained: a sentence if no trained setting scores better than the untrained encoder; else "".
    again: {"this setting", or the label of a setting that is not significantly worse: the command for more seeds}.
    """

    setting: str
    by: str
    leading: str
    score: str
    verdict: str
    untrained: str
    again: Mapping[str, str]

    @property
    def named(self) -> str:
        """The setting, and the score by which it is the best."""
        return f"best by {self.by}: {self.setting}"

    @property
    def shown(self) -> str:
        """The shown score, with its name if another score ranks settings."""
        return self.score if self.leading == self.by else f"{self.leading} {self.score}"

    @property
    def headline(self) -> str:
        """The setting with its score and its verdict in one sentence, then `untrained`, and the meaning of signs."""
        sentence = "; ".join(filter(None, [f"{self.named} ({self.shown})", self.verdict]))
        return " ".join(filter(None, [f"{capitalised(sentence)}.", self.untrained, *self.legend]))

    @property
    def legend(self) -> list[str]:
        """The meaning of each mark beside the score."""
        return legend_of({sign: sign in self.score for sign in (MODIFIED, NO_BETTER)})


@dataclass(frozen=True)
class Report:
    """The content of a report.

    sections: tables with notes, on the terminal and in every file except CSV files.
    csv: {file name: the unrounded table}; None removes the file of an earlier report.
    best: the best setting; None if there is none.
    verdicts: how many of a paper's claims have which verdict, in a sentence; "" without claims.
    pending: (state, folder, reason) of each unfinished run or planned job.
    hint: a line on the terminal about where to find the scores that the tables do not show.
    charts: {title: chart} of the page.
    pictures: figures, as files. The page also shows the figures of the sweep's paper.
    all_runs: a table of all runs, on the page.
    log: the command, commit and device of every run, on the page.
    link: the paper's address.
    start: the command that makes the runs, if no run is done.
    gate: the result of the check gate= (cse.lab.report.any_runs.gate), as lines.
    is_passed: False if the gate is not passed.
    """

    title: str
    subtitle: str
    sections: list[Section]
    csv: dict[str, pd.DataFrame | None]
    best: Best | None = None
    verdicts: str = ""
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

    @property
    def headline(self) -> str:
        """The result in a sentence: the best setting, or the verdicts on claims; "" without either."""
        return self.best.headline if self.best else self.verdicts
