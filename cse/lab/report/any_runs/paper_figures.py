"""The figures of any runs for a paper, by matplotlib: the scores of settings, and curves.

Start at `draw_paper_figures`. Each figure has a function. The figures show the same numbers as the page's
charts. A figure is as wide as a column of a two-column paper, or as both columns if the names are long. If there are
many settings, a figure shows only the best settings. Its caption says so.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from cse.lab.report.any_runs.charts import (
    TRAINING,
    cell_keys,
    cells_of,
    colours_of,
    is_log_axis,
    keys_as_axes,
    levels_in_words,
)
from cse.lab.report.any_runs.comparison import Comparison, Key, Setting
from cse.lab.report.any_runs.curves import NAMED, equal_curves, name_of, over_seeds, panels_of
from cse.lab.report.any_runs.scores import axis_name, selection_in_words
from cse.lab.report.any_runs.settings_table import marks, smoke_words
from cse.lab.report.formats import capitalised, folded, score_in_words
from cse.lab.report.show import look
from cse.lab.report.show.document import Picture
from cse.lab.report.show.look import NO_BETTER, PLUS_MINUS
from cse.lab.sharing.plots import MARKERS, new_figure, plain
from cse.lab.sharing.score_tables import MODIFIED

MARKED = 25  # the most points of a curve with markers; a longer curve has none
ROWS, DOTS = 20, 500  # the most settings that a figure shows as rows, or as dots over numbers
LETTER, LINE, NUMBER = 0.058, 0.14, 0.52  # inches: a letter's width, a line's height, the space of a number at an axis
MEAN_AND_SD = f"mean {PLUS_MINUS} standard deviation over seeds"
ACROSS, DOWN = 12, 30  # the most values of a heat map's two keys; with more values there is no heat map

Captioned = tuple[Figure | None, str]  # a figure and its caption
NOTHING: Captioned = (None, "")  # without data


def draw_paper_figures(comparison: Comparison, curves: pd.DataFrame) -> list[Picture]:
    """Return the figures of scores and of the training loss. A picture without data has no figure.

    curves: the points that `curves_of` returns.
    """
    numeric, categorical = keys_as_axes(comparison)
    logged = [name for name in curves["metric"].unique() if name not in TRAINING.values()]
    scores = [name for name in (comparison.scores.best_by, comparison.scores.leading, *logged) if name in logged]
    with matplotlib.style.context(look.PAPER):
        drawn = {
            "scores": score_figure(comparison, numeric),
            "heat_map": heat_map_figure(comparison, cell_keys(comparison, categorical)),
            "curves": curve_figure(comparison, curves, scores[0]) if scores else NOTHING,
            "training_loss": curve_figure(comparison, curves, TRAINING["Training loss"]),
        }
    return [Picture(name, *captioned, is_of_paper=False) for name, captioned in drawn.items()]


def score_figure(comparison: Comparison, numeric: Mapping[Key, Mapping[Setting, float]]) -> Captioned:
    """Return a figure of each setting's mean and standard deviation; none if fewer than two settings have the score.

    numeric: the keys that have a numeric axis, with the number of each setting. The first of these keys is the x axis.
    If there is no such key, each setting has a row.
    """
    score = comparison.scores.leading
    scored = [setting for setting in comparison.ranked if score in setting.means]
    if score is None or len(scored) < 2:
        return NOTHING
    if not numeric:
        return figure_of_rows(comparison, scored, score)
    key, numbers = next(iter(numeric.items()))
    known = {setting: numbers[setting] for setting in scored if not np.isnan(numbers[setting])}
    are_lines = len(numeric) == 1 and not any(setting.trial for setting in scored)
    return figure_over_numbers(comparison, key, known, score, are_lines=are_lines)


def figure_of_rows(comparison: Comparison, scored: Sequence[Setting], score: str) -> Captioned:
    """Return a figure with a row for each setting, the best at the top. Every seed is a faint dot below the mean."""
    shown, colours = scored[:ROWS], colours_of(comparison)
    keys = ", ".join(key.short for key in comparison.keys if key.in_label)
    names = [plain(folded(name_of(setting, comparison)) + marks([setting], score)) for setting in shown]
    figure, axes = new_figure(width_for([keys, *names], rest=1.4), 0.6 + 0.19 * len(shown))
    for row, setting in enumerate(shown):
        mean, seeds = setting.means[score], setting.groups[score].values
        colour, marker = colours[setting], MARKERS[row] if row < NAMED else "."
        if len(seeds) > 1:
            axes.plot(seeds, [row + 0.3] * len(seeds), ".", color=colour, alpha=look.FAINT, markersize=4)
        axes.errorbar(mean.mean, row, xerr=mean.sd, color=colour, marker=marker, markersize=4.5, capsize=2.5)
    draw_untrained(comparison, axes, score, is_upright=True)
    axes.set_yticks(range(len(shown)), names)
    room = figure.get_figwidth() - LETTER * max(map(len, [keys, *names])) - 0.2
    axes.xaxis.set_major_locator(MaxNLocator(max(1, int(room / NUMBER)), steps=[1, 2, 5, 10]))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.annotate(plain(keys), (0, 1), (-4, 2), "axes fraction", "offset points", ha="right", va="bottom")
    axes.set_xlabel(axis_label(comparison, score, figure.get_figwidth()), loc="right")  # may reach below the names
    spread = spread_of(shown, score)
    facts = [spread, "a dot for each seed" if spread else "", the_best_of(len(shown), len(scored), "settings")]
    return finished(figure, comparison, score, f"by {keys}", facts)


def figure_over_numbers(
    comparison: Comparison, key: Key, numbers: Mapping[Setting, float], score: str, *, are_lines: bool
) -> Captioned:
    """Return a figure of each setting's mean and standard deviation. The x axis has the setting's value of the key.

    are_lines: whether a line joins the settings that differ only in this key. Without lines, each setting is a dot.
    """
    others = [other for other in comparison.keys if other.in_label and other is not key] if are_lines else []
    series: dict[str, list[Setting]] = {}
    for setting in numbers:
        series.setdefault(", ".join(setting.values[other.dotted] for other in others), []).append(setting)
    figure, axes = new_figure(look.COLUMN, 2.0)
    lines: list[tuple[str, pd.Series]] = []
    for place, (name, settings) in enumerate(list(series.items())[:NAMED]):
        drawn = sorted(settings[:DOTS], key=numbers.__getitem__)
        sd = [setting.means[score].sd or 0.0 for setting in drawn]
        means = pd.Series([setting.means[score].mean for setting in drawn], [numbers[setting] for setting in drawn])
        lines.append((folded(name), means))
        axes.errorbar(
            means.index,
            means,
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
    axes.set(xlabel=plain(key.dotted), ylabel=axis_label(comparison, score, 1.6))
    draw_untrained(comparison, axes, score, is_upright=False)
    part = the_best_of(min(DOTS, len(numbers)), len(numbers), "settings")
    if len(series) > 1:
        add_legend(figure, [axes], others)
        part = the_best_of(min(NAMED, len(series)), len(series), "lines")
    facts, equal = [spread_of(list(numbers), score), part], equal_curves(lines, f"values of {key.short}")
    return finished(figure, comparison, score, f"over {key.short}", facts, equal)


def heat_map_figure(comparison: Comparison, keys: Sequence[Key]) -> Captioned:
    """Return a heat map of mean and sd for each pair of values of two keys; none for one key or too many values."""
    score = comparison.scores.leading
    if len(keys) < 2 or score is None:
        return NOTHING
    across, down = keys
    cells = cells_of(comparison, across, down, score)
    means = cells["mean"].unstack()
    if not (0 < len(means.columns) <= ACROSS and len(means) <= DOWN):
        return NOTHING
    columns, rows = (
        [plain(folded(value) or look.NO_VALUE) for value in values] for values in (means.columns, means.index)
    )
    longest = LETTER * max(map(len, columns))
    turned = 0.6 * longest if longest > 0.5 else 0.0  # the height of rotated names
    label = axis_label(comparison, score, 2.6)
    height = 1.0 + 0.3 * len(rows) + turned + LINE * label.count("\n")
    figure, axes = new_figure(width_for(rows, rest=0.5 + 0.42 * len(columns)), height)
    scale = LinearSegmentedColormap.from_list("heat", look.HEAT)
    image = axes.imshow(means, cmap=scale.reversed() if comparison.lower_is_better(score) else scale, aspect="auto")
    form = comparison.formats[score]
    for (y, x), mean, sd, _, settings in cells.itertuples():
        spread = [] if np.isnan(sd) else [f"{PLUS_MINUS} {sd:{form}}"]
        text = "\n".join([f"{mean:{form}}", *spread]) + marks(settings, score)
        place = means.columns.get_loc(x), means.index.get_loc(y)
        axes.text(*place, text, ha="center", va="center", fontsize=6.5)
    axes.set_xticks(range(len(columns)), columns)
    if turned:
        axes.set_xticks(range(len(columns)), columns, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.spines[:].set_visible(False)
    axes.set(xlabel=plain(across.short), ylabel=plain(down.short))
    figure.colorbar(image, location="top", aspect=40, label=label).outline.set_visible(False)
    joined = ", ".join(key.short for key in comparison.keys if key not in keys)
    statistic = MEAN_AND_SD if cells["sd"].notna().any() else "mean over seeds" if joined else ""
    facts = [f"{statistic}, {joined}" if joined else statistic]
    about = f"by {down.short} and {across.short}"
    captioned = finished(figure, comparison, score, about, facts, levels_in_words(comparison, [score]))
    axes.grid(visible=False)
    return captioned


def curve_figure(comparison: Comparison, curves: pd.DataFrame, metric: str) -> Captioned:
    """Return a figure of each setting's mean over seeds at each step, with a band of one sd; none without a curve."""
    points = curves[(curves["metric"] == metric) & (curves["setting"] < NAMED)]
    if points.empty:
        return NOTHING
    panels, colours = panels_of(points), colours_of(comparison)
    figure = Figure(figsize=(look.COLUMN, 0.8 + 1.0 * len(panels)), layout="constrained")
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0].tolist()
    drawn = dict(list(points.groupby("setting")))
    means: list[tuple[str, pd.Series]] = []
    for axes, places in zip(grid, panels, strict=True):
        for place in places:
            setting = comparison.ranked[place]
            _, curve = over_seeds(drawn[place])
            colour, marker = colours[setting], MARKERS[place]
            marker = marker if len(curve) <= MARKED else ""
            name = folded(name_of(setting, comparison))
            means.append((name, curve["mean"]))
            label = plain(name + marks([setting], metric))
            (line,) = axes.plot(curve["mean"], color=colour, marker=marker, markersize=3, label=label)
            line.set_zorder(3 - place / 10)  # the best is above the others
            axes.fill_between(curve.index, curve["low"], curve["high"], color=colour, alpha=look.BAND, linewidth=0)
        axes.set_ylabel(axis_label(comparison, metric, 1.3))
    if len(grid) == 1:
        draw_untrained(comparison, grid[0], metric, is_upright=False)
    grid[-1].set_xlabel("step")
    grid[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(drawn) > 1:
        add_legend(figure, grid, [key for key in comparison.keys if key.in_label])
    has_band = points.groupby("setting")["seed"].nunique().max() > 1
    logging = curves.loc[curves["metric"] == metric, "setting"].nunique()
    facts = [MEAN_AND_SD if has_band else "", the_best_of(len(drawn), logging, "settings")]
    return finished(figure, comparison, metric, "over the steps", facts, equal_curves(means))


def draw_untrained(comparison: Comparison, axes: Axes, score: str, *, is_upright: bool) -> None:
    """Draw a dashed line, with its name, at the score of each untrained encoder. is_upright: whether x is the score."""
    for name, level in comparison.untrained(score):
        (axes.axvline if is_upright else axes.axhline)(level, color=look.GREY, linestyle="--", linewidth=0.8, zorder=0)
        x, y = (level, 1) if is_upright else (1, level)
        system = axes.get_xaxis_transform() if is_upright else axes.get_yaxis_transform()
        side = "left" if is_upright and level < sum(axes.get_xlim()) / 2 else "right"  # the name stays above the axes
        axes.annotate(plain(name), (x, y), (0, 2), system, "offset points", ha=side, va="bottom")


def axis_label(comparison: Comparison, score: str, inches: float) -> str:
    """Return a score's name with its unit, in lines that fit into the length of an axis. No line ends inside a word."""
    label, letters = axis_name(comparison.runs, score), int(inches / LETTER)
    lines = label.replace(" (", "\n(", 1).splitlines() if len(label) > letters else [label]
    return plain("\n".join(part for line in lines for part in wrap(line, letters, break_long_words=False)))


def width_for(names: Sequence[str], rest: float) -> float:
    """Return a figure's width in inches: one column of a paper, or both columns if one is too narrow for the names."""
    return look.COLUMN if LETTER * max(map(len, names)) + rest <= look.COLUMN else look.BOTH_COLUMNS


def spread_of(settings: Sequence[Setting], score: str) -> str:
    """Return the part of a caption about error bars; "" if no setting has several seeds."""
    return MEAN_AND_SD if any(setting.means[score].sd is not None for setting in settings) else ""


def the_best_of(shown: int, every: int, noun: str) -> str:
    """Return "the best 20 of 45 settings" for a figure's caption; "" if the figure shows all of them."""
    return f"the best {shown} of {every:,} {noun}" if shown < every else ""


def add_legend(figure: Figure, grid: Sequence[Axes], keys: Sequence[Key]) -> None:
    """Add a legend below the axes, and make the figure higher by the height of the legend."""
    pairs = [pair for axes in grid for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles, names = zip(*pairs, strict=True)
    columns = 2 if max(map(len, names)) <= 20 else 1
    title = plain(", ".join(key.short for key in keys))
    figure.legend(handles, names, loc="outside lower center", ncols=columns, title=title)
    figure.set_figheight(figure.get_figheight() + LINE * (len(names) / columns + 2))


def finished(
    figure: Figure, comparison: Comparison, score: str, about: str, facts: Sequence[str], sentences: Sequence[str] = ()
) -> Captioned:
    """Give a figure a faint grid and the size of tick labels, and return the figure with its caption.

    Matplotlib draws tick labels later, without the style look.PAPER. The caption has, in this order: the score and
    `about`, the facts, whether the score selected checkpoints, the sentences, and the meaning of the signs.
    """
    for axes in figure.axes:
        axes.tick_params(labelsize=look.PAPER["xtick.labelsize"], length=2)
        axes.grid(alpha=0.3, linewidth=0.5)
    drawn = "".join(text.get_text() for text in figure.findobj(Text))
    signs = look.legend_of({sign: sign in drawn for sign in (MODIFIED, NO_BETTER)})
    title = capitalised(f"{score_in_words(score)} {about}")
    caption = ": ".join(filter(None, [title, ", ".join(filter(None, facts))])) + smoke_words(comparison)
    selection = capitalised(selection_in_words(comparison.runs, [score], score))
    return figure, " ".join([*(f"{line}." for line in (caption, selection, *sentences) if line), *signs])
