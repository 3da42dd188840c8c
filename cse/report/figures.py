"""The papers' figures from folders of runs, with the published points and lines on top. cse.report.plot says which."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cse.eval.score import nature
from cse.record.runs import Run, grouped
from cse.report import published
from cse.report.drawing import DRAW, Series, add_legend, numbered
from cse.report.plot import Plot
from cse.report.published import PublishedFigure
from cse.report.spec import Spec


def draw(plot: Plot, spec: Spec, runs: list[Run]) -> Figure | None:
    """The figure, or None if no finished run has what it shows.

    Raises UserError where the runs' scores are of another split than the paper's figure.
    """
    printed = overlay(plot, spec.paper)
    if printed and not plot.replaced:
        plot.check_split(printed.split)
    done = [run for run in runs if run.status == "done" and run.matches(plot.where)]
    series = {name: group for name, group in series_of(plot, spec, done).items() if group}
    figure = DRAW[plot.kind](plot, series) if series else None
    if figure is None:
        return None
    title = plot.title or (printed.title if printed else plot.name)
    if plot.replaced:
        title = f"{title} (not the paper's score)"
    elif printed and plot.kind == "curve":
        add_published(figure.axes[0], printed)
    elif printed and plot.kind == "scatter":
        add_numbered(figure.axes[0], printed, list(series))
    figure.suptitle(title)
    if plot.kind in ("curve", "scatter", "path", "distribution"):
        name_axes(figure.axes[0], plot, printed)
        add_legend(figure, figure.axes[0], legend_title(plot, figure.axes[0]))
    return figure


def name_axes(axes: Axes, plot: Plot, printed: PublishedFigure | None) -> None:
    """Words and units above the names that the command line has."""
    if printed and plot.kind == "curve":
        axes.set_xlabel(f"{printed.x}\n{axes.get_xlabel()}")
    for name, text, write in (
        (plot.x, axes.get_xlabel(), axes.set_xlabel),
        (plot.y, axes.get_ylabel(), axes.set_ylabel),
    ):
        if unit := nature(name).unit:
            write(f"{unit}\n{text}")


def legend_title(plot: Plot, axes: Axes) -> str:
    """What the series are of, and what the marks mean."""
    if plot.kind == "scatter":
        stars = any(line.get_marker() == "*" for line in axes.lines)
        return "dots: ours, stars: the paper's" if stars else ""
    if plot.kind == "path":
        return "a ring: where training starts"
    return plot.series if isinstance(plot.series, str) else ""


def overlay(plot: Plot, paper: str) -> PublishedFigure | None:
    """The published figure, or None if the paper has none of this name."""
    if plot.published is None and plot.name not in published.read(paper).get("figures", {}):
        return None
    return published.figure(paper, plot.published or plot.name)


def series_of(plot: Plot, spec: Spec, runs: list[Run]) -> Series:
    """{name: runs} of the plot's `series`, else of the table's rows for kinds that need several, else all as one."""
    if isinstance(plot.series, str):
        return grouped(runs, plot.series)
    wheres = plot.series
    if wheres is None and plot.kind in ("scatter", "path", "cosines"):
        wheres = {name: line.where for name, line in spec.rows.items()} or None
    if wheres is None:
        return {"": runs}
    return {name: [run for run in runs if run.matches(where)] for name, where in wheres.items()}


def add_numbered(axes: Axes, printed: PublishedFigure, ours: list[str]) -> None:
    """The paper's points as stars, with the number and colour of our series of the same name."""
    others = [point["label"] for point in printed.points if point["label"] not in ours]
    names = [*ours, *others]
    for point in printed.points:
        name = point["label"]
        numbered(axes, (point["x"], point["y"]), names.index(name) + 1, "*", name if name in others else "")


def add_published(axes: Axes, printed: PublishedFigure) -> None:
    """The paper's points as stars, its lines dashed, both named."""
    for point in printed.points:
        axes.plot(point["x"], point["y"], "*", color="black", markersize=9, label=f"paper: {point['label']}")
    for line in printed.lines:
        axes.axhline(line["y"], linestyle="--", color="grey", linewidth=1)
        place = (0.02, line["y"])
        axes.annotate(f"paper: {line['label']}", place, xycoords=("axes fraction", "data"), fontsize=6, va="bottom")
