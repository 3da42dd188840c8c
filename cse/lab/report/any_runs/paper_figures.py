"""The figures of any runs for a paper, by matplotlib: the scores of settings, and curves.

Start at `draw_paper_figures`. Below it, each figure has a function. The figures show the same numbers as the page's
charts. A figure is as wide as a column of a two-column paper, or as both columns if the names are long. If there are
many settings, a figure shows only the best settings. Its title says so.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cse.lab.report.any_runs.charts import TRAINING, cells_of, colours_of, is_log_axis, keys_as_axes
from cse.lab.report.any_runs.comparison import Comparison, Key, Setting
from cse.lab.report.any_runs.curves import NAMED, name_of, over_seeds, panels_of
from cse.lab.report.any_runs.scores import with_unit
from cse.lab.report.any_runs.settings_table import marks
from cse.lab.report.formats import folded
from cse.lab.report.show import look
from cse.lab.report.show.document import Picture
from cse.lab.report.show.look import PLUS_MINUS
from cse.lab.sharing.plots import MARKERS, new_figure

ROWS, DOTS = 20, 500  # the most settings that a figure shows as rows, or as dots over numbers
LETTERS = 17  # an inch of a title has this many letters
MEAN_AND_SD = f"mean {PLUS_MINUS} sd"
ACROSS, DOWN = 12, 30  # the most values of a heat map's two keys; with more values there is no heat map


def draw_paper_figures(comparison: Comparison, curves: pd.DataFrame) -> list[Picture]:
    """Return the figures of scores and of the training loss. A picture without data has no figure.

    curves: the points that `curves_of` returns.
    """
    numeric, categorical = keys_as_axes(comparison)
    logged = [name for name in curves["metric"].unique() if name not in TRAINING.values()]
    scores = [name for name in (comparison.scores.best_by, comparison.scores.leading, *logged) if name in logged]
    with matplotlib.style.context(look.PAPER):
        figures = {
            "scores": score_figure(comparison, numeric),
            "heat_map": heat_map_figure(comparison, categorical[:2]),
            "curves": curve_figure(comparison, curves, scores[0]) if scores else None,
            "training_loss": curve_figure(comparison, curves, TRAINING["Training loss"]),
        }
    return [Picture(name, figure, is_of_paper=False) for name, figure in figures.items()]


def score_figure(comparison: Comparison, numeric: Mapping[Key, Mapping[Setting, float]]) -> Figure | None:
    """Return a figure of each setting's mean and standard deviation; None if fewer than two settings have the score.

    numeric: the keys that have a numeric axis, with the number of each setting. The first of these keys is the x axis.
    If there is no such key, each setting has a row.
    """
    score = comparison.scores.leading
    scored = [setting for setting in comparison.ranked if score in setting.means]
    if score is None or len(scored) < 2:
        return None
    if not numeric:
        return figure_of_rows(comparison, scored, score)
    key, numbers = next(iter(numeric.items()))
    known = {setting: numbers[setting] for setting in scored if not np.isnan(numbers[setting])}
    are_lines = len(numeric) == 1 and not any(setting.trial for setting in scored)
    return figure_over_numbers(comparison, key, known, score, are_lines=are_lines)


def figure_of_rows(comparison: Comparison, scored: Sequence[Setting], score: str) -> Figure:
    """Return a figure with a row for each setting, the best at the top. Every seed is a faint dot."""
    shown, colours = scored[:ROWS], colours_of(comparison)
    names = [plain(folded(name_of(setting, comparison)) + marks([setting], score)) for setting in shown]
    figure, axes = new_figure(width_for(names, rest=1.4), 0.5 + 0.19 * len(shown))
    for row, setting in enumerate(shown):
        mean, seeds = setting.means[score], setting.groups[score].values
        colour, marker = colours[setting], MARKERS[row] if row < NAMED else "."
        axes.plot(seeds, [row] * len(seeds), ".", color=colour, alpha=look.FAINT, markersize=4)
        axes.errorbar(mean.mean, row, xerr=mean.sd, color=colour, marker=marker, markersize=4.5, capsize=2.5)
    axes.set_yticks(range(len(shown)), names)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel(plain(score.rpartition("/")[2]))
    facts = [spread_of(shown, score), the_best_of(len(shown), len(scored), "settings")]
    return finished(figure, comparison, score, facts)


def figure_over_numbers(
    comparison: Comparison, key: Key, numbers: Mapping[Setting, float], score: str, *, are_lines: bool
) -> Figure:
    """Return a figure of each setting's mean and standard deviation. The x axis has the setting's value of the key.

    are_lines: whether a line joins the settings that differ only in this key. Without lines, each setting is a dot.
    """
    others = [other for other in comparison.keys if other.in_label and other is not key] if are_lines else []
    series: dict[str, list[Setting]] = {}
    for setting in numbers:
        series.setdefault(", ".join(setting.values[other.dotted] for other in others), []).append(setting)
    figure, axes = new_figure(look.COLUMN, 2.0)
    for place, (name, settings) in enumerate(list(series.items())[:NAMED]):
        drawn = sorted(settings[:DOTS], key=numbers.__getitem__)
        sd = [setting.means[score].sd or 0.0 for setting in drawn]
        axes.errorbar(
            [numbers[setting] for setting in drawn],
            [setting.means[score].mean for setting in drawn],
            yerr=sd if any(sd) else None,
            color=look.SETTINGS[place],
            marker=MARKERS[place],
            linestyle="-" if are_lines else "",
            markersize=4,
            capsize=2.5,
            zorder=3 - place / 10,
            label=plain(folded(name)),
        )
    axes.set_xscale("log" if is_log_axis(numbers.values()) else "linear")
    axes.set(xlabel=plain(key.dotted), ylabel=plain(score.rpartition("/")[2]))
    part = the_best_of(min(DOTS, len(numbers)), len(numbers), "settings")
    if len(series) > 1:
        add_legend(figure, [axes], others)
        part = the_best_of(min(NAMED, len(series)), len(series), "lines")
    return finished(figure, comparison, score, [spread_of(list(numbers), score), part])


def heat_map_figure(comparison: Comparison, keys: Sequence[Key]) -> Figure | None:
    """Return a heat map of mean and sd for each pair of values of two keys; None for fewer keys or too many values."""
    score = comparison.scores.leading
    if len(keys) < 2 or score is None:
        return None
    across, down = keys
    cells = cells_of(comparison, across, down, score)
    means = cells["mean"].unstack()
    if not (0 < len(means.columns) <= ACROSS and len(means) <= DOWN):
        return None
    columns, rows = ([plain(folded(str(value))) for value in values] for values in (means.columns, means.index))
    is_crowded = max(map(len, columns)) > 9
    figure, axes = new_figure(width_for(rows, rest=0.7 + 0.42 * len(columns)), 0.7 + 0.3 * len(rows) + 0.4 * is_crowded)
    scale = LinearSegmentedColormap.from_list("heat", look.HEAT)
    image = axes.imshow(means, cmap=scale.reversed() if comparison.lower_is_better(score) else scale, aspect="auto")
    form = comparison.formats[score]
    for (y, x), mean, sd, _, settings in cells.itertuples():
        spread = [] if np.isnan(sd) else [f"{PLUS_MINUS} {sd:{form}}"]
        text = "\n".join([f"{mean:{form}}", *spread]) + marks(settings, score)
        place = means.columns.get_loc(x), means.index.get_loc(y)
        axes.text(*place, text, ha="center", va="center", fontsize=6.5)
    axes.set_xticks(range(len(columns)), columns)
    if is_crowded:
        axes.tick_params(axis="x", rotation=30)
    axes.set_yticks(range(len(rows)), rows)
    axes.spines[:].set_visible(False)
    axes.set(xlabel=plain(across.short), ylabel=plain(down.short))
    figure.colorbar(image).outline.set_visible(False)
    joined = ", ".join(key.short for key in comparison.keys if key not in keys)
    facts = [MEAN_AND_SD if cells["sd"].notna().any() else "", f"over all {joined}" if joined else ""]
    figure = finished(figure, comparison, score, facts)
    axes.grid(visible=False)
    return figure


def curve_figure(comparison: Comparison, curves: pd.DataFrame, metric: str) -> Figure | None:
    """Return a figure of each setting's mean over seeds at each step, with a band of one sd; None without a curve."""
    points = curves[(curves["metric"] == metric) & (curves["setting"] < NAMED)]
    if points.empty:
        return None
    panels, colours = panels_of(points), colours_of(comparison)
    figure = Figure(figsize=(look.COLUMN, 0.8 + 1.0 * len(panels)), layout="constrained")
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0].tolist()
    drawn = dict(list(points.groupby("setting")))
    for axes, places in zip(grid, panels, strict=True):
        for place in places:
            setting = comparison.ranked[place]
            _, curve = over_seeds(drawn[place])
            colour, marker, every = colours[setting], MARKERS[place], max(1, len(curve) // 8)
            name = plain(folded(name_of(setting, comparison)) + marks([setting], metric))
            (line,) = axes.plot(curve["mean"], color=colour, marker=marker, markevery=every, markersize=3, label=name)
            line.set_zorder(3 - place / 10)  # the best is above the others
            axes.fill_between(curve.index, curve["low"], curve["high"], color=colour, alpha=look.BAND, linewidth=0)
        axes.set_ylabel(plain(metric.rpartition("/")[2]))
    grid[-1].set_xlabel("step")
    grid[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(drawn) > 1:
        add_legend(figure, grid, [key for key in comparison.keys if key.in_label])
    has_band = points.groupby("setting")["seed"].nunique().max() > 1
    logging = curves.loc[curves["metric"] == metric, "setting"].nunique()
    facts = [MEAN_AND_SD + " over seeds" if has_band else "", the_best_of(len(drawn), logging, "settings")]
    return finished(figure, comparison, metric, facts)


def plain(text: str) -> str:
    """Escape a text for matplotlib, which reads text between two $ as mathematics and hides a name with a leading _."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def width_for(names: Sequence[str], rest: float) -> float:
    """Return a figure's width in inches: one column of a paper, or both columns if one is too narrow for the names."""
    return look.COLUMN if 0.058 * max(map(len, names)) + rest <= look.COLUMN else look.BOTH_COLUMNS


def spread_of(settings: Sequence[Setting], score: str) -> str:
    """Return the part of a title about error bars; "" if no setting has several seeds."""
    return MEAN_AND_SD if any(setting.means[score].sd is not None for setting in settings) else ""


def the_best_of(shown: int, every: int, noun: str) -> str:
    """Return "the best 20 of 45 settings" for a figure's title; "" if the figure shows all of them."""
    return f"the best {shown} of {every:,} {noun}" if shown < every else ""


def add_legend(figure: Figure, grid: Sequence[Axes], keys: Sequence[Key]) -> None:
    """Add a legend below the axes, and make the figure higher by the height of the legend."""
    pairs = [pair for axes in grid for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles, names = zip(*pairs, strict=True)
    columns = 2 if max(map(len, names)) <= 20 else 1
    title = plain(", ".join(key.short for key in keys))
    figure.legend(handles, names, loc="outside lower center", ncols=columns, title=title)
    figure.set_figheight(figure.get_figheight() + 0.14 * (len(names) / columns + 2))


def finished(figure: Figure, comparison: Comparison, score: str, facts: Sequence[str]) -> Figure:
    """Give a figure its title, a faint grid and the size of tick labels, and return the figure.

    Matplotlib draws tick labels later, without the style look.PAPER. The title has the score, its unit, and the facts.
    """
    smoke = ["smoke runs"] if all(run.is_smoke for run in comparison.runs) else []
    lines = [with_unit(comparison.runs, score), ", ".join(filter(None, [*facts, *smoke]))]
    letters = int(LETTERS * figure.get_figwidth())
    title = [part for line in lines for part in wrap(line, letters)]
    figure.suptitle(plain("\n".join(title)))
    figure.set_figheight(figure.get_figheight() + 0.14 * len(title))
    for axes in figure.axes:
        axes.tick_params(labelsize=look.PAPER["xtick.labelsize"], length=2)
        axes.grid(alpha=0.3, linewidth=0.5)
    return figure
