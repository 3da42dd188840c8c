"""The paper's table beside ours: every cell of it (cse.report.cells), and what a reader must know beside them."""

from dataclasses import dataclass, field

from cse.record.runs import Run, Where
from cse.report.cells import PUBLISHED_ONLY, QUARTILES, Cell, compare_with_baseline, fill, judge, seed_sd_of
from cse.report.notes import deviations, missing_jobs, mixed, retrieved, scored_differently
from cse.report.published import Published
from cse.report.spec import Spec
from cse.report.statistics import Intervals


@dataclass
class Table:
    """cells[row][column]; deviations: how runs differ from the paper's setting; absent: what is missing and why.

    score: what ours are in place of the paper's scores, where somebody asked for that.
    """

    title: str
    split: str
    columns: list[str]
    cells: dict[str, dict[str, Cell]]
    decimals: int | None
    baselines: dict[str, str] = field(default_factory=dict)
    deviations: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    column_decimals: dict[str, int] = field(default_factory=dict)
    counts: frozenset[str] = frozenset()
    score: str | None = None

    def digits(self, column: str) -> int | None:
        """How many decimals the paper prints in a column."""
        return 0 if column in self.counts else self.column_decimals.get(column, self.decimals)

    def split_of(self, column: str) -> str:
        """What a column was measured on: test, dev, or none."""
        return "none" if column in self.counts else self.split

    @property
    def all_cells(self) -> list[Cell]:
        """Every cell, row after row."""
        return [cell for row in self.cells.values() for cell in row.values()]

    @property
    def runs(self) -> list[Run]:
        """The runs of every cell; a run that fills several is listed for each."""
        return [run for cell in self.all_cells for run in cell.runs]


def build(spec: Spec, published: Published, runs: list[Run], expected: list[Where], intervals: Intervals) -> Table:
    """Fill the published table from runs. expected: every job's axes, as the sweep plans them."""
    table = blank(published, spec.baselines)
    table.score = spec.stands_in
    for cell in table.all_cells:
        if cell.row in spec.rows and cell.column in spec.columns:
            table.absent += fill(cell, spec, runs, expected)
        elif cell.row in spec.rows:
            cell.verdict = ""  # no run measures this column, e.g. a number of parameters
        elif cell.row in published.others:
            cell.verdict = PUBLISHED_ONLY
    for column in spec.columns:
        judge_column([row[column] for row in table.cells.values()], spec, intervals)
    compare_rows(table, spec, intervals.confidence)
    table.absent += missing_jobs(runs, expected)
    table.notes = [*published.notes, *notes(table, spec, runs, intervals)]
    for cell in table.all_cells:
        table.notes += mixed(f"{cell.row}, {cell.column}", cell.runs, spec.seed, settings=cell.aggregate == "mean")
    if differing := scored_differently(table.runs):
        table.notes.append(f"Not all cells were scored alike: {'; '.join(differing)}.")
    table.deviations = deviations(spec.setting, table.runs)
    return table


def blank(published: Published, baselines: dict[str, str]) -> Table:
    """The table as printed, without runs. baselines: {row: the row that it is tested against}."""
    cells = {
        row: {
            column: Cell(row, column, printed[column], p_published=published.p_values.get((row, column), ""))
            for column in published.columns
        }
        for row, printed in published.cells.items()
    }
    return Table(
        title=published.title,
        split=published.split,
        columns=published.columns,
        cells=cells,
        decimals=published.decimals,
        column_decimals=published.column_decimals,
        counts=published.counts,
        baselines=baselines,
    )


def judge_column(cells: list[Cell], spec: Spec, intervals: Intervals) -> None:
    """Judge the cells of a column that runs may fill, by the spread of its own seeds."""
    seed_sd = seed_sd_of(cells[0].column, spec, [cell for cell in cells if cell.values])
    for cell in cells:
        if cell.row in spec.rows:
            judge(cell, spec, seed_sd, intervals)


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
    if any(line.aggregate in QUARTILES for line in spec.rows.values()):
        lines.append("A quartile of one seed has a bootstrap interval over that seed's runs; a maximum has none.")
    return lines


def compare_rows(table: Table, spec: Spec, confidence: float) -> None:
    """Compare each row with its baseline, but for columns of config values."""
    for row, base in spec.baselines.items():
        for column in (name for name, line in spec.columns.items() if not line.config):
            compare_with_baseline(table.cells[row][column], table.cells[base][column], confidence)
