"""The report of a sweep: its runs beside its paper's table or figures.

To read: `report_of_sweep`. Which runs are the sweep's says `runs_of_sweep`, and how each departs from what the sweep
plans departures.py. Runs that fill no printed cell stand beside each other in a table of their own, and so do runs of
made-up sizes.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml

from cse.errors import UserError
from cse.lab.folder.plan import jobs_without_run
from cse.lab.folder.plots import save_figure
from cse.lab.folder.runs import Run, read_runs
from cse.lab.folder.status import State, counted
from cse.lab.report import figures, published
from cse.lab.report.claims import claims_frame, judge_claims
from cse.lab.report.compare import compare_runs
from cse.lab.report.departures import mark_departures, named_sweep, notes_on_departures
from cse.lab.report.notes import missing_jobs
from cse.lab.report.paper_groups import groups_of
from cse.lab.report.paper_table import as_printed, paper_table
from cse.lab.report.settings_section import notes_on_settings, settings_section, unranked_section
from cse.lab.report.spec import Plot, Spec, parse
from cse.lab.report.write import OfPaper, Picture, Report
from cse.lab.sections import Section
from cse.lab.settings.dotted import Config
from cse.lab.settings.groups import choices
from cse.lab.settings.suggest import nearest
from cse.lab.settings.words import values_of
from cse.lab.sweep import sweeps
from cse.lab.sweep.grid import combinations


def report_of_sweep(config: Config, folders: list[Path], out: Path) -> Report:
    """A sweep's runs beside the paper's table, or beside each other if it names none, with the paper's figures.

    folders: where the runs are; []: where `cse-train sweep=...` puts them. The figures are drawn into out/figures.
    """
    name = config["sweep"]
    sweep, block, where = read_sweep(name)
    printed = published.printed_table(block["paper"], block["table"]) if block.get("table") else None
    spec = parse(block, printed, where, tolerance=config["tolerance"])
    places = folders or [sweep.folder_of_jobs([])]
    found = runs_of_sweep(sweep, places, must_exist=bool(config["runs"]))
    runs = mark_departures([run for run in found if not run.is_smoke], sweep.name, spec.seed)
    made_up = [run for run in found if run.is_smoke]
    expected = planned(sweep)
    groups = groups_of(spec, runs)
    claims = judge_claims(spec, printed, groups, config["confidence"])
    paper = published.read_paper(spec.paper)
    paper = {**paper, **paper["tables"].get(block.get("table"), {})}  # a table may have a paper and link of its own
    states = counted([run.state for run in found]) if found else "No run"
    of_paper: Section | None = None
    grid_of_paper: dict[str, list[tuple[str, str, str]]] = {}
    if printed:
        cells, section = paper_table(spec, printed, groups, runs, expected, config["confidence"])
        of_paper, grid_of_paper = replace(section, label=name), as_printed(printed, cells)
    of_runs = None
    if runs and not any(group.values for group in groups.values()):
        label, jobs_to_name = (f"{name}-runs", []) if printed else (name, expected)
        of_runs = beside_each_other(runs, places, spec, jobs_to_name, label)
    of_smoke = None
    if made_up:
        of_smoke = unranked_section(compare_runs(made_up, places, scores_of_figures(spec, made_up), spec.seed))
    return Report(
        title=name,
        subtitle=f"{paper['paper']}. {states} ({', '.join(map(str, places))}).",
        sections=[section for section in (of_paper, of_runs, of_smoke) if section is not None],
        csv={"report.csv": of_paper.frame if of_paper else None, "claims.csv": claims_frame(claims)},
        paper=OfPaper(
            claims=claims,
            pictures=[draw_into(plot, spec, runs, out) for plot in spec.figures],
            log=found,
            grid=grid_of_paper,
            columns=printed.columns if printed else (),
            link=paper.get("link", ""),
            start="" if any(run.is_done for run in found) else f"cse-train sweep={name}",
        ),
    )


def beside_each_other(runs: list[Run], folders: list[Path], spec: Spec, expected: list[Config], label: str) -> Section:
    """A line for each setting of runs that fill no published table, with the scores of the figures."""
    begun = [run for run in runs if run.has_begun or run.state in (State.RUNNING, State.STOPPED)]
    found = compare_runs(begun or runs, folders, scores_of_figures(spec, runs), spec.seed)
    said = notes_on_departures([run for run in runs if run.is_done], {})
    return replace(
        settings_section(found, label),
        title=counted([run.state for run in found.runs]),
        notes=said + notes_on_settings(found),
        missing=list(dict.fromkeys(missing_jobs(runs, expected))),
        sortable=None,
    )


def scores_of_figures(spec: Spec, runs: list[Run]) -> list[str]:
    """The scores of runs that are on the axes of the figures."""
    known = {name for run in runs for name in run.metrics}
    return [score for plot in spec.figures for score in plot.metrics if score in known]


def runs_of_sweep(sweep: sweeps.Sweep, folders: list[Path], must_exist: bool) -> list[Run]:
    """The sweep's own runs in the folders, which may hold other tables' too: of sweeps that share its folder, and of
    its cases.

    Raises UserError for a folder that does not exist but must.
    """
    if not must_exist and not folders[0].is_dir():
        return []
    folder_of, known = cache(lambda name: sweeps.load_sweep(name).folder), choices("sweep")

    def is_own(run: Run) -> bool:
        name = named_sweep(run, sweep.name)
        shares = name == sweep.name or name not in known or folder_of(name) == sweep.folder
        return shares and (not sweep.cases or run.get("case") in (None, *sweep.cases))

    return [run for run in [*read_runs(folders), *jobs_without_run(folders)] if is_own(run)]


def read_sweep(sweep: str) -> tuple[sweeps.Sweep, Config, str]:
    """(the sweep, its `report:` block, the file's name) of sweeps/<sweep>.yaml. Raises UserError without either."""
    known = choices("sweep")
    if sweep not in known:
        raise UserError(f"sweep={sweep} is not a sweep{nearest(sweep, known)}; cse-train --help sweep lists them")
    content, name = sweeps.load_sweep(sweep), f"sweeps/{sweep}.yaml"
    if content.report is None:
        raise UserError(f"{name} has no `report:` block, which says what its runs are compared with")
    return content, content.report, name


def planned(sweep: sweeps.Sweep) -> list[Config]:
    """The axes' values of every job of a grid, the seed last; [] for a search, whose trials are not known."""
    rows: list[Config] = []
    for job in combinations(sweep.axes()) if sweep.sweeper == "basic" else ():
        axes = sorted(job, key=lambda axis: axis.key == "seed")
        values = {axis.key: yaml.safe_load(axis.value) for axis in axes}
        case = sweep.cases.get(values_of(job).get("case", ""))
        if case and case.is_untrained:
            values.pop("seed", None)  # an encoder that is only scored: one job for all seeds
        if values and values not in rows:
            rows.append(values)
    return rows


def draw_into(plot: Plot, spec: Spec, runs: list[Run], out: Path) -> Picture:
    """Draw a figure into out/figures, with the paper's claims about it. Raises RunError if the disk refuses."""
    printed = figures.printed_beside(plot, spec.paper)
    figure, path = figures.draw_figure(plot, spec, runs), out / "figures" / f"{plot.name}.png"
    if figure is not None:
        save_figure(figure, path)
    else:  # an earlier report may have drawn it
        for file in (path, path.with_suffix(".svg")):
            file.unlink(missing_ok=True)
    return Picture(plot.name, path if figure else None, printed.claims if printed else [])
