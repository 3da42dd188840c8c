"""The `report:` block of a sweep's YAML.

The block names the published table or figures for comparison with the sweep's runs.

Start at `checked_block`, which makes a `ReportBlock` with its `Row`s, `Column`s, `Claim`s and `Plot`s.

    report:
      paper: whitenedcse              # cse/lab/report/paper/published/<paper>.yaml
      table: table4                   # a table of the paper; left out if the sweep draws only figures
      rows:                           # each published row, and the values or choices that select the runs of the row
        VisualCSE-BERT-base: {case: visual_bert}
        Barlow Twins BERT q75: {where: {objective: barlow, model: bert}, aggregate: q75}
      columns:                        # each published column, and what fills the column:
        STS-B: test/sts/STSB/spearman                                               # a metric,
        shuffled: {metric: test/sts/average, where: {objective.shuffle: true}}      # a metric of some runs,
        Text LR: {config: trainer.lr}                                               # or the value of a config key
      metric: test/sts/average        # the metric of rows and columns that name no metric
      aggregate: mean                 # how a seed's runs make one value: mean, max, q75, q50, or best
      select: dev/stsb/spearman       # the score that picks the best run, for `best` and for values of config keys
      seed: seed                      # the config key in which repetitions differ
      baseline: SimCSE-BERT-base      # the row that rows are tested against, or {row: its baseline}
      setting: {model: bert}          # the values that the paper held fixed. A run that departs from these values, or
                                      # from the sweep, fills a cell only if no other run does (OTHER SETTING)
      tolerance: 0.1                  # PASS: at most this difference; a column may set its own; default: cse-report's
      claims:                         # the paper's claims about this table or figure; see Claim
        - {says: m = 3 beats m = 2, source: Section 5.3, more: {row: "3"}, than: {row: "2"}}
      figures:                        # the figures to draw; see Plot
        - {kind: curve, name: figure1, x: objective.lambd, y: dev/stsb/spearman, statistics: [max, q75], log: true}

`rows: objective.m` means that the values of the config key objective.m name the rows. Without `columns`, `metric` fills
all columns. A metric's first part is its split. This split must be the split of the published table.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator, with_config
from typing_extensions import TypedDict

from cse.errors import UserError
from cse.lab.folder.runs import Where
from cse.lab.report.paper.published import (
    PublishedFigure,
    PublishedTable,
    papers,
    published_figure,
    published_table,
    read_paper,
)
from cse.lab.settings.values import PlainConfig

CellPlace = tuple[str, str]
"""The row and the column of a cell, as the paper names them."""
Aggregate = Literal["mean", "max", "q75", "q50", "best"]
Statistic = Literal["mean", "max", "q75", "q50"]
CLOSED = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)
"""How pydantic reads blocks of a sweep's YAML: it refuses unknown keys, and a name may look like a number."""


class Row(BaseModel):
    """An entry of `rows`: the runs that belong to the row, and the number in its cells.

    The entry in the YAML may be only the mapping `where`. A column without metric or aggregate uses the row's.
    """

    model_config = CLOSED

    where: Where = {}
    metric: str | None = None
    aggregate: Aggregate | None = None

    @model_validator(mode="before")
    @classmethod
    def read_where_alone(cls, value: object) -> object:
        """Return the row with its keys. A mapping without any key of rows or columns is a `where`."""
        is_where = isinstance(value, dict) and not set(value) & set(Column.model_fields)
        return {"where": value} if is_where else value


class Column(BaseModel):
    """An entry of `columns`: the number in its cells, for the runs of each row.

    The entry in the YAML may be only the metric. where: values that runs must have in addition to the values of the
    row. config: the config key whose value fills the cells, instead of a metric.
    """

    model_config = CLOSED

    where: Where = {}
    metric: str | None = None
    aggregate: Aggregate | None = None
    config: str | None = None
    tolerance: float | None = None

    @model_validator(mode="before")
    @classmethod
    def read_metric_alone(cls, value: object) -> object:
        """Return the column with its keys. An entry that is no mapping is a metric."""
        return value if isinstance(value, dict) else {"metric": value}


@with_config(CLOSED)
class TablePlace(TypedDict, total=False):
    """Cells of the table. A list names several rows or columns.

    If `row` or `column` is missing, the place has all rows or columns that runs may fill.
    """

    row: str | list[str]
    column: str | list[str]


class Claim(BaseModel):
    """An entry of `claims`: a claim of the paper. It compares two places of the table:

    more: PLACE, than: PLACE            the first is higher; with `within`, the first is at most `within` lower
    less: PLACE, than: PLACE            the first is lower, for metrics where lower is better
    alike: PLACE, to: PLACE, within: 1  both differ by less than `within`, in the score's unit

    A claim without places is about a figure. A reader compares such a claim with the figure's curve.

    says: the claim in our words.
    source: the place of the claim in the paper, with a few of the paper's words.
    within: a margin. A claim with a margin needs a control, because runs that learned nothing are also equivalent.
    control: the `says` of another claim of the table. The control has no `within`, and must HOLD first.
    quantity: the quantity that the paper measured, if it is not one of our scores. Such a claim is not tested.
    """

    model_config = CLOSED

    says: str
    source: str
    more: TablePlace | None = None
    less: TablePlace | None = None
    alike: TablePlace | None = None
    than: TablePlace | None = None
    to: TablePlace | None = None
    within: float = 0.0
    control: str = ""
    quantity: str = ""

    @model_validator(mode="after")
    def check_form(self) -> "Claim":
        """Refuse a single place, two comparisons, `alike` without a margin, and an unused margin or control."""
        given = {"more", "less", "alike", "than", "to"} & self.model_fields_set
        if given not in ({"more", "than"}, {"less", "than"}, {"alike", "to"}, set()):
            raise ValueError(
                'a claim about cells needs the keys "more" and "than", "less" and "than", or "alike" and "to"'
            )
        has_margin = "within" in self.model_fields_set
        if (self.alike is not None and not has_margin) or (has_margin and self.alike is None and self.more is None):
            raise ValueError("`alike` needs `within`, and `more` may have it; no other claim may have it")
        if self.control and not has_margin:
            raise ValueError("`control` belongs to a claim with `within`")
        return self

    @property
    def places(self) -> tuple[TablePlace, TablePlace] | None:
        """The two places; None for a claim about a figure.

        The claim is that the number of the first place is higher, or that both numbers are equivalent (`alike`).
        """
        if self.more is not None and self.than is not None:
            return self.more, self.than
        if self.less is not None and self.than is not None:
            return self.than, self.less
        if self.alike is not None and self.to is not None:
            return self.alike, self.to
        return None

    def is_borne_out(self, size: float) -> bool:
        """Return whether the difference `size`, of our numbers or of the published numbers, agrees with the claim."""
        if self.alike is not None:
            return abs(size) <= self.within
        return size > (-self.within if self.within else 1e-9)


def names_in(place: TablePlace, key: Literal["row", "column"]) -> list[str]:
    """Return the rows or columns that a place names; [] if the place means all."""
    named = place.get(key, [])
    return [named] if isinstance(named, str) else named


REQUIRED = {
    "curve": {"x", "y"},
    "heat": {"x", "y", "z"},
    "scatter": {"x", "y"},
    "path": {"x", "y"},
    "cosines": {"evaluator", "split", "edges"},
    "distribution": {"x", "y"},
}
OPTIONAL = {"curve": {"statistics", "log", "bins", "level"}, "heat": {"statistic", "log", "bins"}}


class Plot(BaseModel):
    """An entry of `figures`: how a figure of the paper is drawn from our runs.

    kind: one of the kinds below.
    name: the name of the figure's file.
    title: the title; by default the paper's title.
    published: a figure in the paper's YAML, for its points, lines and claims; by default the figure called `name`.
    where: values that runs must have.
    series: a config key, with a series for each of its values, or {label: where}. By default, the table's rows for a
        scatter, path or cosines, and a single series for the other kinds.

    The kinds, with their keys:

    - curve: {x: config key, y: metric, statistics: [max, q75], log: true, bins: 6, level: [a series' name]}. At each x,
      a line shows a statistic of each seed's runs, averaged over seeds. bins: the number of bins that replace the
      values of x. The bins have equal widths in x or, with `log`, in log x. level: series without an x. Each such
      series is a horizontal line.
    - heat: {x: config key, y: config key, z: metric, statistic: max, log: true, bins: 6}.
    - scatter: {x: metric, y: metric}. A point for each series: the mean over its seeds.
    - path: {x: metric, y: metric}. A line through the steps of training, from metrics.jsonl.
    - cosines: {evaluator: stsb, split: test, edges: [0, 1, 2, 3, 4, 5]}. Histograms by gold score and series.
    - distribution: {x: config key, y: metric}. Every run's score at each x, with quartiles.
    """

    model_config = CLOSED

    kind: Literal["curve", "heat", "scatter", "path", "cosines", "distribution"]
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]  # of a file
    title: str | None = None
    published: str | None = None
    where: Where = {}
    series: str | dict[str, Where] | None = None
    x: str = ""
    y: str = ""
    z: str = ""
    statistics: tuple[Statistic, ...] = ("mean",)
    statistic: Statistic = "max"
    log: bool = False
    bins: int | None = None
    level: tuple[str, ...] = ()
    evaluator: str = ""
    split: str = ""
    edges: tuple[float, ...] = ()

    @model_validator(mode="after")
    def check_keys(self) -> "Plot":
        """Refuse keys of other kinds, missing keys, a level that is no series, and edges that do not increase."""
        given = self.model_fields_set - {"kind", "name", "title", "published", "where", "series"}
        if unknown := given - REQUIRED[self.kind] - OPTIONAL.get(self.kind, set()):
            raise ValueError(f"{self.name}: a {self.kind} has no key {sorted(unknown)[0]!r}")
        if missing := REQUIRED[self.kind] - given:
            raise ValueError(f"{self.name}: a {self.kind} needs {sorted(missing)[0]}")
        is_known = not self.series_key  # the values of a key are known only when there are runs
        if is_known and (lost := set(self.level) - set(self.series or {})):
            raise ValueError(f"{self.name}: `level` names {sorted(lost)[0]!r}, but `series` does not")
        if list(self.edges) != sorted(set(self.edges)):
            raise ValueError(f"{self.name}: the edges {list(self.edges)} do not increase")
        return self

    @property
    def series_key(self) -> str:
        """The config key whose values are the series; "" if there is none."""
        return self.series if isinstance(self.series, str) else ""

    @property
    def metrics(self) -> list[str]:
        """The scores on the figure's axes."""
        return [name for name in (self.x, self.y, self.z) if "/" in name]

    def shows(self, score: str) -> bool:
        """Return whether the figure shows the score, or the cosines of the pairs behind the score."""
        return score in self.metrics or (bool(self.evaluator) and score.startswith(f"{self.split}/{self.evaluator}/"))


class ReportBlock(BaseModel):
    """A `report:` block, with the keys that this file's docstring lists. rows and columns are in the published order.

    paper_setting: the values that the paper held fixed; `setting` in the YAML.
    """

    model_config = CLOSED

    paper: str
    table: str | None = None
    rows: dict[str, Row] = {}
    columns: dict[str, Column]
    metric: str | None = None
    aggregate: Aggregate = "mean"
    select: str | None = None
    seed: str = "seed"
    baseline: str | dict[str, str] = {}
    paper_setting: Annotated[Where, Field(alias="setting")] = {}
    tolerance: float
    figures: list[Plot] = []
    claims: list[Claim] = []

    @property
    def baselines(self) -> dict[str, str]:
        """{row: its baseline}. The baseline of a row is another row, against which the row is tested."""
        base = self.baseline
        return base if isinstance(base, dict) else {row: base for row in self.rows if row != base}

    def baseline_of(self, row: str, column: str) -> str | None:
        """Return the row against which a cell is tested.

        Return None if the row has no baseline, or if the cell shows the value of a config key.
        """
        if column not in self.columns or self.columns[column].config:
            return None
        return self.baselines.get(row)

    def aggregate_of(self, row: str, column: str) -> Aggregate:
        """Return how a cell's runs of one seed become one value."""
        return self.columns[column].aggregate or self.rows[row].aggregate or self.aggregate

    def metric_of(self, row: str, column: str) -> str | None:
        """Return the metric that fills a cell: the metric of the column, else of the row, else of the table."""
        return self.columns[column].metric or self.rows[row].metric or self.metric

    def cells_at(self, place: TablePlace) -> list[CellPlace]:
        """Return the cells of a place, row by row."""
        return list(product(names_in(place, "row") or self.rows, names_in(place, "column") or self.columns))


def checked_block(raw: PlainConfig, file: str, tolerance: float) -> tuple[ReportBlock, PublishedTable]:
    """Return the checked block, and its published table.

    tolerance: the tolerance of a block that sets none. Raises a UserError that begins with the file's name.
    """
    try:
        table = published_table(raw.get("paper", ""), raw.get("table"))
        block = ReportBlock.model_validate(with_defaults(raw, table, tolerance))
        mistake = next(mistakes_in(block, table), None)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(str(part) for part in ("report", *wrong["loc"]))
        raise UserError(f"{file}: {place}: {wrong['msg']}") from None
    except UserError as error:  # a table or figure that the paper does not publish
        raise UserError(f"{file}: {error}") from None
    if mistake:
        raise UserError(f"{file}: {mistake}")
    in_order = {
        "rows": {name: block.rows[name] for name in table.cells if name in block.rows},
        "columns": {name: block.columns[name] for name in table.columns if name in block.columns},
    }
    return block.model_copy(update=in_order), table


def with_defaults(raw: PlainConfig, table: PublishedTable, tolerance: float) -> PlainConfig:
    """Return a block without empty keys, with all columns by default, and with the rows that a config key names."""
    block: PlainConfig = {"columns": dict.fromkeys(table.columns), "tolerance": tolerance}
    block |= {key: value for key, value in raw.items() if value is not None}
    key_of_rows = raw.get("rows")
    if isinstance(key_of_rows, str):
        block["rows"] = {name: {"where": {key_of_rows: name}} for name in table.cells if name not in table.others}
    return block


def mistakes_in(block: ReportBlock, table: PublishedTable) -> Iterator[str]:
    """Yield a message for each key of the block that contradicts the published table or figures, or another key."""
    for number, claim in enumerate(block.claims):
        yield from (f"report.claims.{number}{mistake}" for mistake in mistakes_in_claim(claim, block))
    yield from unknown_names(block, table)
    for row, column in product(block.rows, block.columns):
        yield from mistakes_in_cell(block, table, row, column)
    for number, plot in enumerate(block.figures):
        yield from (f"report.figures.{number}: {mistake}" for mistake in wrong_splits(plot, block.paper))


def mistakes_in_claim(claim: Claim, block: ReportBlock) -> Iterator[str]:
    """Yield a message for each mistake in a claim: a control that is not another claim, a control that needs a control,
    and places that cannot be compared.
    """
    controls = [other.says for other in block.claims if other.places and not other.within]
    if claim.control and claim.control not in controls:
        yield f".control: {claim.control!r} is not another claim, or it is a claim that needs a control itself"
    if claim.places is None:
        return
    if not block.rows:
        yield ": it compares cells, but report.rows is missing"
    first, second = (len(block.cells_at(place)) for place in claim.places)
    if first != second and 1 not in (first, second):
        yield f": {claim.says!r} compares {first} numbers with {second}"


def unknown_names(block: ReportBlock, table: PublishedTable) -> Iterator[str]:
    """Yield a message for each unknown name: a paper without a file of published numbers, a row or column that the
    published table lacks, and a row or column in a claim or baseline that the block lacks.
    """
    named: list[tuple[str, Iterable[str], Iterable[str]]] = [
        ("paper", [block.paper], papers()),
        ("rows", block.rows, table.cells),
        ("columns", block.columns, table.columns),
        ("baseline", [name for pair in block.baselines.items() for name in pair], block.rows),
    ]
    for number, claim in enumerate(block.claims):
        for place in claim.places or ():
            named.append((f"claims.{number}.row", names_in(place, "row"), block.rows))
            named.append((f"claims.{number}.column", names_in(place, "column"), block.columns))
    for key, names, known in named:
        yield from (f"report.{key}: {name!r} is not one of {', '.join(known)}" for name in names if name not in known)


def mistakes_in_cell(block: ReportBlock, table: PublishedTable, row: str, column: str) -> Iterator[str]:
    """Yield a message if a cell lacks a score that picks its best run, a metric, or a metric of the paper's split."""
    config, metric = block.columns[column].config, block.metric_of(row, column)
    if (block.aggregate_of(row, column) == "best" or config) and not block.select:
        yield f"report.select is missing: {row}, {column} needs it to pick its best run"
    if metric is None and config is None:
        yield f"{row}, {column} has no metric: add it to the column, the row or report.metric"
    if metric and metric.partition("/")[0] != table.split:
        yield (
            f"{column} is filled by {metric}, but the paper's {table.name} is of the {table.split} split: "
            "name a score of that split"
        )


def wrong_splits(plot: Plot, paper: str) -> Iterator[str]:
    """Yield a message for dev scores beside published test scores, and for test scores beside published dev scores.

    Training curves (train/...) are allowed beside both kinds of scores.
    """
    published = published_beside(plot, paper)
    splits = {plot.split, *(name.partition("/")[0] for name in plot.metrics)}
    for split in sorted(splits & {"dev", "test"}):
        if published and split != published.split:
            yield f"{plot.name} shows {split} scores, the paper's shows {published.split}"


def published_beside(plot: Plot, paper: str) -> PublishedFigure | None:
    """Return the published figure; None if the paper's YAML has no figure of this name.

    Raises UserError if the plot's `published` names no figure of the paper.
    """
    if plot.published is None and plot.name not in read_paper(paper).get("figures", {}):
        return None
    return published_figure(paper, plot.published or plot.name)
