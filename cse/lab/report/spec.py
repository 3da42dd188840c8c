"""The `report:` block of a sweep's YAML: which published table or figures its runs are compared with, and how.

    report:
      paper: whitenedcse              # cse/lab/report/published/<paper>.yaml
      table: table4                   # one of its tables; left out where the sweep draws figures only
      rows: objective.num_groups      # a config key whose value names the row ("32"), or each published row's name and
      rows:                           # the values, or the choices of groups, by which runs belong to it
        VisualCSE-BERT-base: {case: visual_bert}
        Barlow Twins BERT q75: {where: {objective: barlow, model: bert}, aggregate: q75}
      columns:                        # each published column's name and
        STS-B: test/sts/STSB/spearman                               # the metric that fills it,
        shuffled: {metric: test/sts/average, where: {objective.shuffle: true}}      # of those runs,
        Text LR: {config: trainer.lr}                               # or a config value, with aggregate: best
      metric: test/sts/average        # for columns without one, or all columns if `columns` is left out; a row may
                                      # have a `metric` too
      aggregate: mean                 # of each seed's runs in a cell: mean, max, q75, q50, or best: the run that has
      select: dev/stsb/spearman       #   the highest `select`; the cell's mean, sd and n are then over the seeds
      seed: seed                      # the config key that tells repetitions apart
      baseline: SimCSE-BERT-base      # the row that rows are tested against, or {row: its baseline}
      setting: {model: bert}          # what the paper held fixed; runs that differ from it, or from
                                      # what the sweep sets, get the verdict OTHER SETTING
      tolerance: 0.1                  # PASS: at most this far off; a column may have its own; else cse-report's
      claims:                         # what the paper claims from this table: cse/lab/report/claims.py
        - {says: m = 3 beats m = 2, source: Section 5.3, more: {row: "3"}, than: {row: "2"}}
      figures:                        # see cse/lab/report/plot.py for kinds
        - {kind: curve, name: figure1, x: objective.lambd, y: dev/stsb/spearman, statistics: [max, q75], log: true}

A metric's first word is its split, which has to be that of the published table.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ValidationError

from cse.errors import UserError
from cse.lab.folder.runs import Where
from cse.lab.report.claims import Claim, names
from cse.lab.report.plot import CLOSED, Plot
from cse.lab.report.published import Published
from cse.lab.settings.dotted import Config

Aggregate = Literal["mean", "max", "q75", "q50", "best"]


class Selection(BaseModel):
    """Which runs belong to a row or a column, and what fills its cells: `metric` or `config`, or the other side's."""

    model_config = CLOSED

    where: Where = {}
    metric: str | None = None
    config: str | None = None
    aggregate: Aggregate | None = None
    tolerance: float | None = None


def _row(value: object) -> object:
    """A row, which may be written as its `where` alone."""
    is_short = isinstance(value, dict) and not set(value) & {"where", "metric", "aggregate"}
    return {"where": value} if is_short else value


def _column(value: object) -> object:
    """A column, which may be written as its metric alone."""
    return value if isinstance(value, dict) else {"metric": value}


class Spec(BaseModel):
    """A `report:` block, see above. rows and columns are by published name, in the published order.

    Not from the YAML: axes, the config keys that the sweep varies, except the seed.
    """

    model_config = CLOSED

    paper: str
    table: str | None = None
    rows: dict[str, Annotated[Selection, BeforeValidator(_row)]] = {}
    columns: dict[str, Annotated[Selection, BeforeValidator(_column)]]
    metric: str | None = None
    aggregate: Aggregate = "mean"
    select: str | None = None
    seed: str = "seed"
    baseline: str | dict[str, str] = {}
    setting: Where = {}
    tolerance: float
    figures: list[Plot] = []
    claims: list[Claim] = []
    axes: tuple[str, ...] = ()

    @property
    def baselines(self) -> dict[str, str]:
        """{row: the row that it is compared with}."""
        base = self.baseline
        return base if isinstance(base, dict) else {row: base for row in self.rows if row != base}

    def aggregate_of(self, row: str, column: str) -> Aggregate:
        """How a cell's runs of one seed become one value."""
        return self.columns[column].aggregate or self.rows[row].aggregate or self.aggregate

    def metric_of(self, row: str, column: str) -> str | None:
        """The metric that fills a cell: the column's, else the row's, else the table's."""
        return self.columns[column].metric or self.rows[row].metric or self.metric


def parse(raw: Config, published: Published | None, where: str, tolerance: float) -> Spec:
    """Check a block against its published table. Raises UserError, which begins with `where`, the file's name."""
    cells, columns = (list(published.cells), published.columns) if published else ([], [])
    block = {"columns": dict.fromkeys(columns), "tolerance": tolerance}
    block |= {key: value for key, value in raw.items() if value is not None}
    if isinstance(rows := raw.get("rows"), str):
        own = [name for name in cells if published and name not in published.others]
        block["rows"] = {name: {"where": {rows: name}} for name in own}
    try:
        spec = Spec.model_validate(block)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(str(part) for part in ("report", *wrong["loc"]))
        raise UserError(f"{where}: {place}: {wrong['msg']}") from None
    for mistake in mistakes_in(spec, cells, columns, published):
        raise UserError(f"{where}: {mistake}")
    in_order = {
        "rows": {name: spec.rows[name] for name in cells if name in spec.rows},
        "columns": {name: spec.columns[name] for name in columns if name in spec.columns},
    }
    return spec.model_copy(update=in_order)


def mistakes_in(spec: Spec, rows: list[str], columns: list[str], published: Published | None) -> Iterator[str]:
    """Names that are not the table's, claims without their control, and cells that nothing fills."""
    named: list[tuple[str, Iterable[str], Iterable[str]]] = [
        ("rows", spec.rows, rows),
        ("columns", spec.columns, columns),
        ("baseline", [name for pair in spec.baselines.items() for name in pair], spec.rows),
    ]
    controls = [claim.says for claim in spec.claims if not claim.within]
    for number, claim in enumerate(spec.claims):
        if claim.control and claim.control not in controls:
            yield (
                f"report.claims.{number}.control: {claim.control!r} is not what another claim `says`, or that claim "
                "needs a control itself"
            )
        for place in claim.places:
            named.append((f"claims.{number}.row", names(place.get("row")), spec.rows))
            named.append((f"claims.{number}.column", names(place.get("column")), spec.columns))
    for key, found, known in named:
        yield from (f"report.{key}: {name!r} is not one of {', '.join(known)}" for name in found if name not in known)
    for row, column in product(spec.rows, spec.columns if published else ()):
        config, metric = spec.columns[column].config, spec.metric_of(row, column)
        if (spec.aggregate_of(row, column) == "best" or config) and not spec.select:
            yield f"report.select is missing: {row}, {column} needs it to pick its best run"
        if metric is None and config is None:
            yield f"{row}, {column} has no metric: add it to the column, the row or report.metric"
        if metric and published and metric.partition("/")[0] != published.split:
            yield (
                f"{column} is filled by {metric}, but the paper's {published.name} is of the {published.split} split: "
                "name a score of that split"
            )
