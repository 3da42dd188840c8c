"""The papers' figures (`Plot`) drawn from runs, by matplotlib, with the published points and lines.

Start at `draw_figure`. It makes a `Drawing`: the content of a figure, with the runs of each series (`series_of`). The
function for the figure's kind (FIGURES), such as `curve_figure`, draws the Drawing. The functions that several kinds
use come last.

A point is computed like a cell of a table: a statistic of each seed's runs, then the mean over seeds (`over_seeds`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cse.lab.folder.contents import read_cosines
from cse.lab.folder.runs import Run, grouped
from cse.lab.report.any_runs.scores import axis_name
from cse.lab.report.formats import score_in_words
from cse.lab.report.numbers.groups import without_copies
from cse.lab.report.numbers.statistics import STATISTICS
from cse.lab.report.paper.departures import without_departures
from cse.lab.report.paper.published import PublishedFigure
from cse.lab.report.paper.report_block import Plot, ReportBlock, published_beside
from cse.lab.settings.values import PlainConfig, in_one_form, number_in
from cse.lab.sharing.plots import cosine_histograms, new_figure, plain
from cse.lab.sharing.score_tables import IS_MODIFIED

LINES = {"max": "-", "q75": "--", "mean": "-", "q50": ":"}
FEW_TICKS = 8  # if x has at most this many values, each value has a tick
INSIDE = 6  # a legend of at most this many names is inside the axes; a longer legend is beside the axes
ACROSS, UP = 70, 44  # the most characters of a line in the name of the x axis, and of the y axis


@dataclass(frozen=True)
class Drawing:
    """The content of a figure before it is drawn.

    series: the runs of each series, without departures and copies. published: the paper's figure.
    """

    plot: Plot
    series: dict[str, list[Run]]
    published: PublishedFigure | None
    seed_key: str

    def frame(self, *names: str, **axes: str) -> pd.DataFrame:
        """Return a row for each run that has a number on every axis. The index has the series of the run.

        names: the names of series; without names, all series. axes: for each column, a config key or a score. The
        column `seed` is text.
        """
        rows = []
        for name in names or self.series:
            for run in self.series[name]:
                rows.append([name, *(value_on(run, axis) for axis in axes.values()), str(run.get(self.seed_key))])
        frame = pd.DataFrame(rows, columns=["series", *axes, "seed"]).set_index("series")
        numbers = frame[list(axes)].apply(pd.to_numeric, errors="coerce")
        return numbers.assign(seed=frame["seed"]).dropna()


def draw_figure(plot: Plot, block: ReportBlock, runs: list[Run]) -> Figure | None:
    """Return the figure; None if no finished run has the figure's numbers.

    As in a cell of a table, each series leaves out runs with departures and counts copies of a run once.
    """
    published = published_beside(plot, block.paper)
    done = [run for run in runs if run.is_done and run.matches(plot.where)]
    found = series_of(plot, block, done)
    series = {name: without_departures(its_runs, block.paper_setting) for name, its_runs in found.items() if its_runs}
    distinct = {name: without_copies(its_runs, block.seed) for name, its_runs in series.items()}
    figure = FIGURES[plot.kind](Drawing(plot, distinct, published, block.seed)) if series else None
    if figure is None:
        return None
    title = plot.title or (published.title if published else plot.name)
    modified = any(plot.shows(score) for its_runs in series.values() for run in its_runs for score in run.modified)
    figure.suptitle(f"{title}\n{IS_MODIFIED}" if modified else title)
    return figure


def series_of(plot: Plot, block: ReportBlock, runs: list[Run]) -> dict[str, list[Run]]:
    """Return {name of a series: its runs}.

    If the plot does not set `series`, the series of a scatter, path or cosines are the table's rows. Any other kind
    then has a single series.
    """
    wheres = plot.series
    if isinstance(wheres, str):
        return {plain(value): its_runs for value, its_runs in grouped(runs, wheres).items()}
    if wheres is None and plot.kind in ("scatter", "path", "cosines"):
        wheres = {name: line.where for name, line in block.rows.items()}
    return {name: [run for run in runs if run.matches(where)] for name, where in (wheres or {"": {}}).items()}


def curve_figure(drawing: Drawing) -> Figure | None:
    """Return a figure with a line for each series and statistic. The error bar of a mean is the sd over seeds."""
    plot, published = drawing.plot, drawing.published
    figure, axes = new_figure()
    varied = False
    for number, name in enumerate(drawing.series):
        color = f"C{number}"
        if name in plot.level:  # the series has no x, such as a model without a head if x is the head's width
            draw_level(axes, drawing, name, color)
        else:
            varied |= draw_lines(axes, drawing, name, color)
    if not axes.lines:
        return None
    axes.set_xscale("log" if plot.log else "linear")
    mark_values(axes, drawing.frame(x=plot.x, y=plot.y)["x"])
    add_published(axes, published)
    spread = ", ± sd over seeds" if varied and plot.statistics == ("mean",) else ""
    name_axes(figure, drawing, x_words=published.x if published else "", spread=spread)
    return figure


def draw_level(axes: Axes, drawing: Drawing, name: str, color: str) -> None:
    """Draw the mean of a series without an x as a horizontal line."""
    frame = drawing.frame(name, y=drawing.plot.y)
    if len(frame):
        (level,) = over_seeds(frame, "y", [np.zeros(len(frame))])["mean"]
        axes.axhline(level, linestyle="-.", label=name, color=color)


def draw_lines(axes: Axes, drawing: Drawing, name: str, color: str) -> bool:
    """Draw a line for each statistic of a series, and return whether a mean varies over seeds."""
    plot = drawing.plot
    frame = drawing.frame(name, x=plot.x, y=plot.y)
    if frame.empty:
        return False
    x = middle_of_bin(frame["x"], plot.bins, plot.log).to_numpy()
    varied = False
    for statistic in plot.statistics:
        points = over_seeds(frame, "y", [x], statistic)
        sd = points["std"].fillna(0.0)
        has_bars = statistic == "mean" and bool(sd.any())
        varied |= has_bars
        words = [name, statistic if len(plot.statistics) > 1 else ""]
        axes.errorbar(
            points.index,
            points["mean"],
            yerr=sd if has_bars else None,
            color=color,
            linestyle=LINES[statistic],
            marker="o",
            capsize=3,
            label=" ".join(filter(None, words)) or None,
        )
    return varied


def mark_values(axes: Axes, values: pd.Series) -> None:
    """Put a tick at each value of x if there are few values."""
    distinct = sorted(set(values))
    if len(distinct) <= FEW_TICKS:
        axes.set_xticks(distinct, [f"{value:g}" for value in distinct])
        axes.minorticks_off()


def add_published(axes: Axes, published: PublishedFigure | None) -> None:
    """Draw the paper's points as stars, and the paper's lines as dashed lines, with their names."""
    for point in published.points if published else ():
        axes.plot(point["x"], point["y"], "*", color="black", markersize=9, label=f"paper: {point['label']}")
    for line in published.lines if published else ():
        axes.axhline(line["y"], linestyle="--", color="grey", linewidth=1)
        place = (0.02, line["y"])
        axes.annotate(f"paper: {line['label']}", place, xycoords=("axes fraction", "data"), fontsize=6, va="bottom")


def heat_figure(drawing: Drawing) -> Figure | None:
    """Return a figure with a panel for each series. The text in a cell is the statistic of the cell's runs."""
    plot = drawing.plot
    frame = drawing.frame(x=plot.x, y=plot.y, z=plot.z)
    if frame.empty:
        return None
    panels = frame.groupby(level="series", sort=False)
    figure = Figure(figsize=(5.5 * len(panels), 4.5), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (name, panel) in zip(grid, panels, strict=True):
        y, x = (middle_of_bin(panel[axis], plot.bins, plot.log).to_numpy() for axis in "yx")
        scores = over_seeds(panel, "z", [y, x], plot.statistic)["mean"].unstack()
        for (row, column), score in np.ndenumerate(scores):
            axes.text(column, row, "" if np.isnan(score) else f"{score:.1f}", ha="center", va="center", fontsize=7)
        image = axes.imshow(scores, origin="lower", aspect="auto", cmap="viridis", alpha=0.7)
        axes.set_xticks(range(len(scores.columns)), [f"{x:.3g}" for x in scores.columns])
        axes.set_yticks(range(len(scores)), [f"{y:.3g}" for y in scores.index])
        axes.set(xlabel=plot.x, ylabel=plot.y, title=name)
        figure.colorbar(image, label=f"{plot.statistic} of {score_in_words(plot.z)}")
    return figure


def scatter_figure(drawing: Drawing) -> Figure | None:
    """Return a figure with a dot for each series (its mean over seeds), and a star for each point of the paper.

    Points have numbers, and the legend has their names, because names beside the points would overlap. The paper's
    point of a series has the number and the colour of the series.
    """
    plot, published = drawing.plot, drawing.published
    frame = drawing.frame(x=plot.x, y=plot.y)
    if frame.empty:
        return None
    means = {axis: over_seeds(frame, axis, [frame.index])["mean"] for axis in "xy"}
    ours = pd.DataFrame(means).loc[frame.index.unique()]
    theirs = pd.DataFrame(published.points if published else [], columns=["label", "x", "y"]).set_index("label")
    names = list(dict.fromkeys([*drawing.series, *theirs.index]))
    figure, axes = new_figure()
    for marker, size, points in (("o", 6, ours), ("*", 9, theirs)):
        for name, (x, y) in points.iterrows():
            number = names.index(name) + 1
            color = f"C{(number - 1) % 10}"
            label = f"{number}  {name}" if points is ours or name not in ours.index else None
            axes.plot(x, y, marker, color=color, markersize=size, label=label)
            axes.annotate(str(number), (x, y), xytext=(5, 4), textcoords="offset points", fontsize=7, color=color)
    axes.margins(0.1)
    name_axes(figure, drawing, legend="dots: ours, stars: the paper's" if len(theirs) else "")
    return figure


def path_figure(drawing: Drawing) -> Figure | None:
    """Return a figure with a line for each run, in the colour of the run's series. A ring marks the start of a line."""
    plot = drawing.plot
    figure, axes = new_figure()
    for color, (name, runs) in enumerate(drawing.series.items()):
        label: str | None = name
        for run in runs:
            points = pd.DataFrame(run.events()).reindex(columns=[plot.x, plot.y]).dropna()
            if len(points):
                x, y = points[plot.x], points[plot.y]
                axes.plot(x, y, marker=".", color=f"C{color}", label=label, alpha=0.7)
                label = None  # each series has a single entry in the legend
                axes.scatter(x[:1], y[:1], facecolors="none", edgecolors=f"C{color}", s=60)
    name_axes(figure, drawing, legend="a ring: where training starts")
    return figure if axes.lines else None


def cosines_figure(drawing: Drawing) -> Figure | None:
    """Return a figure: a column for each series (its first run with cosines) and a row for each bin of gold scores."""
    plot = drawing.plot
    columns, tasks = {}, set()
    for name, runs in drawing.series.items():
        stored = (item for run in runs for item in read_cosines(run.folder, "after").items())
        for task, splits in stored:
            if f"{task}/".startswith(f"{plot.evaluator}/") and plot.split in splits:
                columns[name] = splits[plot.split]
                tasks.add(task)
                break
    if not columns:
        return None
    return cosine_histograms(columns, plot.edges, f"cosine ({plot.split}, {', '.join(sorted(tasks))})")


def distribution_figure(drawing: Drawing) -> Figure | None:
    """Return a figure with a box of quartiles and every score at each x. x is a category."""
    plot = drawing.plot
    figure, axes = new_figure()
    boxes: dict[str, list[float]] = {}
    for name, runs in drawing.series.items():
        groups = grouped((run for run in runs if plot.y in run.metrics), plot.x)
        for value in sorted(groups, key=lambda value: (number_in(value) is None, number_in(value) or 0.0, value)):
            boxes[f"{name}\n{plain(value)}" if name else plain(value)] = [run.metrics[plot.y] for run in groups[value]]
    if not boxes:
        return None
    axes.boxplot(list(boxes.values()), tick_labels=list(boxes), showfliers=False)
    for place, scores in enumerate(boxes.values(), 1):
        axes.plot([place] * len(scores), scores, "o", alpha=0.5, color="C0", markersize=4)
    name_axes(figure, drawing)
    axes.set_xlabel(", ".join(filter(None, (plot.series_key, plot.x))))
    return figure


FIGURES: dict[str, Callable[[Drawing], Figure | None]] = {
    "curve": curve_figure,
    "heat": heat_figure,
    "scatter": scatter_figure,
    "path": path_figure,
    "cosines": cosines_figure,
    "distribution": distribution_figure,
}
"""The function that draws each kind of figure. The function returns None if no run has the figure's numbers."""


def value_on(run: Run, axis: str) -> object:
    """Return a run's score on an axis; if the axis is a config key, the run's value at the key."""
    return run.metrics.get(axis) if "/" in axis else in_one_form(run.get(axis))


def over_seeds(frame: pd.DataFrame, value: str, by: Sequence[object], statistic: str = "mean") -> pd.DataFrame:
    """Return the mean and the sd over seeds (columns `mean` and `std`) of a statistic of each seed's runs.

    A seed with two runs has the same weight as a seed with one run. by: the values by which runs are grouped into rows.
    """
    by = list(by)
    each = frame[value].groupby([*by, frame["seed"].to_numpy()], sort=False).agg(STATISTICS[statistic])
    return each.groupby(level=list(range(len(by)))).agg(["mean", "std"])


def middle_of_bin(values: pd.Series, bins: int | None, log: bool) -> pd.Series:
    """Return the middle of each value's bin. `bins` bins of equal width cover the values, or their log10 if `log`."""
    if bins is None:
        return values
    scale = np.log10(values) if log else values
    edges = np.linspace(scale.min(), scale.max(), bins + 1)
    index = np.clip(np.searchsorted(edges, scale, side="right") - 1, 0, bins - 1)
    middles = (edges[index] + edges[index + 1]) / 2
    return pd.Series(10**middles if log else middles, values.index)


def name_axes(figure: Figure, drawing: Drawing, legend: str = "", x_words: str = "", spread: str = "") -> None:
    """Name the axes, with units, and add a legend if a drawn object has a name.

    legend: the title of the legend; "" for the key of the series. x_words: the paper's name of x. spread: a text after
    the name of y.
    """
    plot, axes = drawing.plot, figure.axes[0]
    runs = [run for of_series in drawing.series.values() for run in of_series]
    x = f"{x_words} ({plot.x})" if x_words else axis_name(runs, plot.x)
    y = axis_name(runs, plot.y) + spread
    axes.set(xlabel="\n".join(wrap(x, ACROSS)), ylabel="\n".join(wrap(y, UP)))
    axes.grid(alpha=0.3)
    style: PlainConfig = {"title": legend or plot.series_key, "fontsize": 7, "title_fontsize": 7}
    names = axes.get_legend_handles_labels()[1]
    if len(names) > INSIDE:
        figure.set_figwidth(figure.get_figwidth() + 3)
        figure.legend(loc="outside right upper", **style)
    elif names:
        axes.legend(handlelength=3.5, **style)
