"""The `report:` block of a sweep's YAML: which published table or figures its runs are compared with, and how.

    report:
      paper: whitenedcse              # cse/report/published/<paper>.yaml
      table: table4                   # one of its tables; left out where the sweep draws figures only
      rows: objective.num_groups      # a config key whose value names the row ("32"), or each published row's name and
      rows:                           # what a run's config, or the YAML chosen in a group, must say to belong to it
        VisualCSE-BERT-base: {case: visual_bert}
        Barlow Twins BERT q75: {where: {objective: barlow, model: bert}, aggregate: q75}
      columns:                        # each published column's name and
        STS-B: test/sts/STSB/spearman                               # the metric that fills it,
        shuffled: {metric: test/sts/average, where: {objective.shuffle: true}}      # of those runs,
        Downstream: {metric: [test/a, [test/b/accuracy, test/b/f1]]}  # the mean of metrics (an inner list counts once),
        Text LR: {config: trainer.lr}                               # or a config value, with aggregate: best
      metric: test/sts/average        # for columns that name none (all of them where `columns` is left out, and a row
                                      # may carry `metric` too)
      aggregate: mean                 # of each seed's runs in a cell: mean, max, q75, q50, or best: the run that has
      select: dev/stsb/spearman       #   the highest `select`; the cell's mean, sd and n are then over the seeds
      seed: seed                      # the config key that tells repetitions apart
      baseline: SimCSE-BERT-base      # the row that rows are tested against, or {row: its baseline}
      setting: {model: bert}          # what the paper held fixed; runs that differ, or were told
                                      # more than the sweep says, get no verdict but OTHER SETTING
      tolerance: 0.1                  # PASS: so near; seed_sd: the deviation assumed where one run is all there is.
      seed_sd: 0.9                    #   Both also in a column ({metric, tolerance, seed_sd}); else cse-report's
      claims:                         # what the paper claims from this table: cse/report/claims.py
        - {says: m = 3 beats m = 2, source: Section 5.3, more: {row: "3"}, than: {row: "2"}}
      figures:                        # see cse/report/plot.py for kinds
        - {kind: curve, name: figure1, x: objective.lambd, y: dev/stsb/spearman, statistics: [max, q75], log: true}

A metric's first word is its split; a column whose metric is of another split than the published table is refused.
"""

from dataclasses import dataclass, field, replace

from cse.dotted import Config
from cse.errors import UserError
from cse.eval.score import nature
from cse.record.runs import Where
from cse.report import plot
from cse.report.plot import Plot
from cse.report.published import Published

AGGREGATES = ("mean", "max", "q75", "q50", "best")
KEYS = {"paper", "table", "rows", "columns", "metric", "aggregate", "select", "seed", "baseline", "setting",
        "tolerance", "seed_sd", "figures", "claims"}  # fmt: skip

Metric = str | list["Metric"]
"""A score's name, or a list whose mean is taken, in which an inner list counts once."""


@dataclass(frozen=True)
class Selection:
    """What a row or a column asks of a run. `metric` or `config` fills the cell; None leaves it to the other side."""

    where: Where = field(default_factory=dict)
    metric: Metric | None = None
    config: str | None = None
    aggregate: str | None = None
    tolerance: float | None = None
    seed_sd: float | None = None


@dataclass(frozen=True)
class Spec:
    """A validated `report:` block. rows and columns are by published name, in the published order."""

    paper: str
    table: str | None
    rows: dict[str, Selection]
    columns: dict[str, Selection]
    metric: Metric | None
    aggregate: str
    select: str | None
    seed: str
    baselines: dict[str, str]
    setting: Where
    tolerance: float
    seed_sd: float
    figures: list[Plot]
    axes: tuple[str, ...] = ()  # the config keys that tell the sweep's settings apart, but for the seed
    stands_in: str | None = None  # the score that is shown in place of the paper's


def parse(raw: Config, published: Published | None, where: str, tolerance: float, seed_sd: float) -> Spec:
    """Check a block against its published table. `where` names the file in messages."""
    if unknown := set(raw) - KEYS:
        raise UserError(f"{where}: report has no key {sorted(unknown)[0]!r}; the keys are {', '.join(sorted(KEYS))}")
    names = list(published.cells) if published else []
    columns = published.columns if published else []
    rows = raw.get("rows", {})
    if isinstance(rows, str):
        rows = {name: {"where": {rows: name}} for name in names if published and name not in published.others}
    spec = Spec(
        paper=raw["paper"],
        table=raw.get("table"),
        rows=_lines(rows, names, "rows", where),
        columns=_lines(raw.get("columns", dict.fromkeys(columns)), columns, "columns", where),
        metric=raw.get("metric"),
        aggregate=raw.get("aggregate", "mean"),
        select=raw.get("select"),
        seed=raw.get("seed", "seed"),
        baselines=_baselines(raw.get("baseline"), list(rows)),
        setting=raw.get("setting") or {},
        tolerance=raw.get("tolerance", tolerance),
        seed_sd=raw.get("seed_sd", seed_sd),
        figures=[plot.parse(figure, where) for figure in raw.get("figures") or []],
    )
    for row, base in spec.baselines.items():
        if missing := [name for name in (row, base) if name not in spec.rows]:
            raise UserError(f"{where}: report.baseline names {missing[0]!r}, which is not a row of report.rows")
    if published:
        _check_cells(spec, published, where)
    return spec


def _lines(raw: Config, names: list[str], kind: str, where: str) -> dict[str, Selection]:
    """The lines in the published order; a name that was not published is refused."""
    if unknown := [name for name in raw if str(name) not in names]:
        raise UserError(f"{where}: report.{kind} names {unknown[0]!r}; the paper's are {', '.join(names)}")
    try:
        by_name = {str(name): _line(value, kind) for name, value in raw.items()}
    except TypeError as error:
        raise UserError(f"{where}: in report.{kind}, {str(error).partition(') ')[2]}") from error
    return {name: by_name[name] for name in names if name in by_name}


def _line(value: Metric | Config, kind: str) -> Selection:
    if not isinstance(value, dict):  # a column's metric
        return Selection(metric=value)
    if kind == "rows" and not set(value) & {"where", "metric", "aggregate"}:  # a row's conditions, written short
        return Selection(where=value)
    return Selection(**value)


def _baselines(raw: str | dict[str, str] | None, rows: list[str]) -> dict[str, str]:
    if isinstance(raw, str):
        return {str(row): raw for row in rows if row != raw}
    return {str(row): str(base) for row, base in (raw or {}).items()}


def _check_cells(spec: Spec, published: Published, where: str) -> None:
    for row, line in spec.rows.items():
        for column, other in spec.columns.items():
            aggregate = other.aggregate or line.aggregate or spec.aggregate
            if aggregate not in AGGREGATES:
                raise UserError(f"{where}: report.aggregate {aggregate!r} is not one of {', '.join(AGGREGATES)}")
            if (aggregate == "best" or other.config) and not spec.select:
                raise UserError(f"{where}: report.select is missing, by which {row}, {column} picks its best run")
            metric = metric_of(spec, row, column)
            if metric is None and other.config is None:
                raise UserError(
                    f"{where}: {row}, {column} has no metric: add it to the column, the row or report.metric"
                )
            for name in _names(metric):
                if name.partition("/")[0] != published.split:
                    raise UserError(
                        f"{where}: {column} is filled by {name}, but the paper's {published.name} is of the "
                        f"{published.split} split, and the two are never read as one"
                    )


def metric_of(spec: Spec, row: str, column: str) -> Metric | None:
    """The metric that fills a cell: the column's, else the row's, else the table's."""
    return spec.columns[column].metric or spec.rows[row].metric or spec.metric


def _names(metric: Metric | None) -> list[str]:
    if isinstance(metric, list):
        return [name for one in metric for name in _names(one)]
    return [metric] if metric else []


def is_geometry(metric: Metric | None) -> bool:
    """Whether a metric tells how embeddings lie and not how good they are: no other score can stand for it."""
    return isinstance(metric, str) and nature(metric).kind == "geometry"


def scored_by(spec: Spec, score: str) -> Spec:
    """The report of another score than the paper's, in the columns that tell runs apart or, if none does, the last but
    for those of geometry."""
    replaced = {
        name: replace(line, metric=score, config=None)
        for name, line in spec.columns.items()
        if not is_geometry(line.metric)
    }
    columns = {name: line for name, line in replaced.items() if line.where} or dict(list(replaced.items())[-1:])
    rows = {name: replace(line, metric=None) for name, line in spec.rows.items()}
    return replace(spec, rows=rows, columns=columns, metric=score, stands_in=score)
