"""The charts of the HTML page, by plotly: scores of settings, and curves of runs (cse.lab.report.any_runs.curves).

Start at `draw_charts`. Each chart has a function: `chart_by_number`, `chart_of_search`, `box_chart`, `heat_map`,
`curve_charts`. A setting has the same colour in all charts. Every label that comes from a run is escaped, because
plotly interprets a few HTML tags. cse.lab.report.any_runs.paper_figures draws the same numbers for a paper.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from html import escape
from itertools import accumulate
from textwrap import wrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cse.lab.report.any_runs.comparison import Comparison, Key, Setting
from cse.lab.report.any_runs.curves import equal_lines, lines_by_metric, name_of, panels_of, title_of_curves
from cse.lab.report.any_runs.scores import axis_name
from cse.lab.report.any_runs.settings_table import marks
from cse.lab.report.formats import capitalised, first_few, folded, score_in_words
from cse.lab.report.numbers.statistics import mean_and_sd
from cse.lab.report.show import look
from cse.lab.report.show.look import PLUS_MINUS
from cse.lab.settings.values import number_in

TICK = 24  # the most characters of a value at an axis
TITLE = 26  # the most characters of a line in the title of an axis or of a colour scale
BOXES = 20  # at most this many settings have a box each
CATEGORIES = 7  # a key with more different numbers than this has a numeric axis
TRAINING = {"Training loss": "train/loss", "Learning rate": "train/lr", "Gradient norm": "train/grad_norm"}
BOXED = 5  # with fewer seeds than this, quartiles say little
BOX = "A box shows the median and the quartiles. The dashed line is the mean. Each dot is a seed."
WITH_MEAN = {"boxmean": True}  # with "sd", plotly would add the deviation of a population
ONLY_DOTS = {"line_width": 0, "fillcolor": look.CLEAR, "hoveron": "points"}
FEW_SEEDS = "The diamond is the mean, its bar the standard deviation over seeds. Each dot is a seed."
DOTS = "Each dot is a seed. It has the colour of its setting in the table of settings."
TRIALS = "Each dot is a trial. The line is the best score so far."
UNTRAINED = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "line": {"color": look.GREY, "dash": "dash"}}
DASHES = ("dash", "dot", "dashdot", "longdash")  # of several untrained encoders among curves
LEGEND = {"yanchor": "top", "y": 1, "xanchor": "left", "x": 1.02}  # at the right of the chart
AXIS = {"gridcolor": look.GRID, "zeroline": False, "automargin": True, "exponentformat": "e", "title": {"standoff": 12}}
SMALL, SMALL_TICKS = 1e-3, {"tickformat": "~e", "labelalias": {"0e+0": "0"}}
"""The ticks of a linear axis of numbers below SMALL: 9e-5 and 1e-4. By itself, plotly writes 0.9e-4 beside 1e-4."""
TEMPLATE = go.layout.Template(
    layout={
        "height": look.CHART_HEIGHT, "margin": {"t": 20, "r": 20, "l": 50, "b": 50},
        "showlegend": False, "colorway": look.SETTINGS,
        "paper_bgcolor": look.CLEAR, "plot_bgcolor": look.CLEAR,
        "font": {"family": look.FONT, "size": look.CHART_FONT, "color": look.GREY},
        "xaxis": AXIS, "yaxis": AXIS,
    }
)  # fmt: skip


def draw_charts(comparison: Comparison, curves: pd.DataFrame) -> dict[str, go.Figure]:
    """Return {title: chart} of the charts that have data. curves: the points that `curves_of` returns."""
    scored = [name for name in comparison.scores.shown if any(name in setting.means for setting in comparison.settings)]
    charts = score_charts(comparison, scored) if scored else {}
    return charts | curve_charts(comparison, curves)


def score_charts(comparison: Comparison, scored: Sequence[str]) -> dict[str, go.Figure]:
    """Return {title: chart} for the scores: a chart for each key with many different numbers, a chart for a search's
    trials, and a chart for the other keys.
    """
    charts: dict[str, go.Figure] = {}
    numeric, categorical = keys_as_axes(comparison)
    for key, numbers in numeric.items():
        charts[f"Score by {escape(key.short)}"] = chart_by_number(comparison, key, numbers, scored)
    if any(setting.trial for setting in comparison.settings):
        charts["Best so far"] = chart_of_search(comparison, scored)
    if categorical:
        drawn = cell_keys(comparison, categorical)
        joined = [escape(key.short) for key in comparison.keys if key not in drawn] if drawn else []
        title = f"Score by setting, over all {first_few(joined)}" if joined else "Score by setting"
        if len(drawn) > 1:
            charts[title] = heat_map(comparison, *drawn, scored=scored)
        else:
            charts[title] = box_chart(comparison, drawn[0] if drawn else None, scored)
    return charts


def keys_as_axes(comparison: Comparison) -> tuple[dict[Key, dict[Setting, float]], list[Key]]:
    """Return ({key with a numeric axis: {setting: its number}}, [the other keys]).

    Charts show the values of the other keys as categories.
    """
    is_search = any(setting.trial for setting in comparison.settings)
    numbers = {key: as_axis(comparison, key, is_search) for key in comparison.keys}
    numeric = {key: of_key for key, of_key in numbers.items() if of_key is not None}
    return numeric, [key for key in comparison.keys if key not in numeric]


def cell_keys(comparison: Comparison, categorical: Sequence[Key]) -> Sequence[Key]:
    """Return the keys whose values are the cells of a chart: the first two keys, or fewer.

    Return none if a setting has no value at one of these keys, as an encoder without training beside trained settings.
    Cells would then join settings of different methods.
    """
    keys = categorical[:2]
    has_all = all(setting.values[key.dotted] for setting in comparison.settings for key in keys)
    return keys if has_all or len(comparison.settings) > BOXES else ()


def as_axis(comparison: Comparison, key: Key, is_search: bool) -> dict[Setting, float] | None:
    """Return {setting: its value of a key, as a number}; NaN for a setting without the key.

    Return None if a value is not a number. Without a search, return None also for at most CATEGORIES distinct numbers.
    """
    texts = pd.Series(
        [setting.values[key.dotted] if setting.runs[0].has(key.dotted) else "" for setting in comparison.ranked]
    )
    numbers = pd.to_numeric(texts[texts != ""], errors="coerce")
    is_axis = numbers.notna().all() and (is_search or numbers.nunique() > CATEGORIES)
    return dict(zip(comparison.ranked, numbers.reindex(texts.index), strict=True)) if is_axis else None


def chart_by_number(
    comparison: Comparison, key: Key, numbers: Mapping[Setting, float], scored: Sequence[str]
) -> go.Figure:
    """Return a chart with a point for each seed of each setting. The x axis has each setting's value of the key."""
    colours, traces = colours_of(comparison), {}
    for score in scored:
        points = seeds_of(comparison, score)
        labels = {setting: escape(setting.label) + marks([setting], score) for setting in comparison.settings}
        hover = f"%{{text}}<br>%{{y:{comparison.formats[score].removeprefix('z')}}}<extra></extra>"
        about = {"mode": "markers", "hovertemplate": hover}
        by_colour = points.groupby(points["setting"].map(colours), sort=False)
        # plotly checks each text of a list, but an array at once
        traces[score] = [
            go.Scatter(
                x=of_colour["setting"].map(numbers).to_numpy(),
                y=of_colour["score"].to_numpy(),
                text=of_colour["setting"].map(labels).to_numpy(str),
                marker={"color": colour, "size": 9},
                **about,
            )
            for colour, of_colour in sorted(by_colour, key=lambda pair: pair[0] != look.GREY)  # grey below colours
        ]
    axis = {"type": "log"} if is_log_axis(numbers.values()) else {"type": "linear", **small_ticks(numbers.values())}
    layout = {"xaxis": {"title": escape(key.short)} | axis, "meta": DOTS}
    return with_menu(traces, layout, axes_of(comparison, scored))


def small_ticks(numbers: Iterable[float]) -> Mapping[str, object]:
    """Return SMALL_TICKS if all numbers are below SMALL; else {}. NaN is below."""
    return {} if any(abs(number) >= SMALL for number in numbers) else SMALL_TICKS


def is_log_axis(numbers: Iterable[float]) -> bool:
    """Return whether these numbers have a logarithmic axis: all are > 0, and the largest is >= 10 times the least."""
    known = [number for number in numbers if not math.isnan(number)]
    return min(known) > 0 and max(known) >= 10 * min(known)


def chart_of_search(comparison: Comparison, scored: Sequence[str]) -> go.Figure:
    """Return a chart with the score of each trial, and a line of the best score so far for each search.

    The menu of scores begins with the score that ranks the settings.
    """
    trials = sorted((setting.trial for setting in comparison.settings if setting.trial), key=lambda trial: trial.number)
    grey = {"color": look.GREY, "size": 8}
    steps = {"color": look.SETTINGS[0], "shape": "hv"}
    traces = {}
    for score in sorted(scored, key=lambda name: name != comparison.scores.best_by):
        done = [trial for trial in trials if score in trial.run.metrics]
        values = [trial.run.metrics[score] for trial in done]
        traces[score] = [go.Scatter(x=[trial.number for trial in done], y=values, mode="markers", marker=grey)]
        best = min if comparison.lower_is_better(score) else max
        for search in sorted({trial.search for trial in done}):
            of_search = [trial for trial in done if trial.search == search]
            so_far = list(accumulate((trial.run.metrics[score] for trial in of_search), best))
            numbers = [trial.number for trial in of_search]
            traces[score].append(go.Scatter(x=numbers, y=so_far, mode="lines", line=steps))
    return with_menu(traces, {"xaxis_title": "trial", "meta": TRIALS}, axes_of(comparison, scored))


def box_chart(comparison: Comparison, key: Key | None, scored: Sequence[str]) -> go.Figure:
    """Return a chart with a box for each value of a key, and a text that explains the box: the layout's `meta`.

    key: None for a box for each setting. If a value has fewer than BOXED seeds, the mean with its standard deviation
    replaces each box.
    """
    colours = colours_of(comparison)
    traces: dict[str, list[go.Box | go.Scatter]] = {score: [] for score in scored}
    by_score = {}
    for score in scored:
        points = seeds_of(comparison, score, [key] if key else [])
        names = points[key.dotted] if key else points["setting"].map(partial(name_of, comparison=comparison))
        by_score[score] = points.groupby(names, observed=True, sort=key is not None)
    is_boxed = min(points.size().min() for points in by_score.values()) >= BOXED
    for score, by_value in by_score.items():
        for value, points in by_value:
            name, values = escape(value) + marks(points["setting"], score), points["score"].to_numpy()
            colour = colours[points["setting"].iloc[0]]
            box = go.Box(x=[name] * len(points), y=values, marker_color=colour, boxpoints="all")
            traces[score].append(box.update(WITH_MEAN if is_boxed else ONLY_DOTS))
            if not is_boxed:
                of_seeds, mark = mean_and_sd(values), {"symbol": "diamond", "size": 11, "color": colour}
                error = [] if of_seeds.sd is None else [of_seeds.sd]
                diamond = go.Scatter(x=[name], y=[of_seeds.mean], error_y_array=error, mode="markers", marker=mark)
                traces[score].append(diamond)
    about = BOX if is_boxed else FEW_SEEDS
    xaxis = category_axis(comparison, key) if key else {"type": "category"}
    return with_menu(traces, {"xaxis": xaxis, "meta": about}, axes_of(comparison, scored))


def heat_map(comparison: Comparison, across: Key, down: Key, *, scored: Sequence[str]) -> go.Figure:
    """Return a chart with a heat map for each score. A cell shows mean and sd for a pair of values of two keys.

    The text below the chart gives the scores of the untrained encoders.
    """
    traces = {score: [heat_map_of(comparison, across, down, score)] for score in scored}
    rows = len({setting.values[down.dotted] for setting in comparison.settings})
    layout: dict[str, object] = {
        "xaxis": category_axis(comparison, across) | {"showgrid": False},
        "yaxis": category_axis(comparison, down) | {"showgrid": False, "autorange": "reversed"},
        "height": min(look.CHART_HEIGHT, look.CHART_MARGINS + rows * look.CHART_ROW),
        "meta": " ".join(f"{levels}." for levels in levels_in_words(comparison, scored)),
    }
    return with_menu(traces, layout, {})


def category_axis(comparison: Comparison, key: Key) -> dict[str, object]:
    """Return an axis with the values of a key as categories. The axis shows a long value without its middle."""
    values = {setting.values[key.dotted]: None for setting in comparison.settings}
    return {
        "title": escape(key.short),
        "type": "category",
        "labelalias": {escape(value): escape(folded(value, TICK) or look.NO_VALUE) for value in values},
    }


def heat_map_of(comparison: Comparison, across: Key, down: Key, score: str) -> go.Heatmap:
    """Return the heat map of one score."""
    form = comparison.formats[score]
    cells = cells_of(comparison, across, down, score)
    texts, hovers = [], []
    for (y, x), mean, sd, n, settings in cells.itertuples():
        spread, mark = "" if np.isnan(sd) else f"{PLUS_MINUS} {sd:{form}}", marks(settings, score)
        texts.append("<br>".join(filter(None, [f"{mean:{form}}", spread])) + mark)
        place = f"{escape(across.short)}={escape(x)}<br>{escape(down.short)}={escape(y)}"
        hovers.append(f"{place}<br>{mean:{form}} {spread}{mark}<br>n = {n}")
    means = cells["mean"].unstack()
    return go.Heatmap(
        z=means.to_numpy(),
        x=list(map(escape, means.columns)),
        y=list(map(escape, means.index)),
        text=cells.assign(text=texts)["text"].unstack().fillna("").to_numpy(),
        texttemplate="%{text}",
        textfont=look.HEAT_FONT,
        hovertext=cells.assign(text=hovers)["text"].unstack().fillna("").to_numpy(),
        hovertemplate="%{hovertext}<extra></extra>",
        colorscale=look.HEAT,
        reversescale=comparison.lower_is_better(score),
        colorbar_title_text=axis_titles(comparison, [score])[score],
        xgap=2,
        ygap=2,
    )


def cells_of(comparison: Comparison, across: Key, down: Key, score: str) -> pd.DataFrame:
    """Return mean, sd, n and settings of each cell of a heat map. The index has the cell's values at both keys."""
    cells = seeds_of(comparison, score, [across, down]).groupby([down.dotted, across.dotted], observed=True)
    return cells.agg(mean=("score", "mean"), sd=("score", "std"), n=("score", "size"), settings=("setting", list))


def seeds_of(comparison: Comparison, score: str, keys: Sequence[Key] = ()) -> pd.DataFrame:
    """Return a row for each seed of each setting that has the score: setting, score, the setting's values at `keys`.

    The values of a key are ordered categories: first numbers by size, then words in the order of `comparison.ranked`.
    """
    rows = [
        [setting, value, *(setting.values[key.dotted] for key in keys)]
        for setting in comparison.settings
        if score in setting.groups
        for value in setting.groups[score].values
    ]
    table = pd.DataFrame(rows, columns=["setting", "score", *(key.dotted for key in keys)])
    for key in keys:
        texts = dict.fromkeys(setting.values[key.dotted] for setting in comparison.ranked)
        table[key.dotted] = pd.Categorical(table[key.dotted], sorted(texts, key=size_of), ordered=True)
    return table


def size_of(text: str) -> float:
    """Return the number that a text denotes; infinity for words."""
    number = number_in(text)
    return math.inf if number is None else number


def axis_titles(comparison: Comparison, scores: Sequence[str]) -> dict[str, str]:
    """Return {score: its name with its unit, as the title of an axis}. A line has at most TITLE characters."""
    lines = {score: wrap(axis_name(comparison.runs, score), TITLE, break_long_words=False) for score in scores}
    return {score: "<br>".join(map(escape, of_score)) for score, of_score in lines.items()}


def axes_of(comparison: Comparison, scores: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return {score: the title of its axis, and a dashed line with a name at the level of each untrained encoder}."""
    axes: dict[str, dict[str, object]] = {}
    for score, title in axis_titles(comparison, scores).items():
        lines = []
        for name, level in comparison.untrained(score):
            highest = seeds_of(comparison, score)["score"].max()
            label = {"text": escape(name), "textposition": "end", "yanchor": "top" if level >= highest else "bottom"}
            lines.append(UNTRAINED | {"y0": level, "y1": level, "label": label})
        axes[score] = {"yaxis.title.text": title, "shapes": lines}
    return axes


def levels_in_words(comparison: Comparison, scores: Sequence[str]) -> list[str]:
    """Return a text for each untrained encoder, with its scores; [] if they are unknown."""
    levels: dict[str, list[str]] = {}
    for score in scores:
        for name, level in comparison.untrained(score):
            levels.setdefault(name, []).append(f"{level:{comparison.formats[score]}} ({score_in_words(score)})")
    return [capitalised(f"{name}: {', '.join(of_name)}") for name, of_name in levels.items()]


def colours_of(comparison: Comparison) -> dict[Setting, str]:
    """Return the colour of each setting."""
    return dict(zip(comparison.ranked, look.setting_colours(len(comparison.ranked)), strict=True))


def with_menu(
    traces: Mapping[str, Sequence[go.Scatter | go.Box | go.Heatmap]],
    layout: Mapping[str, object],
    axes: Mapping[str, Mapping[str, object]],
) -> go.Figure:
    """Return a figure with a menu that selects the score to show.

    traces: {score: plotly's traces}. axes: {score: further parts of the layout}; {} if y is no score.
    """
    owners = [name for name, lines in traces.items() for _ in lines]
    figure = go.Figure([trace for lines in traces.values() for trace in lines], go.Layout(template=TEMPLATE, **layout))
    for trace, owner in zip(figure.data, owners, strict=True):
        trace.visible = owner == owners[0]
    buttons = []
    for name in traces:
        shown = {"visible": [owner == name for owner in owners]}
        buttons.append({"label": escape(name), "method": "update", "args": [shown, axes.get(name, {})]})
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    menu |= {"bgcolor": look.CLEAR, "bordercolor": look.GREY}
    return figure.update_layout(axes.get(owners[0], {}), updatemenus=[menu], margin_t=60)


def curve_charts(comparison: Comparison, curves: pd.DataFrame) -> dict[str, go.Figure]:
    """Return {title: chart} for the numbers that runs logged more than once.

    Each metric in TRAINING has a chart. A curve with much larger values is in another panel of this chart. All other
    metrics share one chart. The `meta` of a chart's layout is a text below the chart. curves: the points that
    `curves_of` returns.
    """
    keys = ", ".join(key.short for key in comparison.keys if key.in_label)
    about: dict[str, object] = {
        "xaxis_title": "step",
        "showlegend": True,
        "legend": LEGEND | {"title": {"text": escape(keys)}},
    }
    lines = lines_by_metric(curves, comparison)
    charts: dict[str, go.Figure] = {}
    for title, metric in TRAINING.items():
        if metric in lines:
            chart = in_panels(lines[metric], panels_of(curves[curves["metric"] == metric]), title, about)
            chart.update_yaxes(small_ticks(number for line in lines[metric] for number in line.y))
            charts[title] = chart.update_layout(meta=equal_lines({metric: lines.pop(metric)}, comparison))
    if lines:
        scores = dict.fromkeys([comparison.scores.best_by, comparison.scores.leading, *lines])
        names = [name for name in scores if name in lines]
        traces = {name: [*untrained_lines(comparison, name, lines[name]), *lines[name]] for name in names}
        titles = axis_titles(comparison, list(lines))
        chart = with_menu(traces, about, {name: {"yaxis.title.text": title} for name, title in titles.items()})
        charts[title_of_curves(comparison)] = chart.update_layout(meta=equal_lines(lines, comparison))
    for chart in charts.values():
        if max(line.x.max() for line in chart.data) <= 10:
            chart.update_xaxes(dtick=1)  # plotly would have ticks at half steps
    return charts


def untrained_lines(comparison: Comparison, score: str, curves: Sequence[go.Scatter]) -> list[go.Scatter]:
    """Return a line for each untrained encoder. The line is drawn behind the curves. Its name is last in the legend."""
    lines, last = [], max(curve.x.max() for curve in curves)
    for (name, level), dash in zip(comparison.untrained(score), DASHES, strict=False):
        about = {"name": escape(name), "line": {"color": look.GREY, "dash": dash}, "hoverinfo": "skip"}
        lines.append(go.Scatter(x=np.array([0, last]), y=[level, level], mode="lines", **about))
    return lines


def in_panels(
    lines: Sequence[go.Scatter], panels: Sequence[Sequence[int]], title: str, about: Mapping[str, object]
) -> go.Figure:
    """Return a figure with one panel below another. panels: the settings of each panel, as from `panels_of`."""
    figure = make_subplots(len(panels), 1, shared_xaxes=True, vertical_spacing=0.06)
    rows = {place: row for row, places in enumerate(panels, 1) for place in places}
    for line in lines:
        figure.add_trace(line, row=rows[line.legendrank - 1], col=1)
    height = max(look.CHART_HEIGHT, look.CHART_MARGINS + len(panels) * look.CHART_PANEL)
    figure.update_layout(template=TEMPLATE, height=height, **about)
    figure.update_yaxes(title=title)
    return figure.update_xaxes(title="").update_xaxes(title="step", row=len(panels))
