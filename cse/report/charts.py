"""The charts of a comparison of runs, by plotly: scores by setting, curves, two scores, parallel coordinates.

Everything of a run that becomes a label is escaped: plotly reads a few HTML tags.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from cse.eval.score import nature
from cse.report.comparison import Comparison
from cse.report.frame import brief

COUNTERS = ("step", "time", "train/step", "train/epoch")
POINTS = 400  # of a curve; a longer one is thinned
RUNS = 100  # whose curves are drawn
ALL_POINTS = 200_000  # of a page; where there are more curves, each has fewer
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#56b4e9", "#1c1e21", "#7f7f7f")  # Okabe and Ito
HEIGHT, MARGIN = 420, {"t": 60, "r": 20}  # pixels


def draw_charts(comparison: Comparison) -> dict[str, go.Figure]:
    """The charts that have data, by their titles."""
    scored = [metric for metric in comparison.chosen if comparison.scores[metric, "mean"].notna().any()]
    by, points = str(comparison.best_by), curves_of(comparison)
    curves = dict(list(points.groupby("metric")))
    first = [name for name in (by, "train/loss") if name in curves]
    others = [metric for metric in scored if metric != by]
    charts: dict[str, go.Figure] = {}
    if comparison.keys and scored:
        names = [*map(escape, comparison.keys.values()), None]
        charts["Score by setting"] = with_menu(
            {metric: by_setting(comparison, metric) for metric in scored},
            xaxis={"title": names[0], "type": "category"},
            yaxis={"title": names[1], "type": "category"} if len(comparison.keys) > 1 else {},
        )
    if curves:
        metrics = dict.fromkeys([*first, *sorted(curves)])
        many = len(comparison.runs)
        title = "Curves" if many <= RUNS else f"Curves of {RUNS} of {many:,} runs, those of the best settings"
        charts[title] = with_menu({metric: curve_lines(curves[metric]) for metric in metrics}, xaxis_title="step")
    if others:
        pairs = {metric: [setting_points(comparison, metric, by)] for metric in others}
        charts[f"{by}, over another score"] = with_menu(pairs, yaxis_title=escape(by))
    if comparison.keys and scored:
        charts["Parallel coordinates"] = go.Figure(
            parallel(comparison, scored, by), layout_of(margin={"t": 90, "r": 90})
        )
    return charts


def layout_of(**more: object) -> go.Layout:
    """A chart's layout: what all charts share, and more."""
    return go.Layout({"template": "plotly_white", "height": HEIGHT, "colorway": COLOURS, "margin": MARGIN, **more})


def with_menu(traces: dict[str, list], **layout: object) -> go.Figure:
    """A figure with a menu of what it shows. traces: by the name in the menu."""
    owners = [name for name, of in traces.items() for _ in of]
    figure = go.Figure([trace for of in traces.values() for trace in of], layout_of(**layout))
    for trace, owner in zip(figure.data, owners, strict=True):
        trace.visible = owner == owners[0]
    buttons = [
        {"label": escape(name), "method": "update", "args": [{"visible": [owner == name for owner in owners]}]}
        for name in traces
    ]
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    return figure.update_layout(updatemenus=[menu])


def by_setting(comparison: Comparison, metric: str) -> list:
    """Of one key every run, with quartiles, mean and deviation; of several the means over the first two, a heat map."""
    scores = pd.to_numeric(comparison.frame[metric])
    columns = [[run.get(key) for run in comparison.runs] for key in list(comparison.keys)[:2]]
    texts = [pd.Series([brief(value) for value in values]) for values in columns]
    orders = [in_order(values) for values in columns]
    if len(columns) == 1:
        order = texts[0].map(orders[0].index).argsort(kind="stable")
        return [go.Box(x=escaped(texts[0][order]), y=scores[order], boxmean="sd", boxpoints="all", name="runs")]
    cells = scores.groupby([texts[1], texts[0]]).mean().unstack().reindex(index=orders[1], columns=orders[0])
    return [
        go.Heatmap(
            z=cells.to_numpy(),
            x=escaped(orders[0]),
            y=escaped(orders[1]),
            texttemplate="%{z:.2f}",
            colorscale="Cividis",
            reversescale=nature(metric).lower_is_better,
        )
    ]


def escaped(texts: Iterable[str]) -> list[str]:
    """The texts as plotly shows them letter by letter."""
    return [escape(text) for text in texts]


def in_order(values: Iterable[object]) -> list[str]:
    """The distinct values as text: numbers by size, after them words as they come up."""
    known = {brief(value): value for value in values}
    return sorted(known, key=lambda text: known[text] if is_number(known[text]) else math.inf)  # type: ignore[arg-type, return-value]


def is_number(value: object) -> bool:
    """Whether a value is a number, and not a switch."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def setting_points(comparison: Comparison, across: str, up: str) -> go.Scatter:
    """A point for each setting at its means of two scores."""
    x, y = (comparison.scores[name, "mean"] for name in (across, up))
    labels = escaped(map(comparison.label, comparison.scores.index))
    return go.Scatter(x=x, y=y, text=labels, mode="markers", marker_size=10)


def parallel(comparison: Comparison, metrics: Sequence[str], by: str) -> go.Parcoords:
    """A line for each setting through its values and its scores, coloured by the score that ranks."""
    runs = [comparison.runs_of(setting)[0] for setting in comparison.scores.index]
    axes: list[dict[str, object]] = []
    for key, name in comparison.keys.items():
        values = [run.get(key) for run in runs]
        texts = in_order(values)
        places = [texts.index(brief(value)) for value in values]
        axes.append(
            {"label": escape(name), "values": places, "tickvals": list(range(len(texts))), "ticktext": escaped(texts)}
        )
    axes += [{"label": escape(metric), "values": comparison.scores[metric, "mean"]} for metric in metrics]
    line = {
        "color": comparison.scores[by, "mean"],
        "colorscale": "Cividis",
        "reversescale": nature(by).lower_is_better,
    }
    return go.Parcoords(dimensions=axes, line=line, labelangle=-15)


def curves_of(comparison: Comparison) -> pd.DataFrame:
    """Everything that a run logged more than once, thinned: a row a point, its run, setting, metric, step and value.

    Of many runs, those of the best settings.
    """
    parts = [pd.DataFrame(columns=["run", "setting", "metric", "step", "value"])]
    best_first = ((run, setting) for setting in comparison.scores.index for run in comparison.runs_of(setting))
    for run, setting in islice(best_first, RUNS):
        events = pd.DataFrame(run.events())
        metrics = [name for name in events if name not in (*COUNTERS, "event")]
        if metrics:
            points = events.melt("step", metrics, "metric")
            points["value"] = pd.to_numeric(points["value"], errors="coerce")
            names = {"run": escape(comparison.name(run)), "setting": escape(comparison.label(setting))}
            parts.append(thinned(points.dropna(), POINTS, ["metric"]).assign(**names))
    points = pd.concat(parts[1:] or parts, ignore_index=True)
    curves = points.groupby(["metric", "run"]).ngroups
    return thinned(points, max(2, ALL_POINTS // max(1, curves)), ["metric", "run"])


def thinned(points: pd.DataFrame, most: int, curve: list[str]) -> pd.DataFrame:
    """Every so many points of each curve, the last among them, so that at most `most` are left; no curve of one point.

    curve: the columns that tell curves apart.
    """
    curves = points.groupby(curve)["value"]
    sizes, from_end = curves.transform("size"), curves.cumcount(ascending=False)
    return points[(sizes > 1) & (from_end % np.ceil(sizes / most) == 0)]


def curve_lines(points: pd.DataFrame) -> list:
    """A line for each run, the colour and the legend for its setting."""
    figure = px.line(
        points,
        x="step",
        y="value",
        color="setting",
        line_group="run",
        hover_name="run",
        color_discrete_sequence=COLOURS,
        render_mode="svg",
    )
    return list(figure.data)
