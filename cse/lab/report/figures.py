"""The papers' figures (see cse.lab.report.spec.Plot) drawn from runs, by matplotlib, with the published points and
lines.

A series is a name and its runs. Most kinds draw a frame with a row for each run, whose columns x, y and z are config
values or scores. A kind's function returns None if no run has what it shows.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cse.lab.folder.contents import read_cosines
from cse.lab.folder.plots import cosine_histograms, new
from cse.lab.folder.runs import Run, grouped, score_named
from cse.lab.folder.score_tables import IS_ALTERED
from cse.lab.report import published
from cse.lab.report.departures import as_planned
from cse.lab.report.groups import once_each
from cse.lab.report.published import PublishedFigure
from cse.lab.report.spec import Plot, Spec
from cse.lab.report.statistics import STATISTICS
from cse.lab.settings.dotted import Config
from cse.lab.settings.values import number_in, plain

Series = dict[str, list[Run]]
LINES = {"max": "-", "q75": "--", "mean": "-", "q50": ":"}
INSIDE = 6  # names that fit into the axes; a longer legend is put beside them


def draw_figure(plot: Plot, spec: Spec, runs: list[Run]) -> Figure | None:
    """The figure, or None if no finished run has what it shows. Of each series, trials are left out as for a claim, and
    copies of a run count once.

    Raises UserError if it shows another split than the paper's figure.
    """
    printed = overlay(plot, spec.paper)
    if printed:
        plot.check_split(printed.split)
    done = [run for run in runs if run.is_done and run.matches(plot.where)]
    series = {name: as_planned(of, spec.setting) for name, of in series_of(plot, spec, done).items() if of}
    counted = {name: once_each(of, spec.seed) for name, of in series.items()}
    figure = DRAW[plot.kind](plot, counted, printed) if series else None
    if figure is None:
        return None
    title = plot.title or (printed.title if printed else plot.name)
    altered = any(plot.shows(score) for of in series.values() for run in of for score in run.altered)
    figure.suptitle(f"{title}\n{IS_ALTERED}" if altered else title)
    return figure


def overlay(plot: Plot, paper: str) -> PublishedFigure | None:
    """The published figure, or None if the paper's YAML has none of this name."""
    if plot.published is None and plot.name not in published.read_paper(paper).get("figures", {}):
        return None
    return published.printed_figure(paper, plot.published or plot.name)


def series_of(plot: Plot, spec: Spec, runs: list[Run]) -> Series:
    """{name: runs}: by the plot's `series`, else by the table's rows if the kind needs several, else all as one."""
    wheres = plot.series
    if isinstance(wheres, str):
        return grouped(runs, wheres)
    if wheres is None and plot.kind in ("scatter", "path", "cosines"):
        wheres = {name: line.where for name, line in spec.rows.items()}
    return {name: [run for run in runs if run.matches(where)] for name, where in (wheres or {"": {}}).items()}


def frame_of(series: Series, **axes: str) -> pd.DataFrame:
    """A row for each run with a number on every axis; the index has its series.

    axes: a config key or a score for each column.
    """

    def value(run: Run, name: str) -> object:
        return run.metrics.get(name) if "/" in name else plain(run.get(name))  # a score, or a key

    rows = [[name, *(value(run, axis) for axis in axes.values())] for name, runs in series.items() for run in runs]
    frame = pd.DataFrame(rows, columns=["series", *axes]).set_index("series")
    return frame.apply(pd.to_numeric, errors="coerce").dropna()


def middle_of_bin(values: pd.Series, bins: int | None, log: bool) -> pd.Series:
    """The middle of each value's bin, for `bins` equal bins between the least and the greatest (in log10 if log)."""
    if bins is None:
        return values
    scale = np.log10(values) if log else values
    edges = np.linspace(scale.min(), scale.max(), bins + 1)
    index = np.clip(np.searchsorted(edges, scale, side="right") - 1, 0, bins - 1)
    middles = (edges[index] + edges[index + 1]) / 2
    return pd.Series(10**middles if log else middles, values.index)


def draw_curve(plot: Plot, series: Series, printed: PublishedFigure | None) -> Figure | None:
    """A line for each series and statistic; means have standard deviations as error bars."""
    figure, axes = new()
    varied = False
    for color, (name, runs) in enumerate(series.items()):
        style: Config = {"color": f"C{color}"}
        if name in plot.level:  # has no x: no head, among heads of several widths
            level = frame_of({name: runs}, y=plot.y)
            if len(level):
                axes.axhline(level["y"].mean(), linestyle="-.", label=name, **style)
            continue
        frame = frame_of({name: runs}, x=plot.x, y=plot.y)
        at_x = frame["y"].groupby(middle_of_bin(frame["x"], plot.bins, plot.log).to_numpy())
        for statistic in plot.statistics if len(frame) else ():
            sd = at_x.std().fillna(0.0) if statistic == "mean" else pd.Series([0.0])
            varied |= bool(sd.any())
            points = at_x.agg(STATISTICS[statistic])
            label = " ".join(filter(None, [name, statistic if len(plot.statistics) > 1 else ""])) or None
            style |= {"linestyle": LINES[statistic], "marker": "o", "capsize": 3, "label": label}
            axes.errorbar(points.index, points, yerr=sd if sd.any() else None, **style)
    if not axes.lines:
        return None
    axes.set_xscale("log" if plot.log else "linear")
    add_published(axes, printed)
    spread = ", ± sd over runs" if varied and plot.statistics == ("mean",) else ""
    name_axes(figure, plot, series, words=printed.x if printed else "", spread=spread)
    return figure


def draw_heat(plot: Plot, series: Series, _: PublishedFigure | None) -> Figure | None:
    """A panel for each series; each cell has the statistic of its runs written into it."""
    frame = frame_of(series, x=plot.x, y=plot.y, z=plot.z)
    if frame.empty:
        return None
    panels = frame.groupby(level="series", sort=False)
    figure = Figure(figsize=(5.5 * len(panels), 4.5), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (name, panel) in zip(grid, panels, strict=True):
        y, x = (middle_of_bin(panel[axis], plot.bins, plot.log).to_numpy() for axis in "yx")
        scores = panel["z"].groupby([y, x]).agg(STATISTICS[plot.statistic]).unstack()
        for (row, column), score in np.ndenumerate(scores):
            axes.text(column, row, "" if np.isnan(score) else f"{score:.1f}", ha="center", va="center", fontsize=7)
        image = axes.imshow(scores, origin="lower", aspect="auto", cmap="viridis", alpha=0.7)
        axes.set_xticks(range(len(scores.columns)), [f"{x:.3g}" for x in scores.columns])
        axes.set_yticks(range(len(scores)), [f"{y:.3g}" for y in scores.index])
        axes.set(xlabel=plot.x, ylabel=plot.y, title=name)
        figure.colorbar(image, label=f"{plot.statistic} of {plot.z}")
    return figure


def draw_scatter(plot: Plot, series: Series, printed: PublishedFigure | None) -> Figure | None:
    """A dot for each series, the mean of its runs, and a star for each of the paper's points.

    Points are numbered, and their names are in the legend, as names beside the points would overlap. The paper's point
    of a series has its number and colour.
    """
    figure, axes = new()
    ours = frame_of(series, x=plot.x, y=plot.y).groupby(level="series", sort=False).mean()
    if ours.empty:
        return None
    theirs = pd.DataFrame(printed.points if printed else [], columns=["label", "x", "y"]).set_index("label")
    names = list(dict.fromkeys([*series, *theirs.index]))
    for marker, size, points in (("o", 6, ours), ("*", 9, theirs)):
        for name, (x, y) in points.iterrows():
            number = names.index(name) + 1
            color = f"C{(number - 1) % 10}"
            label = f"{number}  {name}" if points is ours or name not in series else None
            axes.plot(x, y, marker, color=color, markersize=size, label=label)
            axes.annotate(str(number), (x, y), xytext=(5, 4), textcoords="offset points", fontsize=7, color=color)
    axes.margins(0.1)
    name_axes(figure, plot, series, legend="dots: ours, stars: the paper's" if len(theirs) else "")
    return figure


def draw_path(plot: Plot, series: Series, _: PublishedFigure | None) -> Figure | None:
    """A line for each run, in its series' colour; a ring marks its start."""
    figure, axes = new()
    for color, (name, runs) in enumerate(series.items()):
        for number, run in enumerate(runs):
            points = pd.DataFrame(run.events()).reindex(columns=[plot.x, plot.y]).dropna()
            if len(points):
                x, y = points[plot.x], points[plot.y]
                axes.plot(x, y, marker=".", color=f"C{color}", label=name if number == 0 else None, alpha=0.7)
                axes.scatter(x[:1], y[:1], facecolors="none", edgecolors=f"C{color}", s=60)
    name_axes(figure, plot, series, legend="a ring: where training starts")
    return figure if axes.lines else None


def draw_cosines(plot: Plot, series: Series, _: PublishedFigure | None) -> Figure | None:
    """A column for each series, from its first run with cosines; a row for each bucket of gold scores. The axis names
    the evaluator's task."""
    columns, tasks = {}, set()
    for name, runs in series.items():
        stored = (item for run in runs for item in read_cosines(run.folder, "after").items())
        for task, splits in stored:
            if f"{task}/".startswith(f"{plot.evaluator}/") and plot.split in splits:
                columns[name] = splits[plot.split]
                tasks.add(task)
                break
    return (
        cosine_histograms(columns, plot.edges, f"cosine ({plot.split}, {', '.join(sorted(tasks))})")
        if columns
        else None
    )


def draw_distribution(plot: Plot, series: Series, _: PublishedFigure | None) -> Figure | None:
    """A box of quartiles, and every score, at each x, which is a category."""
    figure, axes = new()
    boxes: dict[str, list[float]] = {}
    for name, runs in series.items():
        groups = grouped((run for run in runs if plot.y in run.metrics), plot.x)
        for value in sorted(groups, key=lambda value: (number_in(value) is None, number_in(value) or 0.0, value)):
            boxes[f"{name}\n{value}" if name else value] = [run.metrics[plot.y] for run in groups[value]]
    if not boxes:
        return None
    axes.boxplot(list(boxes.values()), tick_labels=list(boxes), showfliers=False)
    for place, scores in enumerate(boxes.values(), 1):
        axes.plot([place] * len(scores), scores, "o", alpha=0.5, color="C0", markersize=4)
    name_axes(figure, plot, series)
    axes.set_xlabel(", ".join(filter(None, (plot.series_key, plot.x))))
    return figure


DRAW: dict[str, Callable[..., Figure | None]] = {
    "curve": draw_curve,
    "heat": draw_heat,
    "scatter": draw_scatter,
    "path": draw_path,
    "cosines": draw_cosines,
    "distribution": draw_distribution,
}


def add_published(axes: Axes, printed: PublishedFigure | None) -> None:
    """Draw the paper's points as stars and its lines dashed, both with their names."""
    for point in printed.points if printed else ():
        axes.plot(point["x"], point["y"], "*", color="black", markersize=9, label=f"paper: {point['label']}")
    for line in printed.lines if printed else ():
        axes.axhline(line["y"], linestyle="--", color="grey", linewidth=1)
        place = (0.02, line["y"])
        axes.annotate(f"paper: {line['label']}", place, xycoords=("axes fraction", "data"), fontsize=6, va="bottom")


def name_axes(figure: Figure, plot: Plot, series: Series, legend: str = "", words: str = "", spread: str = "") -> None:
    """Name the axes, with units and the paper's words above their names, and add a legend if anything drawn has a name.

    legend: its title, if not the key of the series. spread: what follows the name of y.
    """
    axes, runs = figure.axes[0], [run for of in series.values() for run in of]
    x, y = [score_named(runs, plot.x).unit, words, plot.x], [score_named(runs, plot.y).unit, plot.y + spread]
    axes.set(xlabel="\n".join(filter(None, x)), ylabel="\n".join(filter(None, y)))
    style: Config = {"title": legend or plot.series_key, "fontsize": 7, "title_fontsize": 7}
    names = axes.get_legend_handles_labels()[1]
    if len(names) > INSIDE:
        figure.set_figwidth(figure.get_figwidth() + 3)
        figure.legend(loc="outside right upper", **style)
    elif names:
        axes.legend(handlelength=3.5, **style)
