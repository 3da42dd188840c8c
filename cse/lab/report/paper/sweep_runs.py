"""The runs of a sweep, and the runs that fill each cell of the paper's table.

`read_sweep_runs` reads a sweep's YAML, the sweep's runs and the paper's table. `runs_of_sweep` finds the runs of the
sweep, and `groups_of` finds the runs of each cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml

from cse.errors import UserError
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.folder.runs import Run, read_runs
from cse.lab.report.numbers.groups import Group, Measure, group_of
from cse.lab.report.paper.departures import mark_departures, named_sweep, without_departures
from cse.lab.report.paper.published import PublishedTable
from cse.lab.report.paper.report_block import CellPlace, ReportBlock, checked_block
from cse.lab.settings.arguments import values_of
from cse.lab.settings.groups import choices
from cse.lab.settings.lookup import nearest
from cse.lab.settings.values import PlainConfig
from cse.lab.sweep import sweeps
from cse.lab.sweep.axes import combinations


@dataclass(frozen=True)
class SweepRuns:
    """A sweep's runs, with the table to compare them with.

    block: the sweep's `report:` block, checked.
    published: the paper's table; empty if the sweep draws figures only.
    every_run: all runs: runs of full size, with their departures, and smoke runs.
    expected: {axis: value} of every planned job.
    confidence: the confidence level of tests and intervals.
    name: the name of the sweep.
    places: the searched folders.
    """

    block: ReportBlock
    published: PublishedTable
    every_run: list[Run]
    expected: list[PlainConfig]
    confidence: float
    name: str = ""
    places: Sequence[Path] = ()

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of full size."""
        return [run for run in self.every_run if not run.is_smoke]

    @property
    def smoke(self) -> list[Run]:
        """The smoke runs, of tiny sizes."""
        return [run for run in self.every_run if run.is_smoke]

    @cached_property
    def groups(self) -> dict[CellPlace, Group]:
        """The group of every cell that runs may fill."""
        return groups_of(self.block, self.runs)


def read_sweep_runs(config: PlainConfig, folders: list[Path]) -> SweepRuns:
    """Read a sweep's YAML, the sweep's runs and the paper's table.

    folders: the folders of the runs; []: the folder in which `cse-train sweep=...` trains.
    """
    name = config["sweep"]
    sweep, raw, file = read_sweep(name)
    block, table = checked_block(raw, file, tolerance=config["tolerance"])
    places = folders or [sweep.folder_of_jobs([])]
    runs = runs_of_sweep(sweep, places, must_exist=bool(config["runs"]))
    return SweepRuns(
        block,
        table,
        every_run=mark_departures(runs, sweep.name, block.seed),
        expected=planned_axes(sweep, block.seed),
        confidence=config["confidence"],
        name=name,
        places=places,
    )


def read_sweep(sweep: str) -> tuple[sweeps.Sweep, PlainConfig, str]:
    """Return the sweep, its `report:` block and its file's name. Raises UserError if the sweep or block is missing."""
    known = choices("sweep")
    if sweep not in known:
        raise UserError(f"sweep={sweep} is not a sweep{nearest(sweep, known)}; cse-train --help sweep lists them")
    content, name = sweeps.load_sweep(sweep), f"sweeps/{sweep}.yaml"
    if content.report is None:
        raise UserError(f"{name} has no `report:` block, so there is nothing to compare its runs with")
    return content, content.report, name


def runs_of_sweep(sweep: sweeps.Sweep, folders: list[Path], must_exist: bool) -> list[Run]:
    """Return the sweep's runs and planned jobs in these folders. The folders may also have runs of other sweeps.

    A run of another sweep that trains in the same folder also belongs to this sweep, if this sweep has the run's case,
    or no cases. must_exist: raise UserError for a folder that does not exist.
    """
    if not must_exist and not folders[0].is_dir():
        return []
    folder_of, known = cache(lambda name: sweeps.load_sweep(name).folder), choices("sweep")

    def is_own(run: Run) -> bool:
        name = named_sweep(run, sweep.name)
        shares = name == sweep.name or name not in known or folder_of(name) == sweep.folder
        return shares and (not sweep.cases or run.get("case") in (None, *sweep.cases))

    return [run for run in [*read_runs(folders), *jobs_without_run(folders)] if is_own(run)]


def planned_axes(sweep: sweeps.Sweep, seed_key: str) -> list[PlainConfig]:
    """Return {axis: value} of every job of a grid, with the seed as the last axis.

    Return [] for a search, because trials are unknown before a search.
    """
    rows: list[PlainConfig] = []
    for job in combinations(sweep.axes()) if sweep.is_grid else ():
        axes = sorted(job, key=lambda axis: axis.key == seed_key)
        values = {axis.key: yaml.safe_load(axis.value) for axis in axes}
        case = sweep.cases.get(values_of(job).get("case", ""))
        if case and case.is_untrained:
            values.pop(seed_key, None)  # an encoder that is only scored: one job for all seeds
        if values and values not in rows:
            rows.append(values)
    return rows


def groups_of(block: ReportBlock, runs: list[Run]) -> dict[CellPlace, Group]:
    """Return {(row, column): group} of every cell that runs may fill, in the order of the published table.

    The row and the column of a cell select finished runs. The selected runs without departures fill the cell. If all
    selected runs have departures, all of them fill the cell.
    """
    done = [run for run in runs if run.is_done]
    groups = {}
    for row, of_row in block.rows.items():
        for column, of_column in block.columns.items():
            selected = [run for run in done if run.matches({**of_row.where, **of_column.where})]
            of_cell = without_departures(selected, block.paper_setting)
            groups[row, column] = group_of(of_cell, measure_of(block, row, column), block.seed)
    return groups


def measure_of(block: ReportBlock, row: str, column: str) -> Measure:
    """Return the number in a cell: a score of its runs, or the value of a config key in each seed's best run."""
    key, select = block.columns[column].config, block.select or ""
    if key:
        return Measure(key, is_key=True, aggregate="best", select=select)
    return Measure(block.metric_of(row, column) or "", aggregate=block.aggregate_of(row, column), select=select)
