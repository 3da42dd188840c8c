"""The figures that a sweep's `report.figures` may ask for: a paper's figure, drawn from our runs.

`report.figures` is a list of these. Each has a `kind` and a file's `name`, and may have `title`, `published` (a figure
in the paper's YAML, for its points, lines and claims; by default the one called `name`), `where` (values that runs must
have) and `series` (a config key, with a series for each of its values, or {label: where}; by default the table's rows).
Metrics are named in full, so each axis names its split.

    curve         {x: config key, y: metric, statistics: [max, q75], log: true, bins: 6, level: [a series' name]}
                  a statistic of all runs at each x, or in each of `bins` equal bins of (log) x: score against lambda,
                  NLI size, noise, train share, width, queue; a series in `level` has no x and is a horizontal line
    heat          {x: config key, y: config key, z: metric, statistic: max, log: true, bins: 6}      lambda_C x lambda_V
    scatter       {x: metric, y: metric}     a point for each series, the mean of its runs     alignment and uniformity
    path          {x: metric, y: metric}     a line through the steps of training, from metrics.jsonl
    cosines       {evaluator: stsb, split: test, edges: [0, 1, 2, 3, 4, 5]}     histograms by gold score and series
    distribution  {x: config key, y: metric}     every run's score at each x, with quartiles
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cse.errors import UserError
from cse.lab.folder.runs import Where

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
"""How blocks of a sweep's YAML are read: unknown keys are refused, and a name may look like a number."""


class Plot(BaseModel):
    """One figure's block."""

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

    @model_validator(mode="after")
    def check_keys(self) -> "Plot":
        """Refuse keys of other kinds, missing keys, a level that is no series, and edges that do not rise."""
        said = self.model_fields_set - {"kind", "name", "title", "published", "where", "series"}
        if unknown := said - REQUIRED[self.kind] - OPTIONAL.get(self.kind, set()):
            raise ValueError(f"{self.name}: a {self.kind} has no key {sorted(unknown)[0]!r}")
        if missing := REQUIRED[self.kind] - said:
            raise ValueError(f"{self.name}: a {self.kind} needs {sorted(missing)[0]}")
        if lost := set(self.level) - set(self.series or ()):
            raise ValueError(f"{self.name}: the level {sorted(lost)[0]!r} is not one of its series")
        if list(self.edges) != sorted(set(self.edges)):
            raise ValueError(f"{self.name}: the edges {list(self.edges)} do not rise")
        return self

    @property
    def series_key(self) -> str:
        """The config key of the series; "" if none makes them."""
        return self.series if isinstance(self.series, str) else ""

    @property
    def metrics(self) -> list[str]:
        """The scores on the figure's axes."""
        return [name for name in (self.x, self.y, self.z) if "/" in name]

    def shows(self, score: str) -> bool:
        """Whether the figure shows the score, or the pairs behind it."""
        return score in self.metrics or (bool(self.evaluator) and score.startswith(f"{self.split}/{self.evaluator}/"))

    def check_split(self, split: str) -> None:
        """Raise UserError if this figure shows dev scores and the paper's shows test scores, or the other way round.

        Training curves (train/...) go with either.
        """
        splits = {self.split, *(name.partition("/")[0] for name in self.metrics)}
        if wrong := sorted(splits & {"dev", "test"} - {split}):
            raise UserError(f"figure {self.name}: it shows {wrong[0]} scores, the paper's shows {split}")
