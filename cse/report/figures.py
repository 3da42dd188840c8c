"""The papers' figures (see cse.report.plot) drawn from runs, by matplotlib, with the published points and lines.

A series is a name and its runs. Most kinds draw a frame with a row for each run, whose columns x, y and z are config
values or scores. A kind's function returns None if no run has what it shows.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cse.record.runs import Run, described, grouped, plain, read_cosines
from cse.record.scores import IS_ALTERED
from cse.report import published
from cse.report.plot import Plot
from cse.report.published import PublishedFigure
from cse.report.spec import Spec
from cse.report.statistics import STATISTICS
from cse.run.plots import cosine_histograms, new

Series = dict[str, list[Run]]
LINES = {"max": "-", "q75": "--", "mean": "-", "q50": ":"}
INSIDE = 6  # names that fit into the axes; a longer legend is put beside them


def draw(plot: Plot, spec: Spec, runs: list[Run]) -> Figure | None:
    """The figure, or None if no finished run has what it shows.

    Raises UserError if it shows another split than the paper's figure.
    """
    printed = overlay(plot, spec.paper)
    if printed:
        plot.check_split(printed.split)
    done = [run for run in runs if run.status == "done" and run.matches(plot.where)]
    series = {name: group for name, group in series_of(plot, spec, done).items() if group}
    figure = DRAW[plot.kind](plot, series) if series else None
    if figure is None:
        return None
    title, axes = plot.title or (printed.title if printed else plot.name), figure.axes[0]
    if printed and plot.kind == "curve":
        add_published(axes, printed)
    elif printed and plot.kind == "scatter":
        add_numbered(axes, printed, list(series))
    altered = any(is_shown(plot, name) for runs in series.values() for run in runs for name in run.altered)
    figure.suptitle(f"{title}\n{IS_ALTERED}" if altered else title)
    if plot.kind in ("curve", "scatter", "path", "distribution"):
        name_axes(axes, plot, runs, printed)
        add_legend(figure, axes, legend_title(plot, axes))
    return figure


def is_shown(plot: Plot, score: str) -> bool:
    """Whether the figure shows the score, or the pairs behind it."""
    return score in plot.metrics or (bool(plot.evaluator) and score.startswith(f"{plot.split}/{plot.evaluator}/"))


def overlay(plot: Plot, paper: str) -> PublishedFigure | None:
    """The published figure, or None if the paper's YAML has none of this name."""
    if plot.published is None and plot.name not in published.read(paper).get("figures", {}):
        return None
    return published.figure(paper, plot.published or plot.name)


def series_of(plot: Plot, spec: Spec, runs: list[Run]) -> Series:
    """{name: runs}: by the plot's `series`, else by the table's rows if the kind needs several, else all as one."""
    if isinstance(plot.series, str):
        return grouped(runs, plot.series)
    wheres = plot.series
    if wheres is None and plot.kind in ("scatter", "path", "cosines"):
        wheres = {name: line.where for name, line in spec.rows.items()} or None
    if wheres is None:
        return {"": runs}
    return {name: [run for run in runs if run.matches(where)] for name, where in wheres.items()}


def frame_of(plot: Plot, runs: list[Run]) -> pd.DataFrame:
    """A row for each run that has a number on every axis of the plot; a config key that is null is 0 (no noise)."""

    def value(run: Run, name: str) -> object:
        if "/" in name:  # a score, not a key
            return run.metrics.get(name)
        return 0.0 if run.get(name) is None else plain(run.get(name))

    axes = {axis: name for axis in ("x", "y", "z") if (name := getattr(plot, axis))}
    rows = [{axis: value(run, name) for axis, name in axes.items()} for run in runs]
    frame = pd.DataFrame(rows, columns=list(axes))
    frame = frame.apply(pd.to_numeric, errors="coerce").dropna()
    for axis in ("x", "y") if plot.kind == "heat" else ("x",):
        if plot.bins and len(frame):
            frame[axis] = middle_of_bin(frame[axis], plot.bins, plot.log)
    return frame


def middle_of_bin(values: Sequence[float], bins: int, log: bool) -> list[float]:
    """The middle of each value's bin, for `bins` equal bins between the least and the greatest (in log10 if log)."""
    scale = np.log10(values) if log else np.asarray(values)
    edges = np.linspace(scale.min(), scale.max(), bins + 1)
    index = np.clip(np.searchsorted(edges, scale, side="right") - 1, 0, bins - 1)
    middles = (edges[index] + edges[index + 1]) / 2
    return (10**middles if log else middles).tolist()


def curve(plot: Plot, series: Series) -> Figure | None:
    """A line for each series and statistic; means have standard deviations as error bars."""
    figure, axes = new()
    varied = False
    for color, (name, runs) in enumerate(series.items()):
        if name in plot.level:  # has no x: no head, among heads of several widths
            level = [run.metrics[plot.y] for run in runs if plot.y in run.metrics]
            if level:
                axes.axhline(float(np.mean(level)), linestyle="-.", color=f"C{color}", label=name)
            continue
        at_x = frame_of(plot, runs).groupby("x")["y"]
        for statistic in plot.statistics if len(at_x) else ():
            sd = at_x.std().fillna(0.0) if statistic == "mean" else None
            varied |= sd is not None and bool(sd.any())
            points = at_x.agg(STATISTICS[statistic])
            axes.errorbar(
                points.index,
                points,
                yerr=sd if sd is not None and sd.any() else None,
                linestyle=LINES[statistic],
                marker="o",
                capsize=3,
                color=f"C{color}",
                label=" ".join(filter(None, [name, statistic if len(plot.statistics) > 1 else ""])) or None,
            )
    spread = varied and plot.statistics == ("mean",)
    axes.set(xlabel=plot.x, ylabel=plot.y + (", ± sd over runs" if spread else ""))
    axes.set_xscale("log" if plot.log else "linear")
    return figure if axes.lines else None


def heat(plot: Plot, series: Series) -> Figure | None:
    """A panel for each series; each cell has the statistic of its runs written into it."""
    panels = {name: frame for name, runs in series.items() if len(frame := frame_of(plot, runs))}
    if not panels:
        return None
    figure = Figure(figsize=(5.5 * len(panels), 4.5), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (name, frame) in zip(grid, panels.items(), strict=True):
        scores = frame.groupby(["y", "x"])["z"].agg(STATISTICS[plot.statistic]).unstack()
        for (row, column), score in np.ndenumerate(scores):
            axes.text(column, row, "" if np.isnan(score) else f"{score:.1f}", ha="center", va="center", fontsize=7)
        image = axes.imshow(scores, origin="lower", aspect="auto", cmap="viridis", alpha=0.7)
        axes.set_xticks(range(len(scores.columns)), [f"{x:.3g}" for x in scores.columns])
        axes.set_yticks(range(len(scores)), [f"{y:.3g}" for y in scores.index])
        axes.set(xlabel=plot.x, ylabel=plot.y, title=name)
        figure.colorbar(image, label=f"{plot.statistic} of {plot.z}")
    return figure


def scatter(plot: Plot, series: Series) -> Figure | None:
    """A numbered point for each series: the mean of its runs."""
    figure, axes = new()
    for number, (name, runs) in enumerate(series.items(), 1):
        points = frame_of(plot, runs)
        if len(points):
            numbered(axes, points.mean().tolist(), number, "o", name)
    axes.margins(0.1)
    axes.set(xlabel=plot.x, ylabel=plot.y)
    return figure if axes.lines else None


def numbered(axes: Axes, place: Sequence[float], number: int, marker: str, name: str = "") -> None:
    """Draw a point with a number, whose name is in the legend, as names beside the points would overlap."""
    color = f"C{(number - 1) % 10}"
    label = f"{number}  {name}" if name else None
    axes.plot(*place, marker, color=color, markersize=9 if marker == "*" else 6, label=label)
    axes.annotate(str(number), (place[0], place[1]), xytext=(5, 4), textcoords="offset points", fontsize=7, color=color)


def path(plot: Plot, series: Series) -> Figure | None:
    """A line for each run, in its series' colour; a ring marks its start."""
    figure, axes = new()
    for color, (name, runs) in enumerate(series.items()):
        for number, run in enumerate(runs):
            points = pd.DataFrame(run.events()).reindex(columns=[plot.x, plot.y]).dropna()
            if len(points):
                x, y = points[plot.x], points[plot.y]
                axes.plot(x, y, marker=".", color=f"C{color}", label=name if number == 0 else None, alpha=0.7)
                axes.scatter(x[:1], y[:1], facecolors="none", edgecolors=f"C{color}", s=60)
    axes.set(xlabel=plot.x, ylabel=plot.y)
    return figure if axes.lines else None


def cosines(plot: Plot, series: Series) -> Figure | None:
    """A column for each series, from its first run with cosines; a row for each bucket of gold scores."""
    columns = {}
    for name, runs in series.items():
        stored = (read_cosines(run.folder, "after").get(plot.evaluator, {}).get(plot.split) for run in runs)
        if pairs := next(filter(None, stored), None):
            columns[name] = pairs
    return cosine_histograms(columns, plot.edges, f"cosine ({plot.split})") if columns else None


def distribution(plot: Plot, series: Series) -> Figure | None:
    """A box of quartiles, and every score, at each x, which is a category."""
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


def name_axes(axes: Axes, plot: Plot, runs: list[Run], printed: PublishedFigure | None) -> None:
    """Put words and units above the axes' names, which are those of the command line."""
    if printed and plot.kind == "curve":
        axes.set_xlabel(f"{printed.x}\n{axes.get_xlabel()}")
    if unit := described(runs, plot.x).unit:
        axes.set_xlabel(f"{unit}\n{axes.get_xlabel()}")
    if unit := described(runs, plot.y).unit:
        axes.set_ylabel(f"{unit}\n{axes.get_ylabel()}")


def add_legend(figure: Figure, axes: Axes, title: str) -> None:
    """Add a legend if anything drawn has a name."""
    names = axes.get_legend_handles_labels()[1]
    if len(names) > INSIDE:
        figure.set_figwidth(figure.get_figwidth() + 3)
        figure.legend(title=title, loc="outside right upper", fontsize=7, title_fontsize=7)
    elif names:
        axes.legend(title=title, fontsize=7, title_fontsize=7, handlelength=3.5)


def legend_title(plot: Plot, axes: Axes) -> str:
    """The key of the series, or what the marks mean."""
    if plot.kind == "scatter":
        stars = any(line.get_marker() == "*" for line in axes.lines)
        return "dots: ours, stars: the paper's" if stars else ""
    if plot.kind == "path":
        return "a ring: where training starts"
    return plot.series if isinstance(plot.series, str) else ""


def add_numbered(axes: Axes, printed: PublishedFigure, ours: list[str]) -> None:
    """Draw the paper's points as stars, with the number and colour of our series of the same name."""
    others = [point["label"] for point in printed.points if point["label"] not in ours]
    names = [*ours, *others]
    for point in printed.points:
        name = point["label"]
        numbered(axes, (point["x"], point["y"]), names.index(name) + 1, "*", name if name in others else "")


def add_published(axes: Axes, printed: PublishedFigure) -> None:
    """Draw the paper's points as stars and its lines dashed, both with their names."""
    for point in printed.points:
        axes.plot(point["x"], point["y"], "*", color="black", markersize=9, label=f"paper: {point['label']}")
    for line in printed.lines:
        axes.axhline(line["y"], linestyle="--", color="grey", linewidth=1)
        place = (0.02, line["y"])
        axes.annotate(f"paper: {line['label']}", place, xycoords=("axes fraction", "data"), fontsize=6, va="bottom")
