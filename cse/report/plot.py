"""What a sweep's `report.figures` may ask for: a figure of the paper, drawn from folders of runs.

`report.figures` is a list of these; each has `kind`, a file name `name`, and may have `title`, `published` (a figure of
the paper's YAML, for its points, lines and claims; without it, `name` is looked up), `where` (config keys that runs
must have) and `series` (a config key, one series for each of its values, or {label: where}; without it, the table's
rows). Metrics are named in full, so each axis says its split.

    curve         {x: config key, y: metric, statistics: [max, q75], log: true, bins: 6, level: [a series' name]}
                  a statistic of all runs at each x, or in each of `bins` equal bins of (log) x: score against lambda,
                  NLI size, noise, train share, width, queue; a series in `level` has no x, and is a line across
    heat          {x: config key, y: config key, z: metric, statistic: max, log: true, bins: 6}      lambda_C x lambda_V
    scatter       {x: metric, y: metric}     a point for each series, mean over its runs       alignment and uniformity
    path          {x: metric, y: metric}     through the steps of training, from metrics.jsonl
    cosines       {evaluator: stsb, split: test, edges: [0, 1, 2, 3, 4, 5]}     histograms by gold score, series beside
    distribution  {x: config key, y: metric}     every run's score at each x, with quartiles
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cse.errors import UserError
from cse.record.runs import Where

REQUIRED = {
    "curve": {"x", "y"},
    "heat": {"x", "y", "z"},
    "scatter": {"x", "y"},
    "path": {"x", "y"},
    "cosines": {"evaluator", "split", "edges"},
    "distribution": {"x", "y"},
}
OPTIONAL = {"curve": {"statistics", "log", "bins", "level"}, "heat": {"statistic", "log", "bins"}}

Statistic = Literal["mean", "max", "q75", "q50"]
CLOSED = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)
"""How a block of a sweep's YAML is read: it has no other keys, and a name may look like a number."""


class Plot(BaseModel):
    """One figure's block; a kind uses only its own fields. replaced: the paper's metric, if another one is shown."""

    model_config = CLOSED

    kind: Literal["curve", "heat", "scatter", "path", "cosines", "distribution"]
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]  # a file's
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
    replaced: str | None = None

    @model_validator(mode="after")
    def check_keys(self) -> "Plot":
        """The kind's own keys and no others; every level is a series."""
        said = self.model_fields_set - {"kind", "name", "title", "published", "where", "series"}
        if unknown := said - REQUIRED[self.kind] - OPTIONAL.get(self.kind, set()):
            raise ValueError(f"{self.name}: a {self.kind} has no key {sorted(unknown)[0]!r}")
        if missing := REQUIRED[self.kind] - said:
            raise ValueError(f"{self.name}: a {self.kind} needs {sorted(missing)[0]}")
        if lost := set(self.level) - set(self.series or ()):
            raise ValueError(f"{self.name}: the level {sorted(lost)[0]!r} is not one of its series")
        return self

    def showing(self, score: str | None) -> "Plot":
        """The same figure with another score, e.g. dev/stsb/spearman; kinds without a score axis stay as they are."""
        if score is None:
            return self
        if self.kind == "heat":
            return self.model_copy(update={"replaced": self.z, "z": score})
        if self.kind in ("curve", "distribution"):
            return self.model_copy(update={"replaced": self.y, "y": score})
        return self

    @property
    def metrics(self) -> list[str]:
        """The scores that it shows: those on its axes."""
        if self.kind in ("scatter", "path"):
            return [self.x, self.y]
        return [name for name in (self.z or self.y,) if name]

    def check_split(self, split: str) -> None:
        """Raise UserError where the figure shows dev scores and the paper's test scores, or the reverse.

        Training curves (train/...) may stand beside either.
        """
        splits = [self.split, *(axis.partition("/")[0] for axis in (self.x, self.y, self.z))]
        wrong = [name for name in splits if name in ("dev", "test") and name != split]
        if wrong:
            raise UserError(f"figure {self.name}: it shows {wrong[0]} scores, the paper's shows {split}")
