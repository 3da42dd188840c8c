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

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cse.errors import UserError
from cse.record.runs import Where

COMMON = {"kind", "name", "title", "published", "where", "series"}
REQUIRED = {
    "curve": {"x", "y"},
    "heat": {"x", "y", "z"},
    "scatter": {"x", "y"},
    "path": {"x", "y"},
    "cosines": {"evaluator", "split", "edges"},
    "distribution": {"x", "y"},
}
OPTIONAL = {"curve": {"statistics", "log", "bins", "level"}, "heat": {"statistic", "log", "bins"}}


@dataclass(frozen=True)
class Plot:
    """One figure's block; a kind uses only its own fields. replaced: the paper's metric, if another one is shown."""

    kind: str
    name: str
    title: str | None = None
    published: str | None = None
    where: Where = field(default_factory=dict)
    series: str | dict[str, Where] | None = None
    x: str = ""
    y: str = ""
    z: str = ""
    statistics: tuple[str, ...] = ("mean",)
    statistic: str = "max"
    log: bool = False
    bins: int | None = None
    level: tuple[str, ...] = ()
    evaluator: str = ""
    split: str = ""
    edges: tuple[float, ...] = ()
    replaced: str | None = None

    def showing(self, score: str | None) -> "Plot":
        """The same figure with another score, e.g. dev/stsb/spearman; kinds without a score axis stay as they are."""
        if score is None:
            return self
        if self.kind == "heat":
            return replace(self, replaced=self.z, z=score)
        return replace(self, replaced=self.y, y=score) if self.kind in ("curve", "distribution") else self

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


def parse(raw: Mapping[str, object], where: str) -> Plot:
    """A figure's block. `where` names the file in messages. Raises UserError for anything but the keys of its kind."""
    kind, name = raw.get("kind"), raw.get("name")
    if kind not in REQUIRED or not name:
        raise UserError(f"{where}: a figure needs a name and a kind ({', '.join(REQUIRED)}), not {dict(raw)}")
    if not re.fullmatch(r"[\w.-]+", str(name)):
        raise UserError(f"{where}: a figure's name becomes a file's: letters, digits, _ - and . only, not {name!r}")
    own = REQUIRED[str(kind)] | OPTIONAL.get(str(kind), set())
    if unknown := set(raw) - COMMON - own:
        raise UserError(f"{where}: figure {name} has no key {sorted(unknown)[0]!r}: {', '.join(sorted(own))}")
    if missing := REQUIRED[str(kind)] - set(raw):
        raise UserError(f"{where}: figure {name} does not say {sorted(missing)[0]}")
    if lost := set(raw.get("level", ())) - set(raw.get("series", ())):  # type: ignore[call-overload]
        raise UserError(f"{where}: figure {name} has a level {sorted(lost)[0]!r}, which is not one of its series")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return Plot(**values)  # type: ignore[arg-type]  # the keys are checked above
