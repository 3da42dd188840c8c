"""Charts of a comparison of runs, by plotly: scores by setting, and curves.

A setting has one colour in all charts, and one number, its place in the table. Every label that comes from a run is
escaped, as plotly obeys a few HTML tags.
"""

import math
from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from cse.lab.folder.runs import described, number_in
from cse.lab.report.comparison import Comparison
from cse.lab.report.frame import folded
from cse.lab.report.group import listed
from cse.lab.report.markup import PLUS_MINUS

NO_METRICS = ["event", "time", "train/step", "train/epoch"]
POINTS = 400  # of a curve; a longer one is thinned
RUNS = 100  # whose curves are drawn
ALL_POINTS = 200_000  # of a page; with many curves, each has fewer points
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#56b4e9", "#9467bd", "#7f7f7f")  # Okabe and Ito
NAMED = 8  # settings, the best first, whose curves are numbered
CATEGORIES = 7  # values of a key; if more are numbers, they are an axis
TRAINING = {"Training loss": "train/loss", "Learning rate": "train/lr", "Gradient norm": "train/grad_norm"}
LEGEND = {"orientation": "h", "yanchor": "top", "y": -0.25, "xanchor": "left", "x": 0}
CLEAR, GREY = "rgba(0,0,0,0)", "#7a808a"  # transparent; a grey that is legible on white and on black
AXIS = {"gridcolor": "rgba(128,128,128,.25)", "zeroline": False, "automargin": True, "exponentformat": "e"}
TEMPLATE = go.layout.Template(
    layout={
        "height": 440, "margin": {"t": 60, "r": 20, "l": 50, "b": 50}, "showlegend": False, "colorway": COLOURS,
        "paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": {"size": 13, "color": GREY},
        "xaxis": AXIS, "yaxis": AXIS,
    }
)  # fmt: skip


def draw_charts(comparison: Comparison) -> dict[str, go.Figure]:
    """{title: chart}, of those that have data."""
    scored = [metric for metric in comparison.chosen if comparison.scores[metric, "mean"].notna().any()]
    colours, points = colours_of(comparison), curves_of(comparison)
    keys = list(comparison.values) if scored else []
    charts: dict[str, go.Figure] = {}
    is_search = comparison.frame["trial"].any()
    axes = {key: axis for key in keys if (axis := as_axis(comparison.values[key], is_search)) is not None}
    for key, values in axes.items():
        is_log = values.min() > 0 and values.max() >= 10 * values.min()
        charts[f"Score by {escape(comparison.keys[key])}"] = with_menu(
            {metric: by_number(comparison, values, colours, metric) for metric in scored},
            xaxis={"title": escape(comparison.keys[key]), "type": "log" if is_log else "linear"},
        )
    if is_search:
        selecting = [metric for metric in scored if metric == comparison.best_by]
        so_far = {metric: best_so_far(comparison, metric) for metric in dict.fromkeys([*selecting, *scored])}
        charts["Best so far"] = with_menu(so_far, xaxis_title="trial")
    if others := [key for key in keys if key not in axes][:2]:
        names = [escape(comparison.keys[key]) for key in others]
        joined = [escape(comparison.keys[key]) for key in keys if key not in others]
        charts["Score by setting" + f", over all {listed(joined)}" * bool(joined)] = with_menu(
            {metric: by_setting(comparison, others, colours, metric) for metric in scored},
            xaxis={"title": names[0], "type": "category"},
            yaxis={"title": names[1], "type": "category"} if len(names) > 1 else {},
        )
    if curves := dict(list(points.groupby("metric"))):
        for title, name in TRAINING.items():
            if name in curves:
                lines = curve_lines(curves.pop(name), comparison, colours)
                charts[title] = go.Figure(lines, go.Layout(template=TEMPLATE, xaxis_title="step"))
        first = [name for name in (comparison.best_by, comparison.compared_by) if name in curves]
        many = len(comparison.frame)
        title = "Curves" if many <= RUNS else f"Curves of {RUNS} of {many:,} runs, those of the best settings"
        rest = {name: curve_lines(curves[name], comparison, colours) for name in dict.fromkeys([*first, *curves])}
        if rest:
            charts[title] = with_menu(rest, xaxis_title="step", showlegend=True, legend=LEGEND)
    return charts


def colours_of(comparison: Comparison) -> pd.Series:
    """The colour of each setting, in the order of the table."""
    settings = comparison.scores.index
    few, many = COLOURS[: len(settings)], np.linspace(0.1, 0.9, len(settings))
    return pd.Series(few if len(few) == len(settings) else sample_colorscale("Viridis", many), settings, dtype=object)


def as_axis(texts: pd.Series, is_search: bool) -> pd.Series | None:
    """A key's values, which some runs may lack, if they are numbers, of a search or too many to be categories."""
    numbers = pd.to_numeric(texts[texts != ""], errors="coerce")
    is_axis = numbers.notna().all() and (is_search or numbers.nunique() > CATEGORIES)
    return numbers.reindex(texts.index) if is_axis else None


def by_number(comparison: Comparison, values: pd.Series, colours: pd.Series, metric: str) -> list:
    """A point for each setting and seed over a key that has many numbers."""
    scores = comparison.of_seeds[metric].dropna()
    places = scores.index.get_level_values(0)
    about = [escape(comparison.label(setting)) + comparison.mark(metric, setting) for setting in places]
    style = {"mode": "markers", "marker": {"color": list(colours[places]), "size": 9}}
    hover = f"%{{text}}<br>%{{y:{comparison.formats[metric].removeprefix('z')}}}<extra></extra>"
    return [go.Scatter(x=values[places], y=scores, text=about, hovertemplate=hover, **style)]


def best_so_far(comparison: Comparison, metric: str) -> list:
    """The score of each trial, and for each search the best until then."""
    trials = comparison.frame[comparison.frame["trial"] > 0].sort_values("trial").dropna(subset=metric)
    scores = trials[metric].astype(float)
    each = scores.groupby(trials["search"])
    best = each.cummin() if described(comparison.frame["run"], metric).lower_is_better else each.cummax()
    lines = [
        go.Scatter(x=trials["trial"][of.index], y=of, mode="lines", line={"shape": "hv", "color": COLOURS[0]})
        for _, of in best.groupby(trials["search"])
    ]
    return [go.Scatter(x=trials["trial"], y=scores, mode="markers", marker={"color": GREY, "size": 8}), *lines]


def categories(texts: pd.Series) -> pd.Series:
    """A key's values, which are text, as categories: first numbers by size, then words as they appear."""
    known = {text: number_in(text) for text in texts}
    order = sorted(known, key=lambda text: math.inf if (number := known[text]) is None else number)
    return texts.astype(pd.CategoricalDtype(order, ordered=True))


def with_menu(traces: dict[str, list], **layout: object) -> go.Figure:
    """A figure with a menu that chooses what it shows. traces: by their name in the menu."""
    owners = [name for name, of in traces.items() for _ in of]
    figure = go.Figure([trace for of in traces.values() for trace in of], go.Layout(template=TEMPLATE, **layout))
    for trace, owner in zip(figure.data, owners, strict=True):
        trace.visible = owner == owners[0]
    buttons = [
        {"label": escape(name), "method": "update", "args": [{"visible": [owner == name for owner in owners]}]}
        for name in traces
    ]
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    menu |= {"bgcolor": CLEAR, "bordercolor": GREY}
    return figure.update_layout(updatemenus=[menu])


def by_setting(comparison: Comparison, keys: Sequence[str], colours: pd.Series, metric: str) -> list:
    """For one key, every seed with quartiles, mean and deviation; for two, a heat map of means, with deviations."""
    scores = comparison.of_seeds[metric].dropna().rename("score").droplevel(1).rename_axis("setting").reset_index()
    scores = scores.join(comparison.values[keys].apply(categories), on="setting")
    scores["mark"] = [comparison.mark(metric, setting) for setting in scores["setting"]]
    if len(keys) == 1:
        return [
            go.Box(
                x=[escape(value) + of["mark"].max()] * len(of),
                y=of["score"],
                marker_color=colours[of["setting"].iloc[0]],
                boxmean="sd",
                boxpoints="all",
            )
            for value, of in scores.groupby(keys[0], observed=True)
        ]
    form = comparison.formats[metric]
    cells = scores.groupby([keys[1], keys[0]], observed=True)
    cells = cells.agg(mean=("score", "mean"), sd=("score", "std"), mark=("mark", "max"))
    cells["text"] = [
        f"{mean:{form}}{'' if np.isnan(sd) else f'<br>{PLUS_MINUS} {sd:{form}}'}{mark}"
        for mean, sd, mark in cells.to_numpy()
    ]
    means = cells["mean"].unstack()
    return [
        go.Heatmap(
            z=means.to_numpy(),
            x=list(map(escape, means.columns)),
            y=list(map(escape, means.index)),
            text=cells["text"].unstack().fillna("").to_numpy(),
            texttemplate="%{text}",
            colorscale="Cividis",
            reversescale=described(comparison.frame["run"], metric).lower_is_better,
            showscale=False,
        )
    ]


def curves_of(comparison: Comparison) -> pd.DataFrame:
    """Everything that runs logged more than once, thinned: metric, setting, seed, step, value and run of each point.

    A seed's runs, which are copies, have one curve, their mean. If the runs are many, those of the best settings.
    """
    parts = [pd.DataFrame(columns=["metric", "setting", "seed", "step", "value", "run"])]
    best_first = comparison.frame.set_index("setting").loc[comparison.scores.index, ["run", "name"]]
    for setting, run, name in best_first.head(RUNS).itertuples():
        events = pd.DataFrame(run.events()).drop(columns=NO_METRICS, errors="ignore")
        if len(events):
            scores = events.set_index("step").astype(float).rename_axis(columns="metric")
            points = scores.stack().dropna().reset_index(name="value")
            most = ALL_POINTS // min(RUNS, len(comparison.frame)) // scores.shape[1]
            points = thinned(points, max(2, min(POINTS, most)))
            names = {"setting": setting, "seed": str(run.get(comparison.seed)), "run": escape(name)}
            parts.append(points.assign(**names))
    points = pd.concat(parts[1:] or parts, ignore_index=True)
    copies = points.groupby(["metric", "setting", "seed", "step"], as_index=False)
    return copies.agg({"value": "mean", "run": "first"})


def thinned(points: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most `most` points of each metric, evenly spaced, with its last one. A metric of one point is dropped."""
    curves = points.groupby("metric")["value"]
    sizes, from_end = curves.transform("size"), curves.cumcount(ascending=False)
    return points[(sizes > 1) & (from_end % np.ceil(sizes / most) == 0)]


def curve_lines(points: pd.DataFrame, comparison: Comparison, colours: pd.Series) -> list:
    """A line for each seed, and for a setting with several seeds their mean as a thick line. The legend has the best
    settings, by their place in the table."""
    lines = []
    metric = points["metric"].iloc[0]
    for setting, of in points.groupby("setting"):
        several = of["seed"].nunique() > 1
        shared = {"mode": "lines", "line_color": colours[setting], "legendgroup": str(setting), "showlegend": False}
        thin = {"line_width": 1, "opacity": 0.45} if several else {"line_width": 2.5}
        for _, own in of.groupby("seed"):
            about = f"{own['run'].iloc[0]}<br>{escape(comparison.label(setting))}<br>%{{x}}: %{{y:.4g}}<extra></extra>"
            lines.append(go.Scatter(x=own["step"], y=own["value"], hovertemplate=about, **thin, **shared))
        if several:
            mean = of.groupby("step")["value"].mean()
            lines.append(go.Scatter(x=mean.index, y=mean, hoverinfo="skip", line_width=2.5, **shared))
        place = comparison.scores.index.get_loc(setting) + 1
        name = f"{place}: {escape(folded(comparison.label(setting)))}{comparison.mark(metric, setting)}"
        lines[-1].update(name=name, legendrank=place, showlegend=place <= NAMED)
    return lines
