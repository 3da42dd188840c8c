"""One function for each kind of figure (see cse.report.plot): runs in, a matplotlib figure out, None without data.

A series is a name and its runs. Nothing here knows a paper.
"""

import json
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cse.record.runs import Run, grouped, plain
from cse.report.cells import WITHIN_A_SEED
from cse.report.plot import Plot
from cse.report.statistics import summary
from cse.run.plots import cosine_histograms, new, new_grid

Series = dict[str, list[Run]]
LINES = {"max": "-", "q75": "--", "mean": "-", "q50": ":"}


def curve(plot: Plot, series: Series) -> Figure | None:
    """A line for each series and statistic; standard deviations as bars on means."""
    figure, axes = new()
    for color, (name, runs) in enumerate(series.items()):
        pairs = pairs_of(runs, plot.x, plot.y)
        if name in plot.level:
            add_level(axes, name, [y for _, y in pairs], f"C{color}")
            continue
        for statistic in plot.statistics:
            points = at_each_x(pairs, statistic, plot.bins, plot.log)
            if not points:
                continue
            x, y, sd = zip(*points, strict=True)
            words = [name, statistic if len(plot.statistics) > 1 else ""]
            axes.errorbar(
                x,
                y,
                yerr=sd if statistic == "mean" and any(sd) else None,
                linestyle=LINES[statistic],
                marker="o",
                capsize=3,
                color=f"C{color}",
                label=" ".join(filter(None, words)) or None,
            )
    spread = plot.statistics == ("mean",) and any(bars.has_yerr for bars in axes.containers)  # type: ignore[attr-defined]
    axes.set(xlabel=plot.x, ylabel=plot.y + (", ± sd over runs" if spread else ""))
    axes.set_xscale("log" if plot.log else "linear")
    return figure if axes.lines else None


def add_level(axes: Axes, name: str, scores: list[float], color: str) -> None:
    """A line across at the mean of a series that has no x, e.g. no head among heads of several widths."""
    if scores:
        axes.axhline(summary(scores).mean, linestyle="-.", color=color, label=name)


def pairs_of(runs: list[Run], x: str, y: str) -> list[tuple[float, float]]:
    """(config value, score) of the runs that have both; a key that is null counts as 0 (no noise, no queue)."""
    values = [(0.0 if run.get(x) is None else plain(run.get(x)), run.metrics.get(y)) for run in runs]
    return sorted((a, b) for a, b in values if isinstance(a, float) and b is not None)


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


def heat(plot: Plot, series: Series) -> Figure | None:
    """One panel for each series; the statistic of the runs in each cell, written into it."""
    panels = {name: cells for name, runs in series.items() if (cells := heat_cells(plot, runs))}
    if not panels:
        return None
    figure, grid = new_grid(1, len(panels), width=5.5, height=4.5)
    for axes, (name, cells) in zip(grid[0], panels.items(), strict=True):
        xs, ys = (sorted({place[axis] for place in cells}) for axis in (0, 1))
        scores = np.array([[cells.get((x, y), np.nan) for x in xs] for y in ys])
        for (row, column), score in np.ndenumerate(scores):
            axes.text(column, row, "" if np.isnan(score) else f"{score:.1f}", ha="center", va="center", fontsize=7)
        image = axes.imshow(scores, origin="lower", aspect="auto", cmap="viridis", alpha=0.7)
        axes.set_xticks(range(len(xs)), [f"{x:.3g}" for x in xs])
        axes.set_yticks(range(len(ys)), [f"{y:.3g}" for y in ys])
        axes.set(xlabel=plot.x, ylabel=plot.y, title=name)
        figure.colorbar(image, label=f"{plot.statistic} of {plot.z}")
    return figure


def heat_cells(plot: Plot, runs: list[Run]) -> dict[tuple[float, float], float]:
    """{(x, y): the statistic of z over the runs there}; with bins, x and y are the bins' middles."""
    measured = [run for run in runs if plot.z in run.metrics]
    if not measured:
        return {}
    x, y = ([float(plain(run.get(key))) for run in measured] for key in (plot.x, plot.y))
    if plot.bins:
        x, y = (middle_of_bin(values, plot.bins, plot.log) for values in (x, y))
    scores: dict[tuple[float, float], list[float]] = {}
    for place, run in zip(zip(x, y, strict=True), measured, strict=True):
        scores.setdefault(place, []).append(run.metrics[plot.z])
    return {place: WITHIN_A_SEED[plot.statistic](values) for place, values in scores.items()}


def scatter(plot: Plot, series: Series) -> Figure | None:
    """A numbered point for each series: the mean of its runs that have both metrics."""
    figure, axes = new()
    for number, (name, runs) in enumerate(series.items(), 1):
        points = [(run.metrics[plot.x], run.metrics[plot.y]) for run in runs if {plot.x, plot.y} <= set(run.metrics)]
        if points:
            numbered(axes, np.mean(points, axis=0), number, "o", name)
    axes.margins(0.1)
    axes.set(xlabel=plot.x, ylabel=plot.y)
    return figure if axes.lines else None


def numbered(axes: Axes, place: Sequence[float], number: int, marker: str, name: str = "") -> None:
    """A point with its number beside it, whose name stands in the legend: names would cover each other."""
    color = f"C{(number - 1) % 10}"
    label = f"{number}  {name}" if name else None
    axes.plot(*place, marker, color=color, markersize=9 if marker == "*" else 6, label=label)
    axes.annotate(str(number), (place[0], place[1]), xytext=(5, 4), textcoords="offset points", fontsize=7, color=color)


def path(plot: Plot, series: Series) -> Figure | None:
    """A line for each run, the colour for its series; a ring where it starts."""
    figure, axes = new()
    for color, (name, runs) in enumerate(series.items()):
        for number, run in enumerate(runs):
            values = [(event.get(plot.x), event.get(plot.y)) for event in run.events()]
            points = [(x, y) for x, y in values if x is not None and y is not None]
            if points:
                x, y = zip(*points, strict=True)
                axes.plot(x, y, marker=".", color=f"C{color}", label=name if number == 0 else None, alpha=0.7)
                axes.scatter(x[:1], y[:1], facecolors="none", edgecolors=f"C{color}", s=60)
    axes.set(xlabel=plot.x, ylabel=plot.y)
    return figure if axes.lines else None


def cosines(plot: Plot, series: Series) -> Figure | None:
    """A column for each series (its first run that has them), a row for each bucket of gold scores."""
    columns = {}
    for name, runs in series.items():
        pairs = (stored_cosines(run, plot) for run in runs)
        if first := next(filter(None, pairs), None):
            columns[name] = first
    return cosine_histograms(columns, plot.edges, f"cosine ({plot.split})") if columns else None


def stored_cosines(run: Run, plot: Plot) -> list[list[float]]:
    """[cosines, gold scores] of the finished run's pairs; [] if it has none."""
    file = run.folder / "plots" / "cosines_after.json"
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return stored.get(plot.evaluator, {}).get(plot.split, [])


def distribution(plot: Plot, series: Series) -> Figure | None:
    """Boxes of quartiles and every score; x is a choice, not a scale."""
    figure, axes = new()
    boxes: dict[str, list[float]] = {}
    for name, runs in series.items():
        groups = grouped((run for run in runs if plot.y in run.metrics), plot.x)
        for value in sorted(groups, key=lambda value: (not isinstance(plain(value), float), plain(value))):
            boxes[f"{name}\n{value}" if name else value] = [run.metrics[plot.y] for run in groups[value]]
    if not boxes:
        return None
    axes.boxplot(list(boxes.values()), tick_labels=list(boxes), showfliers=False)
    for place, scores in enumerate(boxes.values(), 1):
        axes.plot([place] * len(scores), scores, "o", alpha=0.5, color="C0", markersize=4)
    of = plot.series if isinstance(plot.series, str) else ""
    axes.set(xlabel=", ".join(filter(None, (of, plot.x))), ylabel=plot.y)
    return figure


DRAW: dict[str, Callable[[Plot, Series], Figure | None]] = {
    "curve": curve,
    "heat": heat,
    "scatter": scatter,
    "path": path,
    "cosines": cosines,
    "distribution": distribution,
}


INSIDE = 6  # names that fit into a figure; more stand beside it


def add_legend(figure: Figure, axes: Axes, title: str) -> None:
    """The names of what was drawn, if anything has one."""
    names = axes.get_legend_handles_labels()[1]
    if len(names) > INSIDE:
        figure.set_figwidth(figure.get_figwidth() + 3)
        figure.legend(title=title, loc="outside right upper", fontsize=7, title_fontsize=7)
    elif names:
        axes.legend(title=title, fontsize=7, title_fontsize=7, handlelength=3.5)
