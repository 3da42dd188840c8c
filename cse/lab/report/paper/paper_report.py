"""The report of a sweep: the runs of the sweep beside the paper's table or figures.

Start at `report_of_sweep`. If all published cells are empty, a separate table compares the runs with each other. Smoke
runs, of tiny sizes, always have a separate table.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from cse.lab.folder.runs import Run
from cse.lab.folder.status import State, counted
from cse.lab.report.any_runs.comparison import Comparison, compare_runs
from cse.lab.report.any_runs.runs_table import rows_of_runs
from cse.lab.report.any_runs.settings_table import settings_section, unranked_section
from cse.lab.report.paper.claims import judge_claims
from cse.lab.report.paper.claims_table import claims_frame, claims_section, headline
from cse.lab.report.paper.departures import notes_on_departures
from cse.lab.report.paper.figures import draw_figure
from cse.lab.report.paper.missing_jobs import missing_jobs
from cse.lab.report.paper.paper_table import paper_table
from cse.lab.report.paper.published import read_paper
from cse.lab.report.paper.report_block import Plot, published_beside
from cse.lab.report.paper.sweep_runs import SweepRuns, read_sweep_runs
from cse.lab.report.show.document import Picture, Report
from cse.lab.sections import Section
from cse.lab.settings.values import PlainConfig


def report_of_sweep(config: PlainConfig, folders: list[Path]) -> Report:
    """Return a sweep's runs beside the paper's table, with the claims and figures.

    folders: the folders of the runs; []: the folder in which `cse-train sweep=...` trains.
    """
    sweep = read_sweep_runs(config, folders)
    block = sweep.block
    table, frame = paper_table(sweep) if block.table else (None, None)
    claims = judge_claims(sweep)
    sections = [table, beside_each_other(sweep), smoke_section(sweep), claims_section(claims) if claims else None]
    paper = read_paper(block.paper)
    source = paper | paper["tables"].get(block.table, {})  # a table may have its own paper and link
    states = counted([run.state for run in sweep.every_run]) if sweep.every_run else "No run"
    return Report(
        title=sweep.name,
        subtitle=f"{source['paper']}. {states} ({', '.join(map(str, sweep.places))}).",
        sections=[section for section in sections if section is not None],
        csv={"report.csv": frame, "claims.csv": claims_frame(claims) if claims else None},
        verdicts=headline(claims) if claims else "",
        pictures=[picture_of(plot, sweep) for plot in block.figures],
        log=log_of_runs(sweep.every_run, block.seed),
        link=source.get("link", ""),
        start="" if any(run.is_done for run in sweep.every_run) else f"cse-train sweep={sweep.name}",
    )


def beside_each_other(sweep: SweepRuns) -> Section | None:
    """Return a section that compares the runs by the scores in figures; None without runs, or if any cell is filled."""
    if not sweep.runs or any(group.values for group in sweep.groups.values()):
        return None
    label, expected = (f"{sweep.name}-runs", []) if sweep.block.table else (sweep.name, sweep.expected)
    begun = [run for run in sweep.runs if run.has_results or run.state in (State.RUNNING, State.STOPPED)]
    comparison = compared_by_figures(sweep, begun or sweep.runs)
    section = settings_section(comparison, label, sweep.confidence)
    departures = notes_on_departures([run for run in sweep.runs if run.is_done], {})
    return replace(
        section,
        title=counted([run.state for run in comparison.runs]),
        notes=[*departures, *section.notes],
        missing=list(dict.fromkeys(missing_jobs(sweep.runs, expected, sweep.block.seed))),
        layout="rows",
    )


def smoke_section(sweep: SweepRuns) -> Section | None:
    """Return a section that compares the smoke runs with each other; None without smoke runs."""
    return unranked_section(compared_by_figures(sweep, sweep.smoke)) if sweep.smoke else None


def compared_by_figures(sweep: SweepRuns, runs: Sequence[Run]) -> Comparison:
    """Return the comparison of the runs with each other, by the scores on the axes of the figures."""
    measured = {name for run in runs for name in run.metrics}
    scores = [score for plot in sweep.block.figures for score in plot.metrics if score in measured]
    return compare_runs(runs, sweep.places, scores, sweep.block.seed)


def picture_of(plot: Plot, sweep: SweepRuns) -> Picture:
    """Return a figure, with the paper's claims about the figure."""
    published = published_beside(plot, sweep.block.paper)
    return Picture(plot.name, draw_figure(plot, sweep.block, sweep.runs), claims=published.claims if published else [])


def log_of_runs(runs: Sequence[Run], seed_key: str) -> pd.DataFrame | None:
    """Return a row for each run, with its command, commit and device; None without runs."""
    frame = rows_of_runs(runs, [seed_key], [])
    columns = ["folder", "state", seed_key, "command", "git_commit", "code", "device"]
    return frame[columns].fillna("").astype(str) if runs else None
