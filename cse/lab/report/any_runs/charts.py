"""Charts of a comparison of runs, by plotly: scores by setting, and curves.

To read: `draw_charts`. Their look is cse.lab.report.show.look's.

A setting has one colour in all charts, and one number, its place in the table. Every label that comes from a run is
escaped, as plotly obeys a few HTML tags.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from cse.lab.report.any_runs.comparison import Comparison, Setting, folder_below, marks
from cse.lab.report.formats import first_few, folded
from cse.lab.report.show import look
from cse.lab.report.show.look import PLUS_MINUS
from cse.lab.settings.values import number_in

NO_METRICS = ["event", "time", "train/step", "train/epoch"]
POINTS = 400  # of a curve; a longer one is thinned
RUNS = 100  # whose curves are drawn
ALL_POINTS = 200_000  # of a page; with many curves, each has fewer points
NAMED = 8  # settings, the best first, whose curves are numbered
CATEGORIES = 7  # values of a key; if more are numbers, they are an axis
TRAINING = {"Training loss": "train/loss", "Learning rate": "train/lr", "Gradient norm": "train/grad_norm"}
LEGEND = {"orientation": "h", "yanchor": "top", "y": -0.25, "xanchor": "left", "x": 0}
AXIS = {"gridcolor": look.GRID, "zeroline": False, "automargin": True, "exponentformat": "e"}
TEMPLATE = go.layout.Template(
    layout={
        "height": look.CHART_HEIGHT, "margin": {"t": 60, "r": 20, "l": 50, "b": 50},
        "showlegend": False, "colorway": look.SETTINGS,
        "paper_bgcolor": look.CLEAR, "plot_bgcolor": look.CLEAR, "font": {"size": look.CHART_FONT, "color": look.GREY},
        "xaxis": AXIS, "yaxis": AXIS,
    }
)  # fmt: skip


Colours = dict[Setting, str]


def draw_charts(comparison: Comparison) -> dict[str, go.Figure]:
    """{title: chart}, of those that have data."""
    colours = colours_of(comparison)
    charts: dict[str, go.Figure] = {}
    scored = [name for name in comparison.scores.shown if any(name in setting.means for setting in comparison.settings)]
    if scored:
        is_search = any(setting.trial for setting in comparison.settings)
        axes, categorical = sorted_keys(comparison, is_search)
        charts |= charts_by_number(comparison, axes, colours, scored)
        charts |= chart_of_search(comparison, scored) if is_search else {}
        charts |= chart_by_setting(comparison, categorical, colours, scored) if categorical else {}
    return charts | draw_curves(comparison, colours)


def sorted_keys(comparison: Comparison, is_search: bool) -> tuple[dict[str, pd.Series], list[str]]:
    """The keys that are an axis of numbers, with each setting's number, the best first; and the other keys."""
    axes: dict[str, pd.Series] = {}
    categorical = []
    for key in comparison.keys:
        numbers = as_axis(pd.Series([setting.values[key] for setting in comparison.ranked]), is_search)
        if numbers is None:
            categorical.append(key)
        else:
            axes[key] = numbers
    return axes, categorical


def charts_by_number(
    comparison: Comparison, axes: Mapping[str, pd.Series], colours: Colours, scored: Sequence[str]
) -> dict[str, go.Figure]:
    """A chart for each key that is an axis of numbers."""
    charts = {}
    for key, numbers in axes.items():
        name = escape(comparison.keys[key])
        values = dict(zip(comparison.ranked, numbers, strict=True))
        is_log = numbers.min() > 0 and numbers.max() >= 10 * numbers.min()
        charts[f"Score by {name}"] = with_menu(
            {score: by_number(comparison, values, colours, score) for score in scored},
            xaxis={"title": name, "type": "log" if is_log else "linear"},
        )
    return charts


def chart_of_search(comparison: Comparison, scored: Sequence[str]) -> dict[str, go.Figure]:
    """The chart of a search's trials, with the score that selects first."""
    selecting = [name for name in scored if name == comparison.scores.best_by]
    so_far = {name: best_so_far(comparison, name) for name in dict.fromkeys([*selecting, *scored])}
    return {"Best so far": with_menu(so_far, xaxis_title="trial")}


def chart_by_setting(
    comparison: Comparison, keys: Sequence[str], colours: Colours, scored: Sequence[str]
) -> dict[str, go.Figure]:
    """The chart over the first one or two of these keys, joining the settings that differ in others."""
    drawn = keys[:2]
    names = [escape(comparison.keys[key]) for key in drawn]
    joined = [escape(name) for key, name in comparison.keys.items() if key not in drawn]
    title = f"Score by setting, over all {first_few(joined)}" if joined else "Score by setting"
    chart = with_menu(
        {score: by_setting(comparison, drawn, colours, score) for score in scored},
        xaxis={"title": names[0], "type": "category"},
        yaxis={"title": names[1], "type": "category"} if len(names) > 1 else {},
    )
    return {title: chart}


def draw_curves(comparison: Comparison, colours: Colours) -> dict[str, go.Figure]:
    """{title: chart} of what runs logged more than once."""
    charts: dict[str, go.Figure] = {}
    curves = dict(list(curves_of(comparison).groupby("metric")))
    for title, name in TRAINING.items():
        if name in curves:
            lines = curve_lines(curves.pop(name), comparison, colours)
            charts[title] = go.Figure(lines, go.Layout(template=TEMPLATE, xaxis_title="step"))
    first = [name for name in (comparison.scores.best_by, comparison.scores.leading) if name in curves]
    by_metric = {name: curve_lines(curves[name], comparison, colours) for name in dict.fromkeys([*first, *curves])}
    if by_metric:
        many = len(comparison.runs)
        title = "Curves" if many <= RUNS else f"Curves of {RUNS} of {many:,} runs, those of the best settings"
        charts[title] = with_menu(by_metric, xaxis_title="step", showlegend=True, legend=LEGEND)
    return charts


def colours_of(comparison: Comparison) -> Colours:
    """The colour of each setting, in the order of the table."""
    settings = comparison.ranked
    few = look.SETTINGS[: len(settings)]
    colours = few
    if len(few) < len(settings):
        colours = sample_colorscale(look.MANY_SETTINGS, np.linspace(0.1, 0.9, len(settings)))
    return dict(zip(settings, colours, strict=True))


def as_axis(texts: pd.Series, is_search: bool) -> pd.Series | None:
    """A key's values as numbers; None if they are words, or so few that they are categories.

    The values of a search are always an axis. Some runs may lack a value.
    """
    numbers = pd.to_numeric(texts[texts != ""], errors="coerce")
    is_axis = numbers.notna().all() and (is_search or numbers.nunique() > CATEGORIES)
    return numbers.reindex(texts.index) if is_axis else None


def by_number(comparison: Comparison, values: Mapping[Setting, float], colours: Colours, score: str) -> list:
    """A point for each setting and seed over a key that has many numbers."""
    x, y, about, points = [], [], [], []
    for setting in comparison.settings:
        for mean in seed_means(setting, score):
            x.append(values[setting])
            y.append(mean)
            about.append(escape(setting.label) + marks(setting, score))
            points.append(colours[setting])
    style = {"mode": "markers", "marker": {"color": points, "size": 9}}
    hover = f"%{{text}}<br>%{{y:{comparison.formats[score].removeprefix('z')}}}<extra></extra>"
    return [go.Scatter(x=x, y=y, text=about, hovertemplate=hover, **style)]


def seed_means(setting: Setting, score: str) -> list[float]:
    """A setting's value for each seed; [] without the score."""
    return setting.groups[score].values if score in setting.groups else []


def best_so_far(comparison: Comparison, score: str) -> list:
    """The score of each trial, and for each search the best until then."""
    trials = [setting.trial for setting in comparison.settings if setting.trial and score in setting.trial.run.metrics]
    trials.sort(key=lambda trial: trial.number)
    number, scores = [trial.number for trial in trials], [trial.run.metrics[score] for trial in trials]
    best = min if comparison.lower_is_better(score) else max
    lines = []
    for search in sorted({trial.search for trial in trials}):
        of_search = [trial for trial in trials if trial.search == search]
        so_far = list(accumulate((trial.run.metrics[score] for trial in of_search), best))
        steps = {"mode": "lines", "line": {"shape": "hv", "color": look.SETTINGS[0]}}
        lines.append(go.Scatter(x=[trial.number for trial in of_search], y=so_far, **steps))
    return [go.Scatter(x=number, y=scores, mode="markers", marker={"color": look.GREY, "size": 8}), *lines]


def categories(texts: pd.Series) -> pd.Series:
    """A key's values, which are text, as categories: first numbers by size, then words as they appear."""

    def size(text: str) -> float:
        number = number_in(text)
        return math.inf if number is None else number

    order = sorted(dict.fromkeys(texts), key=size)
    return texts.astype(pd.CategoricalDtype(order, ordered=True))


def with_menu(traces: dict[str, list], **layout: object) -> go.Figure:
    """A figure with a menu that chooses what it shows. traces: by their name in the menu."""
    owners = [name for name, lines in traces.items() for _ in lines]
    figure = go.Figure([trace for lines in traces.values() for trace in lines], go.Layout(template=TEMPLATE, **layout))
    for trace, owner in zip(figure.data, owners, strict=True):
        trace.visible = owner == owners[0]
    buttons = [
        {"label": escape(name), "method": "update", "args": [{"visible": [owner == name for owner in owners]}]}
        for name in traces
    ]
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    menu |= {"bgcolor": look.CLEAR, "bordercolor": look.GREY}
    return figure.update_layout(updatemenus=[menu])


def by_setting(comparison: Comparison, keys: Sequence[str], colours: Colours, score: str) -> list:
    """The scores of every seed, over the values of one key or of two."""
    rows = [
        [setting, mean, marks(setting, score), *(setting.values[key] for key in keys)]
        for setting in comparison.settings
        for mean in seed_means(setting, score)
    ]
    scores = pd.DataFrame(rows, columns=["setting", "score", "mark", *keys])
    for key in keys:
        order = categories(pd.Series([setting.values[key] for setting in comparison.ranked], dtype=object)).dtype
        scores[key] = scores[key].astype(order)
    if len(keys) == 1:
        return boxes(scores, keys[0], colours)
    return [heat_map(scores, keys, comparison.formats[score], reverse=comparison.lower_is_better(score))]


def boxes(scores: pd.DataFrame, key: str, colours: Colours) -> list[go.Box]:
    """A box for each value of a key: every seed, with quartiles, mean and deviation."""
    return [
        go.Box(
            x=[escape(value) + points["mark"].max()] * len(points),
            y=points["score"],
            marker_color=colours[points["setting"].iloc[0]],
            boxmean="sd",
            boxpoints="all",
        )
        for value, points in scores.groupby(key, observed=True)
    ]


def heat_map(scores: pd.DataFrame, keys: Sequence[str], form: str, *, reverse: bool) -> go.Heatmap:
    """The means over two keys, with deviations. form: of a score. reverse: a lower score is better."""
    cells = scores.groupby([keys[1], keys[0]], observed=True)
    cells = cells.agg(mean=("score", "mean"), sd=("score", "std"), mark=("mark", "max"))
    cells["text"] = [
        f"{mean:{form}}{'' if np.isnan(sd) else f'<br>{PLUS_MINUS} {sd:{form}}'}{mark}"
        for mean, sd, mark in cells.to_numpy()
    ]
    means = cells["mean"].unstack()
    return go.Heatmap(
        z=means.to_numpy(),
        x=list(map(escape, means.columns)),
        y=list(map(escape, means.index)),
        text=cells["text"].unstack().fillna("").to_numpy(),
        texttemplate="%{text}",
        colorscale=look.HEAT,
        reversescale=reverse,
        showscale=False,
    )


def curves_of(comparison: Comparison) -> pd.DataFrame:
    """A row for each point of a metric that a run logged more than once: metric, setting, seed, step, value and run.

    setting: its place in the table. A long curve is thinned. The runs of a seed are copies, and have one curve, their
    mean. Of many runs, only the best settings' have curves.
    """
    parts = [pd.DataFrame(columns=["metric", "setting", "seed", "step", "value", "run"])]
    best_first = [(place, run) for place, setting in enumerate(comparison.ranked) for run in setting.runs]
    for place, run in best_first[:RUNS]:
        events = pd.DataFrame(run.events()).drop(columns=NO_METRICS, errors="ignore")
        names = events.columns.drop("step", errors="ignore")
        if len(names):  # a damaged file may have events without a metric
            scores = events.set_index("step").astype(float).rename_axis(columns="metric")
            points = scores.stack().dropna().reset_index(name="value")
            most = ALL_POINTS // min(RUNS, len(comparison.runs)) // len(names)
            points = thinned(points, max(2, min(POINTS, most)))
            name = escape(folder_below(run, comparison.folders))
            parts.append(points.assign(setting=place, seed=str(run.get(comparison.seed)), run=name))
    points = pd.concat(parts[1:] or parts, ignore_index=True)
    copies = points.groupby(["metric", "setting", "seed", "step"], as_index=False)
    return copies.agg({"value": "mean", "run": "first"})


def thinned(points: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most `most` points of each metric, evenly spaced, with its last point. A metric of one point is dropped."""
    curves = points.groupby("metric")["value"]
    sizes, from_end = curves.transform("size"), curves.cumcount(ascending=False)
    return points[(sizes > 1) & (from_end % np.ceil(sizes / most) == 0)]


def curve_lines(points: pd.DataFrame, comparison: Comparison, colours: Colours) -> list:
    """A line for each seed. A setting with several seeds has their mean too, as a thick line.

    The legend has the best settings, by their place in the table.
    """
    lines = []
    metric = points["metric"].iloc[0]
    for place, of_setting in points.groupby("setting"):
        setting = comparison.ranked[place]
        several = of_setting["seed"].nunique() > 1
        shared = {"mode": "lines", "line_color": colours[setting], "legendgroup": str(place), "showlegend": False}
        thin = {"line_width": 1, "opacity": 0.45} if several else {"line_width": 2.5}
        for _, of_seed in of_setting.groupby("seed"):
            about = f"{of_seed['run'].iloc[0]}<br>{escape(setting.label)}<br>%{{x}}: %{{y:.4g}}<extra></extra>"
            lines.append(go.Scatter(x=of_seed["step"], y=of_seed["value"], hovertemplate=about, **thin, **shared))
        if several:
            mean = of_setting.groupby("step")["value"].mean()
            lines.append(go.Scatter(x=mean.index, y=mean, hoverinfo="skip", line_width=2.5, **shared))
        name = f"{place + 1}: {escape(folded(setting.label))}{marks(setting, metric)}"
        lines[-1].update(name=name, legendrank=place + 1, showlegend=place < NAMED)
    return lines
