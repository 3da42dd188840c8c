"""A table of ours, beside the paper's or of runs alone: its cells, and what a reader must know beside them."""

from dataclasses import dataclass, field
from fnmatch import fnmatch

from cse.record.runs import Run, Where, grouped
from cse.report.cells import QUARTILES, Cell, compare_with_baseline, compare_with_printed, fill
from cse.report.frame import differing, label, short_names
from cse.report.notes import deviations, missing_jobs, mixed, retrieved, scored_differently
from cse.report.published import Published
from cse.report.spec import Spec
from cse.report.statistics import Intervals
from cse.report.verdicts import NOT_RUN, OTHER_SETTING, PUBLISHED_ONLY, mark_ties, of_cell, seed_sd_of
from cse.sweep.budget import in_words, pooled_sd


@dataclass
class Table:
    """cells[row][column], beside what is printed; of runs without a paper nothing is.

    deviations: how runs differ from the paper's setting; absent: what is missing and why; score: what ours are in place
    of the paper's scores, where somebody asked for that.
    """

    printed: Published
    cells: dict[str, dict[str, Cell]]
    baselines: dict[str, str] = field(default_factory=dict)
    deviations: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    score: str | None = None

    @property
    def all_cells(self) -> list[Cell]:
        """Every cell, row after row."""
        return [cell for row in self.cells.values() for cell in row.values()]


def build(spec: Spec, published: Published, runs: list[Run], expected: list[Where], intervals: Intervals) -> Table:
    """Fill the published table from runs. expected: every job's axes, as the sweep plans them."""
    table = blank(published, spec)
    for row in spec.rows:
        for name in spec.columns:
            table.absent += fill(table.cells[row][name], spec, runs, expected)
    for name in spec.columns:
        own = [table.cells[row][name] for row in spec.rows]
        seed_sd = seed_sd_of(name, spec, [cell for cell in own if cell.values])
        for cell in own:
            cell.verdict = of_cell(cell, spec, seed_sd, intervals.confidence)
            if cell.verdict != OTHER_SETTING:  # of what is not compared nothing is subtracted
                compare_with_printed(cell, intervals)
        mark_ties(own, intervals.confidence)
    for row, base in spec.baselines.items():
        for name in (name for name, line in spec.columns.items() if not line.config):
            compare_with_baseline(table.cells[row][name], table.cells[base][name], intervals.confidence)
    table.absent += missing_jobs(runs, expected)
    table.notes = [*published.notes, *notes(table, spec, runs, intervals)]
    for cell in table.all_cells:
        table.notes += mixed(f"{cell.row}, {cell.column}", cell.runs, spec.seed, settings=cell.aggregate == "mean")
    used = [run for cell in table.all_cells for run in cell.runs]
    if differing := scored_differently(used):
        table.notes.append(f"Not all cells were scored alike: {'; '.join(differing)}.")
    table.deviations = deviations(spec.setting, used)
    return table


def blank(published: Published, spec: Spec) -> Table:
    """The table as printed, without runs; a column that no run measures (a number of parameters) has no verdict."""
    cells = {
        row: {
            column: Cell(
                row,
                column,
                printed,
                "" if row in spec.rows else PUBLISHED_ONLY if row in published.others else NOT_RUN,
                p_published=published.p_values.get((row, column), ""),
            )
            for column, printed in line.items()
        }
        for row, line in published.cells.items()
    }
    return Table(published, cells, spec.baselines, score=spec.stands_in)


def notes(table: Table, spec: Spec, runs: list[Run], intervals: Intervals) -> list[str]:
    """How the table's intervals and verdicts were made, and what its runs retrieved."""
    done = [run for run in runs if run.status == "done"]
    lines = retrieved({row: run for row, line in spec.rows.items() for run in done if run.matches(line.where)})
    if any(cell.difference is not None and len(cell.values) == 1 for cell in table.all_cells):
        lines.append(
            "Where a cell has one seed, seeds are taken to vary as those of its column's other cells do; where there "
            f"are none, STS scores by sd {spec.seed_sd:g}, and other scores are not judged (ONE SEED)."
        )
    own = {column: line.tolerance for column, line in spec.columns.items() if line.tolerance is not None}
    others = "".join(f", {column} within {tolerance:g}" for column, tolerance in own.items())
    told = "" if spec.stands_in else f"PASS: within {spec.tolerance:g}{others}. "
    lines.append(
        f"{told}Intervals: {intervals.confidence:.0%}, {intervals.kind} over seeds; "
        "of one run, bootstrap over its test items."
    )
    for column in spec.columns:
        filled = [list(table.cells[row][column].values.values()) for row in spec.rows]
        several = [values for values in filled if len(values) > 1]
        if several and (sd := pooled_sd(several)):
            seeds = min(map(len, several))
            lines.append(f"{column}: {in_words(sd, seeds, level=1 - intervals.confidence)}.")
    if any(line.aggregate in QUARTILES for line in spec.rows.values()):
        lines.append("A quartile of one seed has a bootstrap interval over that seed's runs; a maximum has none.")
    return lines


def survey(runs: list[Run], patterns: list[str], seed: str, expected: list[Where], confidence: float) -> list[Table]:
    """Of runs of no table: a table for each split, a row for each setting that differs, a column for each score.

    patterns: which scores (`test/sts/*`); all if it is empty.
    """
    done = [run for run in runs if run.status == "done"]
    keys = short_names(differing(runs, seed))
    rows: dict[str, list[Run]] = {}
    for run in done:
        rows.setdefault(label(run, keys), []).append(run)
    metrics = dict.fromkeys(name for run in done for name in run.metrics)
    tables = []
    for split in dict.fromkeys(name.partition("/")[0] for name in metrics if wanted(name, patterns)):
        names = {name.partition("/")[2]: name for name in metrics if name.startswith(f"{split}/")}
        columns = {column: name for column, name in names.items() if wanted(name, patterns)}
        cells = {
            row: {name: measured(row, name, columns[name], of, seed) for name in columns} for row, of in rows.items()
        }
        table = Table(Published(f"Scores on {split}", split, list(columns)), cells)
        table.deviations, table.absent = deviations({}, done), missing_jobs(runs, expected)
        table.notes = retrieved({row: of[-1] for row, of in rows.items()}) if split == "test" else []
        for name in columns:
            mark_ties([row[name] for row in cells.values()], confidence)
        tables.append(table)
    return tables


def wanted(metric: str, patterns: list[str]) -> bool:
    """Whether a score is one of those that the patterns name."""
    return not patterns or any(fnmatch(metric, pattern) for pattern in patterns)


def measured(row: str, column: str, metric: str, runs: list[Run], seed: str) -> Cell:
    """The metric of a row's runs; of a seed that has several runs each is a value."""
    scored = [run for run in runs if metric in run.metrics]
    seeds = grouped(scored, seed)
    if len(seeds) < len(scored):
        seeds = {str(run.folder): [run] for run in scored}
    cell = Cell(row, column, metric=metric)
    cell.fill(seeds, lambda group: group[0].metrics[metric])
    return cell
