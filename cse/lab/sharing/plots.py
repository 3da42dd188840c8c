"""A run's own figures, from the files in its folder: the curve of its dev scores, and cosines by gold score."""

import os
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cse.files import replaced_file
from cse.lab.folder.contents import read_cosines
from cse.lab.folder.events import Event, metric_events

BUCKETS = 5  # the number of ranges of gold scores
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#56b4e9", "#9467bd", "#8c564b")
"""The colours of curves. Five are from the palette of Okabe and Ito for people with any colour vision."""
MARKERS = "os^DvP*X"
"""The markers of curves: a reader can distinguish them without colours."""
STYLE = {
    "font.size": 9, "figure.titlesize": 10, "legend.fontsize": 8.5, "legend.title_fontsize": 8.5,
    "legend.frameon": False, "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip
"""How matplotlib draws a run's own figures: sizes in points."""


def draw_plots(folder: Path, select: str | None, best_step: int, seed: int | None) -> dict[str, Path]:
    """Draw, into folder/plots as PNG and SVG, every figure that has data, and return {name: PNG file}.

    select: the selection metric, which is drawn first. best_step: the step of best/. seed: the seed, for the titles.
    Raises RunError if the disk refuses a file.
    """
    with matplotlib.style.context(STYLE):
        curve = dev_curve(metric_events(folder), select, best_step)
        figures = cosines_by_gold(folder)
        if curve is not None:
            figures = {"scores": curve} | figures
        files = {name: folder / "plots" / f"{name}.png" for name in figures}
        for name, figure in figures.items():
            place = plain("/".join(folder.absolute().parts[-2:]))
            figure.suptitle(f"{figure.get_suptitle()}\n{place}, seed {seed}", wrap=True)
            save_figure(figure, [files[name], files[name].with_suffix(".svg")])
    return files


def save_figure(figure: Figure, files: Sequence[Path], dots: int = 200) -> None:
    """Write a figure to files, each in the format of its suffix. dots: the dots per inch of a PNG file.

    A PDF has TrueType fonts, because many conferences refuse the Type 3 fonts that matplotlib writes by default. A box
    replaces each character that the font lacks. Matplotlib's warning about each box is ignored.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.draw_without_rendering()  # the layout takes most of the time, so it is made once for all files
        figure.set_layout_engine(None)
        for file in files:
            with replaced_file(file) as temporary, matplotlib.rc_context({"pdf.fonttype": 42}):
                figure.savefig(temporary, dpi=dots, format=file.suffix[1:])


def plain(text: str) -> str:
    """Escape a text for matplotlib, which reads text between two $ as mathematics and hides a name with a leading _."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def dev_curve(events: list[Event], select: str | None, best_step: int) -> Figure | None:
    """Return a figure of the selection metric (a thick line) and every Spearman score on dev; None without scores."""
    names = dict.fromkeys(name for event in events for name in event)
    on_dev = [name for name in names if name.startswith("dev/")]
    spearman = [name for name in on_dev if "spearman" in name.split("/")[-1]]
    chosen = dict.fromkeys([select or "", *spearman])
    points = {name: [(event["step"], event[name]) for event in events if name in event] for name in chosen}
    curves = {name: curve for name, curve in points.items() if curve}
    if not curves:
        return None
    figure, axes = new_figure(6, 3)
    shared = os.path.commonpath([name.rpartition("/")[0] for name in curves])
    axes.set_prop_cycle(color=COLOURS, marker=list(MARKERS))
    for name, curve in curves.items():
        label, width = name.removeprefix(f"{shared}/"), 2.5 if name == select else 1.2
        axes.plot(*zip(*curve, strict=True), markersize=4, linewidth=width, label=label)
    axes.axvline(best_step, color="grey", linestyle=":", label=f"best/: step {best_step}")
    axes.set(xlabel="step (0: before training)", ylabel="dev score (points)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", title=shared, alignment="left")
    figure.suptitle("Dev scores during training")
    return figure


def cosines_by_gold(folder: Path) -> dict[str, Figure]:
    """Return {name: figure} of cosines by gold score, for each task and split scored before and after training."""
    before, after = read_cosines(folder, "before"), read_cosines(folder, "after")
    figures: dict[str, Figure] = {}
    for name, splits in before.items():
        for split in (split for split in splits if split in after.get(name, {})):
            columns = {"before training": splits[split], "after training": after[name][split]}
            gold = splits[split][1]
            edges = np.linspace(min(gold), max(gold), BUCKETS + 1).tolist()
            figure = cosine_histograms(
                columns, edges, "cosine similarity", low=min(min(cosines) for cosines, _ in columns.values())
            )
            figure.suptitle(f"{name} {split}: cosine similarity by gold score")
            figures[f"cosines_{name.replace('/', '_')}_{split}"] = figure
    return figures


def cosine_histograms(
    columns: Mapping[str, Sequence[Sequence[float]]], edges: Sequence[float], label: str, low: float | None = None
) -> Figure:
    """Return histograms of cosines, one for each range of gold scores. Vertical lines mark means.

    columns: {title: (cosines, gold scores)}. edges: the edges of the ranges. Each range is a row of the figure. low:
    the start of the cosine axis; None: the lowest cosine of each column.
    """
    rows, digits = len(edges) - 1, 2 * any(edge % 1 for edge in edges)
    figure = Figure(figsize=(2.6 * len(columns), 0.9 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, len(columns), squeeze=False, sharex="col", sharey="row")
    for column, (title, (cosines_N, gold_N)) in zip(grid.T, columns.items(), strict=True):
        start = min(1.0, min(cosines_N) if low is None else low)
        places = np.histogram_bin_edges([], bins=40, range=(start, 1.0))
        pairs, _, _ = np.histogram2d(gold_N, cosines_N, bins=[edges, places])  # the last range includes its upper edge
        sums, _ = np.histogram(gold_N, edges, weights=cosines_N)
        for axes, bucket, total in zip(column, pairs, sums, strict=True):
            area = bucket.sum() * (places[1] - places[0])
            axes.stairs(bucket / area if area else bucket, places, fill=True, color=COLOURS[0])
            mean = total / bucket.sum() if area else 1.0
            facts = f"n = {bucket.sum():,.0f}"
            if area:
                axes.axvline(mean, color="black", linewidth=1)
                facts += f"\nmean {mean:.2f}"
            place, side = (0.97, "right") if mean < (start + 1) / 2 else (0.03, "left")  # where few cosines are
            axes.text(place, 0.95, facts, transform=axes.transAxes, fontsize=8, va="top", ha=side)
            axes.set_yticks([])
            axes.spines[["top", "right", "left"]].set_visible(False)
        column[0].set_title(title, fontsize=9)
        column[-1].set_xlabel(label)
    for axes, (first, last) in zip(grid[:, 0], pairwise(edges), strict=True):
        axes.set_ylabel(f"{first:.{digits}f}–{last:.{digits}f}", rotation=0, ha="right", va="center")
    figure.supylabel("gold score of the pairs (height: density)", fontsize="medium")
    return figure


def new_figure(width: float = 6.0, height: float = 4.0) -> tuple[Figure, Axes]:
    """Return a figure with one set of axes. width, height: in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()
