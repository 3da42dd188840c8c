"""A sweep's runs beside its paper's table: what is compared with what, and which runs are another experiment."""

from dataclasses import replace
from functools import cache
from itertools import filterfalse
from pathlib import Path

import yaml
from omegaconf import DictConfig, OmegaConf

from cse.columns import Section
from cse.config.groups import choices
from cse.config.keys import key_of
from cse.config.spelling import unquoted, values_of
from cse.config.suggest import nearest
from cse.dotted import Config
from cse.errors import UserError
from cse.record.runs import Run, read_runs, same
from cse.record.status import counted, status_of
from cse.report import figures, published
from cse.report.comparison import compare_runs
from cse.report.groups import groups_of
from cse.report.notes import deviations, missing_jobs
from cse.report.page import Picture, Report
from cse.report.plot import Plot
from cse.report.spec import Spec, parse
from cse.report.table import build
from cse.report.verdicts import judge_claims
from cse.run.plots import save
from cse.sweep import jobs
from cse.sweep.words import expanded


def of_sweep(config: Config, folders: list[Path], out: Path) -> Report:
    """The report of a sweep: its runs beside the paper's table, or beside each other if it names none, and figures."""
    sweep, block, where = read_sweep(config["sweep"])
    printed = published.table(block["paper"], block["table"]) if block.get("table") else None
    spec = parse(block, printed, where, tolerance=config["tolerance"])
    spec = spec.model_copy(update={"axes": tuple(key for key in sweep.settings if key != spec.seed)})
    folders = folders or [sweep.place([])]  # where `cse-train sweep=...` puts them
    own, others = (mark_departures(of, sweep.name, spec.seed) for of in runs_of_sweep(sweep, spec, folders, config))
    runs = own + others
    expected = planned(sweep)
    groups = groups_of(spec, own)
    sections = [build(spec, printed, groups, own, expected, config["confidence"], config["sweep"])] if printed else []
    if runs and not any(group.values for group in groups.values()):  # beside each other, at least
        label = f"{config['sweep']}-runs" if printed else config["sweep"]
        sections.append(beside_each_other(runs, folders, spec, [] if printed else expected, label))
    paper = published.read(spec.paper)
    paper = {**paper, **paper["tables"].get(block.get("table"), {})}  # a table may have a paper and link of its own
    states = counted([status_of(run).state for run in runs]) if runs else "No run"
    return Report(
        title=config["sweep"],
        subtitle=f"{paper['paper']}. {states} ({', '.join(map(str, folders))}).",
        link=paper.get("link", ""),
        start=f"cse-train sweep={config['sweep']}",
        printed=printed,
        sections=sections,
        pictures=[draw(plot, spec, own, out) for plot in spec.figures],
        runs=runs,
        claims=judge_claims(spec, printed, groups, runs, config["confidence"]),
    )


def beside_each_other(runs: list[Run], folders: list[Path], spec: Spec, expected: list[Config], label: str) -> Section:
    """A line for each setting of runs that fill no published table, with the scores of the figures."""
    known = {name for run in runs for name in run.metrics}
    metrics = [metric for plot in spec.figures for metric in plot.metrics if metric in known]
    found = compare_runs(runs, folders, metrics, spec.seed)
    said = deviations({}, [run for run in runs if run.status == "done"])
    missing = list(dict.fromkeys(missing_jobs(runs, expected)))
    return replace(found.section(label), title=found.counted, notes=said + found.notes, missing=missing)


def runs_of_sweep(sweep: jobs.Sweep, spec: Spec, folders: list[Path], config: Config) -> tuple[list[Run], list[Run]]:
    """The sweep's own runs in the folders, which may hold other tables' too: of sweeps that share its folder, and of
    its cases. And the others of which only a claim speaks, as it names their case, which the sweep has not.

    The sweep's own folder need not exist yet. Raises UserError for a named folder that does not exist.
    """
    runs = read_runs(folders) if config["runs"] or folders[0].is_dir() else []
    wheres = [place.get("where", {}) for claim in spec.claims for place in claim.places]
    named = [where for where in wheres if "case" in where]
    folder_of, known = cache(lambda name: jobs.read(name).folder), choices("sweep")

    def is_own(run: Run) -> bool:
        name = sweep_of(run, sweep.name)
        shares = name == sweep.name or name not in known or folder_of(name) == sweep.folder
        return shares and (not sweep.cases or run.get("case") in (None, *sweep.cases))

    def is_named(run: Run) -> bool:
        return run.get("case") not in sweep.cases and any(run.matches(where) for where in named)

    return list(filter(is_own, runs)), [run for run in filterfalse(is_own, runs) if is_named(run)]


def sweep_of(run: Run, otherwise: str) -> str:
    """The sweep that its line named."""
    return next((unquoted(word) for word in run.overrides if word.startswith("sweep=")), otherwise)


def read_sweep(sweep: str) -> tuple[jobs.Sweep, Config, str]:
    """(the sweep, its `report:` block, the file's name) of sweeps/<sweep>.yaml. Raises UserError without either."""
    known = choices("sweep")
    if sweep not in known:
        raise UserError(f"sweep={sweep} is not a sweep{nearest(sweep, known)}; cse-train --help sweep lists them")
    content, name = jobs.read(sweep), f"sweeps/{sweep}.yaml"
    if content.report is None:
        raise UserError(f"{name} has no `report:` block, which says what its runs are compared with")
    return content, content.report, name


def planned(sweep: jobs.Sweep) -> list[Config]:
    """The axes' values of every job of a grid, the seed last; [] for a search, whose trials are not known."""
    combinations: list[Config] = []
    for job in expanded(sweep.axes([])) if sweep.sweeper == "basic" else ():
        axes = sorted(job, key=lambda axis: key_of(axis) == "seed")
        values = {key_of(axis): yaml.safe_load(unquoted(axis)) for axis in axes}
        case = sweep.cases.get(values_of(job).get("case", ""))
        if case and case.is_untrained:
            values.pop("seed", None)  # an encoder that is only scored: one job for all seeds
        if values and values not in combinations:
            combinations.append(values)
    return combinations


def mark_departures(runs: list[Run], sweep: str, seed: str) -> list[Run]:
    """The runs, each with the overrides by which it departs from its sweep. Further seeds are no departure."""
    read, own, known = cache(jobs.read), cache(configuration), choices("sweep")

    def departures(run: Run) -> tuple[str, ...]:
        name = sweep_of(run, sweep)
        if name not in known:
            return (f"sweep={name}",)
        overrides = [o for o in read(name).departures(run.overrides) if key_of(o) != seed]
        case = run.get("case")
        config = own(name, case) if overrides and (case is None or case in read(name).cases) else None
        return tuple(o for o in overrides if config is None or differs(run, config, key_of(o)))

    return [replace(run, departures=departures(run)) for run in runs]


def configuration(sweep: str, case: str | None) -> DictConfig | None:
    """The config of a sweep's case, or of a sweep without cases (None); None for a case that trains nothing."""
    job = jobs.read(sweep).job([f"case={case}"] if case else [])
    return job.composed() if job.program == "cse-train" else None


def differs(run: Run, config: DictConfig, key: str) -> bool:
    """Whether the run has another value at a key than the config, or another choice of a group."""
    choice = config.hydra.runtime.choices.get(key)
    return not same(run.get(key), OmegaConf.select(config, key) if choice is None else choice)


def draw(plot: Plot, spec: Spec, runs: list[Run], out: Path) -> Picture:
    """Draw a figure into out/figures, with the paper's claims about it. Raises RunError if the disk refuses."""
    printed = figures.overlay(plot, spec.paper)
    figure, path = figures.draw(plot, spec, runs), out / "figures" / f"{plot.name}.png"
    if figure is not None:
        save(figure, path)
    else:  # an earlier report may have drawn it
        for file in (path, path.with_suffix(".svg")):
            file.unlink(missing_ok=True)
    return Picture(plot.name, path if figure else None, printed.claims if printed else [])
