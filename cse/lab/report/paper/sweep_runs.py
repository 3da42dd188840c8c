"""A sweep's runs: which runs are the sweep's, and which of them fill each cell of its paper's table.

To read: `read_sweep_runs`. `runs_of_sweep` says which runs are the sweep's; `groups_of` says which fill a cell.
cse.lab.report.paper.sweep_plan says how each departs from what the sweep plans.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml

from cse.errors import UserError
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.runs import Run, read_runs
from cse.lab.report.numbers.groups import Group, Measure, group_of, once_each
from cse.lab.report.paper.departures import as_planned
from cse.lab.report.paper.published import PublishedTable, published_table
from cse.lab.report.paper.spec import Spec, parse
from cse.lab.report.paper.sweep_plan import mark_departures, named_sweep
from cse.lab.settings.arguments import values_of
from cse.lab.settings.groups import choices
from cse.lab.settings.suggest import nearest
from cse.lab.settings.values import Config
from cse.lab.sweep import sweeps
from cse.lab.sweep.grid import combinations

Groups = dict[tuple[str, str], Group]
"""The group of each cell that runs may fill, by row and column."""


@dataclass(frozen=True)
class SweepRuns:
    """A sweep's runs, and what they are compared with.

    spec: its `report:` block, checked.
    published: the paper's table; None if the sweep draws figures only.
    runs: the runs of full size, with their departures.
    expected: the axes of every planned job.
    confidence: of tests and intervals.
    name: the sweep's.
    places: the folders that were searched.
    every_run: `runs` and `smoke`, as they were found.
    smoke: the runs of tiny sizes.
    """

    spec: Spec
    published: PublishedTable | None
    runs: list[Run]
    expected: list[Config]
    confidence: float
    name: str = ""
    places: Sequence[Path] = ()
    every_run: Sequence[Run] = ()
    smoke: Sequence[Run] = ()

    @cached_property
    def groups(self) -> Groups:
        """The group of every cell that runs may fill."""
        return groups_of(self.spec, self.runs)


def read_sweep_runs(config: Config, folders: list[Path]) -> SweepRuns:
    """Read a sweep's YAML, its runs and its paper's table."""
    name = config["sweep"]
    sweep, block, file = read_sweep(name)
    table = published_table(block["paper"], block["table"]) if block.get("table") else None
    spec = parse(block, table, file, tolerance=config["tolerance"])
    places = folders or [sweep.folder_of_jobs([])]
    every_run = runs_of_sweep(sweep, places, must_exist=bool(config["runs"]))
    return SweepRuns(
        spec,
        table,
        runs=mark_departures([run for run in every_run if not run.is_smoke], sweep.name, spec.seed),
        expected=planned(sweep, spec.seed),
        confidence=config["confidence"],
        name=name,
        places=places,
        every_run=every_run,
        smoke=[run for run in every_run if run.is_smoke],
    )


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


def planned(sweep: sweeps.Sweep, seed: str) -> list[Config]:
    """The axes' values of every job of a grid, the seed last; [] for a search, whose trials are not known.

    seed: the key of seeds.
    """
    rows: list[Config] = []
    for job in combinations(sweep.axes()) if sweep.is_grid else ():
        axes = sorted(job, key=lambda axis: axis.key == seed)
        values = {axis.key: yaml.safe_load(axis.value) for axis in axes}
        case = sweep.cases.get(values_of(job).get("case", ""))
        if case and case.is_untrained:
            values.pop(seed, None)  # an encoder that is only scored: one job for all seeds
        if values and values not in rows:
            rows.append(values)
    return rows


def groups_of(spec: Spec, runs: list[Run]) -> Groups:
    """The group of every cell that runs may fill, in the order of the published table."""
    done = [run for run in runs if run.is_done]
    groups = {}
    for row, line in spec.rows.items():
        for name, column in spec.columns.items():
            where = {**line.where, **column.where}
            of_cell = as_planned([run for run in done if run.matches(where)], spec.held_fixed)
            groups[row, name] = group_of(of_cell, once_each(of_cell, spec.seed), measure_of(spec, row, name), spec.seed)
    return groups


def measure_of(spec: Spec, row: str, column: str) -> Measure:
    """The number of its runs that fills a cell. For the value of a config key, it is that of each seed's best run."""
    key, select = spec.columns[column].config, spec.select or ""
    if key:
        return Measure(None, key, "best", select)
    return Measure(spec.metric_of(row, column), aggregate=spec.aggregate_of(row, column), select=select)
