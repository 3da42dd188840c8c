"""The report of a sweep: its runs beside its paper's table or figures.

To read: `report_of_sweep`. Runs that fill no published cell stand beside each other in a table of their own, and so do
runs of tiny sizes.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from cse.lab.folder.runs import Run
from cse.lab.folder.status import State, counted
from cse.lab.report.any_runs.comparison import compare_runs
from cse.lab.report.any_runs.runs_table import rows_of_runs
from cse.lab.report.any_runs.settings_table import notes_on_settings, settings_section, unranked_section
from cse.lab.report.numbers.notes import missing_jobs
from cse.lab.report.paper import figures
from cse.lab.report.paper.claims import judge_claims
from cse.lab.report.paper.claims_table import claims_section
from cse.lab.report.paper.departures import notes_on_departures
from cse.lab.report.paper.paper_table import paper_table
from cse.lab.report.paper.published import read_paper
from cse.lab.report.paper.spec import Plot, Spec
from cse.lab.report.paper.sweep_runs import SweepRuns, read_sweep_runs
from cse.lab.report.show.document import Picture, Report
from cse.lab.sections import Section
from cse.lab.settings.values import Config


def report_of_sweep(config: Config, folders: list[Path]) -> Report:
    """A sweep's runs beside the paper's table, or beside each other if it names none, with its claims and figures.

    folders: where the runs are; []: where `cse-train sweep=...` puts them.
    """
    sweep = read_sweep_runs(config, folders)
    claims = claims_section(judge_claims(sweep)) if sweep.spec.claims else None
    table = paper_table(sweep, sweep.published) if sweep.published else None
    sections = [table, beside_each_other(sweep), smoke_section(sweep), claims]
    paper = read_paper(sweep.spec.paper)
    source = paper | paper["tables"].get(sweep.spec.table, {})  # a table may have a paper and link of its own
    states = counted([run.state for run in sweep.every_run]) if sweep.every_run else "No run"
    return Report(
        title=sweep.name,
        subtitle=f"{source['paper']}. {states} ({', '.join(map(str, sweep.places))}).",
        sections=[section for section in sections if section is not None],
        csv={"report.csv": table.frame if table else None, "claims.csv": claims.frame if claims else None},
        pictures=[picture_of(plot, sweep.spec, sweep.runs) for plot in sweep.spec.figures],
        log=log_of_runs(sweep.every_run, sweep.spec.seed),
        link=source.get("link", ""),
        start="" if any(run.is_done for run in sweep.every_run) else f"cse-train sweep={sweep.name}",
    )


def beside_each_other(sweep: SweepRuns) -> Section | None:
    """A line for each setting of runs that fill no published cell, with the scores of the figures.

    None if there are no runs, or if they fill a cell.
    """
    if not sweep.runs or any(group.values for group in sweep.groups.values()):
        return None
    label, expected = (f"{sweep.name}-runs", []) if sweep.published else (sweep.name, sweep.expected)
    begun = [run for run in sweep.runs if run.has_results or run.state in (State.RUNNING, State.STOPPED)]
    comparison = compare_runs(
        begun or sweep.runs, sweep.places, scores_of_figures(sweep.spec, sweep.runs), sweep.spec.seed
    )
    departures = notes_on_departures([run for run in sweep.runs if run.is_done], {})
    return replace(
        settings_section(comparison, label),
        title=counted([run.state for run in comparison.runs]),
        notes=departures + notes_on_settings(comparison),
        missing=list(dict.fromkeys(missing_jobs(sweep.runs, expected))),
        sortable=None,
    )


def smoke_section(sweep: SweepRuns) -> Section | None:
    """The runs of tiny sizes beside each other; None without any."""
    if not sweep.smoke:
        return None
    return unranked_section(
        compare_runs(sweep.smoke, sweep.places, scores_of_figures(sweep.spec, sweep.smoke), sweep.spec.seed)
    )


def scores_of_figures(spec: Spec, runs: Sequence[Run]) -> list[str]:
    """The scores of runs that are on the axes of the figures."""
    measured = {name for run in runs for name in run.metrics}
    return [score for plot in spec.figures for score in plot.metrics if score in measured]


def picture_of(plot: Plot, spec: Spec, runs: list[Run]) -> Picture:
    """A figure, with the paper's claims about it."""
    published = figures.published_beside(plot, spec.paper)
    return Picture(plot.name, figures.draw_figure(plot, spec, runs), published.claims if published else [])


def log_of_runs(runs: Sequence[Run], seed: str) -> pd.DataFrame | None:
    """What made the numbers: every run's command, commit and device; None without runs. seed: the key of seeds."""
    frame = rows_of_runs(runs, [seed], [])
    columns = ["folder", "state", seed, "command", "git_commit", "code", "device"]
    return frame[columns].fillna("").astype(str) if runs else None
