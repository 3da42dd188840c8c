"""The groups of a paper's table: which runs fill each of its cells, as the sweep's `report:` block says."""

from cse.lab.folder.runs import Run
from cse.lab.report.departures import as_planned
from cse.lab.report.groups import Group, Measure, group_of, once_each
from cse.lab.report.spec import Spec

Groups = dict[tuple[str, str], Group]
"""The group of each cell that runs may fill, by row and column."""


def groups_of(spec: Spec, runs: list[Run]) -> Groups:
    """The group of every cell that runs may fill, in the order of the printed table."""
    done = [run for run in runs if run.is_done]
    groups = {}
    for row, line in spec.rows.items():
        for name, column in spec.columns.items():
            where = {**line.where, **column.where}
            own = as_planned([run for run in done if run.matches(where)], spec.setting)
            groups[row, name] = group_of(own, once_each(own, spec.seed), measure_of(spec, row, name), spec.seed)
    return groups


def measure_of(spec: Spec, row: str, column: str) -> Measure:
    """The number of its runs that fills a cell. For the value of a config key, it is that of each seed's best run."""
    key, select = spec.columns[column].config, spec.select or ""
    if key:
        return Measure(None, key, "best", select)
    return Measure(spec.metric_of(row, column), aggregate=spec.aggregate_of(row, column), select=select)
