r"""The papers' figures from folders of runs, with published points and lines laid over.

A sweep's `report.figures` is a list of these; every one has `kind`, a file name `name`, and may have `title`,
`published` (a figure of the paper's YAML, for its points, lines and claims; left out, `name` is looked up), `where`
(config keys that runs must have) and `series` (a config key, whose values are told apart, or {label: where}; left out,
the table's rows). Metrics are named in full, so each axis says its split.

    curve         {x: config key, y: metric, statistics: [max, q75], log: true, bins: 6}
                  a statistic of all runs at each x, or in each of `bins` equal bins of (log) x: score against lambda,
                  NLI size, noise, train share, width, queue
    heat          {x: config key, y: config key, z: metric, statistic: max, log: true, bins: 6}      lambda_C x lambda_V
    scatter       {x: metric, y: metric}     a point for each series, mean over its runs       alignment and uniformity
    path          {x: metric, y: metric}     through the steps of training, from metrics.jsonl
    cosines       {evaluator: stsb, split: test, edges: [0, 1, 2, 3, 4, 5]}     histograms by gold score, series beside
    distribution  {x: config key, y: metric}     every run's score at each x, with quartiles
"""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from cse.errors import UserError
from cse.report import published
from cse.report.runs import Run, plain
from cse.report.spec import Spec
from cse.report.statistics import summary
from cse.report.table import WITHIN_A_SEED

Series = dict[str, list[Run]]
COMMON = {"kind", "name", "title", "published", "where", "series"}
OWN = {
    "curve": {"x", "y", "statistics", "log", "bins"},
    "heat": {"x", "y", "z", "statistic", "log", "bins"},
    "scatter": {"x", "y"},
    "path": {"x", "y"},
    "cosines": {"evaluator", "split", "edges"},
    "distribution": {"x", "y"},
}
NEEDED = {"curve": ("x", "y"), "heat": ("x", "y", "z"), "scatter": ("x", "y"), "path": ("x", "y"),
          "cosines": ("evaluator", "split", "edges"), "distribution": ("x", "y")}  # fmt: skip
SCORE_AXIS = {"curve": "y", "heat": "z", "distribution": "y"}
LINES = {"max": "-", "q75": "--", "mean": "-", "q50": ":"}


def check(wanted: dict[str, Any], where: str) -> None:
    """A figure's block, before anything is drawn. `where` names the file in messages."""
    kind, name = wanted.get("kind"), wanted.get("name")
    if kind not in OWN or not name:
        raise UserError(f"{where}: a figure needs a name and a kind ({', '.join(OWN)}), not {wanted}")
    if not re.fullmatch(r"[\w.-]+", str(name)):
        raise UserError(f"{where}: a figure's name becomes a file's: letters, digits, _ - and . only, not {name!r}")
    if unknown := set(wanted) - COMMON - OWN[kind]:
        raise UserError(f"{where}: figure {name} has no key {sorted(unknown)[0]!r}: {', '.join(sorted(OWN[kind]))}")
    if lacking := [key for key in NEEDED[kind] if key not in wanted]:
        raise UserError(f"{where}: figure {name} does not say {lacking[0]}")


def showing(wanted: dict[str, Any], score: str | None) -> dict[str, Any]:
    """The figure with another score than the paper's, whose points are then not laid over it."""
    axis = SCORE_AXIS.get(wanted["kind"])
    return wanted if score is None or axis is None else {**wanted, axis: score, "instead_of": wanted[axis]}


def draw(wanted: dict[str, Any], spec: Spec, runs: list[Run]) -> Any | None:
    """A matplotlib figure, or None where no finished run has what it shows."""
    printed = overlay(wanted, spec.paper)
    if printed is not None and "instead_of" not in wanted:
        check_split(wanted, printed["split"])
    done = [run for run in runs if run.status == "done" and run.matches(wanted.get("where", {}))]
    series = {name: group for name, group in told_apart(wanted, spec, done).items() if group}
    drawers: dict[str, Callable] = {"curve": curve, "heat": heat, "scatter": scatter, "path": path,
                                    "cosines": cosines, "distribution": distribution}  # fmt: skip
    figure = drawers[wanted["kind"]](wanted, series) if series else None
    if figure is not None:
        if printed is not None and wanted["kind"] in ("curve", "scatter") and "instead_of" not in wanted:
            lay_over(figure.axes[0], printed)
        title = wanted.get("title") or (printed or {}).get("title") or wanted["name"]
        figure.suptitle(f"{title} (not the paper's score)" if "instead_of" in wanted else title)
    return figure


def overlay(wanted: dict[str, Any], paper: str) -> dict[str, Any] | None:
    """The published figure, or None where the paper has none of this name."""
    if "published" in wanted:
        return published.figure(paper, wanted["published"])
    known = published.read(paper).get("figures", {})
    return published.figure(paper, wanted["name"]) if wanted["name"] in known else None


def check_split(wanted: dict[str, Any], split: str) -> None:
    """Scores of one split are never drawn as another's: training curves (train/...) aside, the splits must agree."""
    named = [wanted["split"]] if "split" in wanted else [wanted[k].partition("/")[0] for k in "xyz" if k in wanted]
    wrong = [name for name in named if name in ("dev", "test") and name != split]
    if wrong:
        raise UserError(f"figure {wanted['name']}: it shows {wrong[0]} scores, the paper's shows {split}")


def told_apart(wanted: dict[str, Any], spec: Spec, runs: list[Run]) -> Series:
    series = wanted.get("series")
    if isinstance(series, str):
        values = dict.fromkeys(str(run.get(series)) for run in runs)
        return {value: [run for run in runs if str(run.get(series)) == value] for value in values}
    if isinstance(series, dict):
        return {name: [run for run in runs if run.matches(where)] for name, where in series.items()}
    rows = {name: [run for run in runs if run.matches(line.where)] for name, line in spec.rows.items()}
    return rows if wanted["kind"] in ("scatter", "path", "cosines") and rows else {"": runs}


def new(width: float = 6.0, height: float = 4.0, **grid: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(**grid)


def curve(wanted: dict[str, Any], series: Series) -> Any | None:
    figure, axes = new()
    for color, (name, runs) in enumerate(series.items()):
        pairs = pairs_of(runs, wanted["x"], wanted["y"])
        for statistic in wanted.get("statistics", ["mean"]):
            points = at_each_x(pairs, statistic, wanted.get("bins"), wanted.get("log", False))
            if points:
                label = " ".join(filter(None, [name, statistic if len(pairs) > len(points) else ""]))
                x, y, sd = zip(*points, strict=True)
                bars = sd if statistic == "mean" and any(sd) else None
                axes.errorbar(x, y, bars, linestyle=LINES[statistic], marker="o", capsize=3, color=f"C{color}",
                              label=label or None)  # fmt: skip
    axes.set(xlabel=wanted["x"], ylabel=wanted["y"], xscale="log" if wanted.get("log") else "linear")
    return named(figure, axes)


def pairs_of(runs: list[Run], x: str, y: str) -> list[tuple[float, float]]:
    """(config value, score) of the runs that have both; a key that is null counts as 0 (no noise, no queue)."""
    found = [(0.0 if run.get(x) is None else plain(run.get(x)), run.metrics.get(y)) for run in runs]
    return sorted((a, b) for a, b in found if isinstance(a, float) and b is not None)


def at_each_x(
    pairs: list[tuple[float, float]], statistic: str, bins: int | None, log: bool
) -> list[tuple[float, float, float]]:
    """(x, statistic of the scores there, their standard deviation); with bins, x is a bin's middle."""
    if pairs and bins:
        middles = middle_of_bin([x for x, _ in pairs], bins, log)
        pairs = [(middle, y) for middle, (_, y) in zip(middles, pairs, strict=True)]
    groups = {x: [y for a, y in pairs if a == x] for x in sorted({x for x, _ in pairs})}
    return [(x, WITHIN_A_SEED[statistic](ys), summary(ys).sd or 0.0) for x, ys in groups.items()]


def middle_of_bin(values: list[float], bins: int, log: bool) -> list[float]:
    """For each value the middle of its bin, of `bins` equal ones from the least to the greatest (in log10 if log)."""
    scale = np.log10(values) if log else np.asarray(values)
    edges = np.linspace(scale.min(), scale.max(), bins + 1)
    index = np.clip(np.searchsorted(edges, scale, side="right") - 1, 0, bins - 1)
    middles = (edges[index] + edges[index + 1]) / 2
    return (10**middles if log else middles).tolist()


def heat(wanted: dict[str, Any], series: Series) -> Any | None:
    """One panel a series; the statistic of the runs in each cell, written into it."""
    figure, grid = new(5.5 * len(series), 4.5, ncols=len(series), squeeze=False)
    statistic = WITHIN_A_SEED[wanted.get("statistic", "max")]
    log, bins = wanted.get("log", False), wanted.get("bins")
    for axes, (name, runs) in zip(grid[0], series.items(), strict=True):
        having = [run for run in runs if run.metrics.get(wanted["z"]) is not None]
        if not having:
            continue
        places = []
        for key in (wanted["x"], wanted["y"]):
            values = [float(plain(run.get(key))) for run in having]
            places.append(middle_of_bin(values, bins, log) if bins else values)
        xs, ys = (sorted(set(place)) for place in places)
        scores = np.full((len(ys), len(xs)), np.nan)
        for i, x in enumerate(xs):
            for j, y in enumerate(ys):
                here = [run.metrics[wanted["z"]] for run, a, b in zip(having, *places, strict=True) if (a, b) == (x, y)]
                if here:
                    scores[j, i] = statistic(here)
                    axes.text(i, j, f"{scores[j, i]:.1f}", ha="center", va="center", fontsize=7)
        image = axes.imshow(scores, origin="lower", aspect="auto", cmap="viridis", alpha=0.7)
        axes.set_xticks(range(len(xs)), [f"{x:.3g}" for x in xs])
        axes.set_yticks(range(len(ys)), [f"{y:.3g}" for y in ys])
        axes.set(xlabel=wanted["x"], ylabel=wanted["y"], title=name)
        figure.colorbar(image, label=f"{wanted.get('statistic', 'max')} of {wanted['z']}")
    return figure if any(axes.images for axes in grid[0]) else None


def scatter(wanted: dict[str, Any], series: Series) -> Any | None:
    figure, axes = new()
    for name, runs in series.items():
        points = [
            (r.metrics[wanted["x"]], r.metrics[wanted["y"]])
            for r in runs
            if {wanted["x"], wanted["y"]} <= set(r.metrics)
        ]
        if points:
            x, y = np.mean(points, axis=0)
            axes.scatter(x, y, zorder=3)
            axes.annotate(name, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
    axes.margins(0.25)  # room for the names
    axes.set(xlabel=wanted["x"], ylabel=wanted["y"])
    return figure if axes.collections else None


def path(wanted: dict[str, Any], series: Series) -> Any | None:
    """A line for each run, the colour for its series; a ring where it starts."""
    figure, axes = new()
    for color, (name, runs) in enumerate(series.items()):
        for number, run in enumerate(runs):
            points = [(e[wanted["x"]], e[wanted["y"]]) for e in run.events()
                      if e.get(wanted["x"]) is not None and e.get(wanted["y"]) is not None]  # fmt: skip
            if points:
                x, y = zip(*points, strict=True)
                axes.plot(x, y, marker=".", color=f"C{color}", label=name if not number else None, alpha=0.7)
                axes.scatter(x[:1], y[:1], facecolors="none", edgecolors=f"C{color}", s=60)
    axes.set(xlabel=wanted["x"], ylabel=wanted["y"])
    return named(figure, axes)


def cosines(wanted: dict[str, Any], series: Series) -> Any | None:
    """A column for each series (its first run), a row for each bucket of gold scores (noncontrastive's Figure 4)."""
    found = {}
    for name, runs in series.items():
        for run in runs:
            file = run.folder / "plots" / "cosines_after.json"
            kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            pairs = kept.get(wanted["evaluator"], {}).get(wanted["split"])
            if pairs and name not in found:
                found[name] = np.asarray(pairs)
    if not found:
        return None
    buckets = list(pairwise(wanted["edges"]))
    figure, grid = new(3 * len(found), 1.2 * len(buckets), nrows=len(buckets), ncols=len(found), squeeze=False,
                       sharex="col")  # fmt: skip
    for column, (name, (cosine_N, gold_N)) in enumerate(found.items()):
        for row, (low, high) in enumerate(buckets):
            inside = (gold_N >= low) & ((gold_N < high) | (row == len(buckets) - 1) & (gold_N == high))
            axes = grid[row, column]
            axes.hist(cosine_N[inside], bins=40, range=(cosine_N.min(), 1.0))
            axes.set_yticks([])
            if column == 0:
                axes.set_ylabel(f"{low:g}-{high:g}", rotation=0, ha="right")
        grid[0, column].set_title(name, fontsize=8)
        grid[-1, column].set_xlabel(f"cosine ({wanted['split']})")
    return figure


def distribution(wanted: dict[str, Any], series: Series) -> Any | None:
    """Boxes of quartiles and every score; x is a choice, not a scale."""
    figure, axes = new()
    labels, groups = [], []
    for name, runs in series.items():
        values = dict.fromkeys(str(run.get(wanted["x"])) for run in runs)
        for value in sorted(values, key=lambda v: (not isinstance(plain(v), float), plain(v))):
            scores = [r.metrics[wanted["y"]] for r in runs
                      if str(r.get(wanted["x"])) == value and wanted["y"] in r.metrics]  # fmt: skip
            if scores:
                labels.append(f"{name}\n{value}" if name else value)
                groups.append(scores)
    if not groups:
        return None
    axes.boxplot(groups, tick_labels=labels, showfliers=False)
    for place, scores in enumerate(groups, 1):
        axes.plot([place] * len(scores), scores, "o", alpha=0.5, color="C0", markersize=4)
    axes.set(xlabel=wanted["x"], ylabel=wanted["y"])
    return figure


def named(figure: Any, axes: Any) -> Any | None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=7, handlelength=3.5)
    return figure if axes.lines else None


def lay_over(axes: Any, printed: dict[str, Any]) -> None:
    """The paper's points as stars, its lines dashed, both named."""
    for point in printed["points"]:
        axes.plot(point["x"], point["y"], "*", color="black", markersize=9, linestyle="none")
        axes.annotate(f"paper: {point['label']}", (point["x"], point["y"]), xytext=(4, -8),
                      textcoords="offset points", fontsize=6)  # fmt: skip
    for line in printed["lines"]:
        axes.axhline(line["y"], linestyle="--", color="grey", linewidth=1)
        axes.annotate(f"paper: {line['label']}", (0.02, line["y"]), xycoords=("axes fraction", "data"), fontsize=6,
                      va="bottom")  # fmt: skip
