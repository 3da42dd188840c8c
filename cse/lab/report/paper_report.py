"""The report of a sweep: its runs beside its paper's table or figures.

To read: `report_of_sweep`. `runs_of_sweep` says which runs are the sweep's. cse.lab.report.departures says how each
departs from what the sweep plans. Runs that fill no printed cell stand beside each other in a table of their own, and
so do runs of made-up sizes.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from cse.errors import UserError
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.runs import Run, read_runs
from cse.lab.folder.status import State, counted
from cse.lab.report import figures, published
from cse.lab.report.claims import claims_frame, judge_claims
from cse.lab.report.compare import compare_runs
from cse.lab.report.departures import mark_departures, named_sweep, notes_on_departures
from cse.lab.report.document import OfPaper, Picture, Report
from cse.lab.report.notes import missing_jobs
from cse.lab.report.paper_groups import Groups, groups_of
from cse.lab.report.paper_table import PaperGrid, as_printed, paper_table
from cse.lab.report.published import Published
from cse.lab.report.settings_section import notes_on_settings, settings_section, unranked_section
from cse.lab.report.spec import Plot, Spec, parse
from cse.lab.sections import Section
from cse.lab.settings.groups import choices
from cse.lab.settings.suggest import nearest
from cse.lab.settings.values import Config
from cse.lab.settings.words import values_of
from cse.lab.sharing.plots import save_figure
from cse.lab.sweep import sweeps
from cse.lab.sweep.grid import combinations


@dataclass(frozen=True)
class SweepRuns:
    """A sweep, its runs, and what they are compared with.

    block: its `report:` block, and spec: the same, checked. printed: the paper's table; None if the sweep draws figures
    only. found: all its runs. runs: those that are no smoke runs, with their departures. smoke: the others. expected:
    the axes of every planned job.
    """

    name: str
    block: Config
    spec: Spec
    printed: Published | None
    places: list[Path]
    found: list[Run]
    runs: list[Run]
    smoke: list[Run]
    expected: list[Config]
    groups: Groups


def report_of_sweep(config: Config, folders: list[Path], out: Path) -> Report:
    """A sweep's runs beside the paper's table, or beside each other if it names none, with the paper's figures.

    folders: where the runs are; []: where `cse-train sweep=...` puts them. The figures are drawn into out/figures.
    """
    of = read_sweep_runs(config, folders)
    claims = judge_claims(of.spec, of.printed, of.groups, config["confidence"])
    paper = published.read_paper(of.spec.paper)
    paper = {**paper, **paper["tables"].get(of.block.get("table"), {})}  # a table may have a paper and link of its own
    states = counted([run.state for run in of.found]) if of.found else "No run"
    of_paper: Section | None = None
    grid_of_paper: PaperGrid = {}
    if of.printed:
        cells, section = paper_table(of.spec, of.printed, of.groups, of.runs, of.expected, config["confidence"])
        of_paper, grid_of_paper = replace(section, label=of.name), as_printed(of.printed, cells)
    sections = (of_paper, beside_each_other(of), smoke_section(of))
    return Report(
        title=of.name,
        subtitle=f"{paper['paper']}. {states} ({', '.join(map(str, of.places))}).",
        sections=[section for section in sections if section is not None],
        csv={"report.csv": of_paper.frame if of_paper else None, "claims.csv": claims_frame(claims)},
        paper=OfPaper(
            claims=claims,
            pictures=[draw_into(plot, of.spec, of.runs, out) for plot in of.spec.figures],
            log=of.found,
            grid=grid_of_paper,
            columns=of.printed.columns if of.printed else (),
            link=paper.get("link", ""),
            start="" if any(run.is_done for run in of.found) else f"cse-train sweep={of.name}",
        ),
    )


def read_sweep_runs(config: Config, folders: list[Path]) -> SweepRuns:
    """Read a sweep's YAML, its runs and its paper's table."""
    name = config["sweep"]
    sweep, block, where = read_sweep(name)
    printed = published.printed_table(block["paper"], block["table"]) if block.get("table") else None
    spec = parse(block, printed, where, tolerance=config["tolerance"])
    places = folders or [sweep.folder_of_jobs([])]
    found = runs_of_sweep(sweep, places, must_exist=bool(config["runs"]))
    runs = mark_departures([run for run in found if not run.is_smoke], sweep.name, spec.seed)
    return SweepRuns(
        name=name,
        block=block,
        spec=spec,
        printed=printed,
        places=places,
        found=found,
        runs=runs,
        smoke=[run for run in found if run.is_smoke],
        expected=planned(sweep),
        groups=groups_of(spec, runs),
    )


def beside_each_other(of: SweepRuns) -> Section | None:
    """A line for each setting of runs that fill no published cell, with the scores of the figures.

    None if there are no runs, or if they fill a cell.
    """
    if not of.runs or any(group.values for group in of.groups.values()):
        return None
    label, expected = (f"{of.name}-runs", []) if of.printed else (of.name, of.expected)
    begun = [run for run in of.runs if run.has_begun or run.state in (State.RUNNING, State.STOPPED)]
    found = compare_runs(begun or of.runs, of.places, scores_of_figures(of.spec, of.runs), of.spec.seed)
    said = notes_on_departures([run for run in of.runs if run.is_done], {})
    return replace(
        settings_section(found, label),
        title=counted([run.state for run in found.runs]),
        notes=said + notes_on_settings(found),
        missing=list(dict.fromkeys(missing_jobs(of.runs, expected))),
        sortable=None,
    )


def smoke_section(of: SweepRuns) -> Section | None:
    """The runs of made-up sizes beside each other; None without any."""
    if not of.smoke:
        return None
    return unranked_section(compare_runs(of.smoke, of.places, scores_of_figures(of.spec, of.smoke), of.spec.seed))


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
    for job in combinations(sweep.axes()) if sweep.is_grid else ():
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
