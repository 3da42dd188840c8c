"""The papers' figures from folders of runs, with the published points and lines on top. cse.report.plot says which."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cse.report import published
from cse.report.drawing import DRAW, Series
from cse.report.plot import Plot
from cse.report.published import PublishedFigure
from cse.report.runs import Run, grouped
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
    elif printed and plot.kind in ("curve", "scatter"):
        add_published(figure.axes[0], printed)
    figure.suptitle(title)
    return figure


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


def add_published(axes: Axes, printed: PublishedFigure) -> None:
    """The paper's points as stars, its lines dashed, both named."""
    for point in printed.points:
        place = (point["x"], point["y"])
        axes.plot(*place, "*", color="black", markersize=9, linestyle="none")
        axes.annotate(f"paper: {point['label']}", place, xytext=(4, -8), textcoords="offset points", fontsize=6)
    for line in printed.lines:
        axes.axhline(line["y"], linestyle="--", color="grey", linewidth=1)
        place = (0.02, line["y"])
        axes.annotate(f"paper: {line['label']}", place, xycoords=("axes fraction", "data"), fontsize=6, va="bottom")
