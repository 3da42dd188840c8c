"""Charts of a comparison of runs, by plotly: scores by setting, curves, parallel coordinates.

A setting has one colour in all charts, given by its value of the key that explains most of the ranking score, and one
number, its place in the table. Every label that comes from a run is escaped, as plotly obeys a few HTML tags.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from cse.record.runs import described, plain
from cse.report.comparison import Comparison
from cse.report.frame import format_short

NO_METRICS = ["event", "time", "train/step", "train/epoch"]
POINTS = 400  # of a curve; a longer one is thinned
RUNS = 100  # whose curves are drawn
ALL_POINTS = 200_000  # of a page; with many curves, each has fewer points
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#56b4e9", "#9467bd", "#7f7f7f")  # Okabe and Ito
Colours = dict[int, str]  # of each setting
NAMED = 8  # settings, the best first, whose curves are numbered
TICKS = 7  # of an axis of parallel coordinates
CLEAR, GREY = "rgba(0,0,0,0)", "#7a808a"  # transparent; a grey that is legible on white and on black
AXIS = {"gridcolor": "rgba(128,128,128,.25)", "zeroline": False, "automargin": True}
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
    by, points = str(comparison.compared_by), curves_of(comparison)
    curves = dict(list(points.groupby("metric")))
    first = [name for name in (by, "train/loss") if name in curves]
    charts: dict[str, go.Figure] = {}
    keys, colours = strongest_first(comparison) if scored else [], colours_of(comparison)
    if keys:
        names = [escape(comparison.keys[key]) for key in keys]
        charts["Score by setting"] = with_menu(
            {metric: by_setting(comparison, keys[:2], metric, colours) for metric in scored},
            xaxis={"title": names[0], "type": "category"},
            yaxis={"title": names[1], "type": "category"} if len(keys) > 1 else {},
        )
    if curves:
        metrics = dict.fromkeys([*first, *sorted(curves)])
        many = len(comparison.runs)
        title = "Curves" if many <= RUNS else f"Curves of {RUNS} of {many:,} runs, those of the best settings"
        charts[title] = with_menu(
            {metric: curve_lines(curves[metric], comparison, colours) for metric in metrics},
            xaxis_title="step",
            margin_r=40,
        )
    if keys and len(keys) + len(scored) > 2:
        charts["Parallel coordinates"] = parallel(comparison, keys, scored, colours)
    return charts


def strongest_first(comparison: Comparison) -> list[str]:
    """The keys that differ, sorted by how much of the ranking score's variance they explain, adjusted for the number of
    their values: a key with a value for each run explains nothing."""
    scores = comparison.of_seeds[comparison.compared_by]

    def unexplained(key: str) -> float:
        groups = scores.groupby([repr(comparison.value(setting, key)) for setting, _ in scores.index])
        free = scores.count() - groups.ngroups
        return float(((scores - groups.transform("mean")) ** 2).sum()) / free if free > 0 else math.inf

    return sorted(comparison.keys, key=unexplained)


def colours_of(comparison: Comparison) -> Colours:
    """The colour of each setting."""
    if not comparison.keys or comparison.compared_by is None:
        return dict.fromkeys(comparison.scores.index, COLOURS[0])
    key = strongest_first(comparison)[0]
    values = {one: format_short(comparison.value(one, key)) for one in comparison.scores.index}
    order = in_order(comparison.value(one, key) for one in values)
    many = len(order) > len(COLOURS)
    colours = sample_colorscale("Viridis", np.linspace(0.1, 0.9, len(order))) if many else COLOURS
    return {one: colours[order.index(value)] for one, value in values.items()}


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


def by_setting(comparison: Comparison, keys: Sequence[str], metric: str, colours: Colours) -> list:
    """For one key, every seed with quartiles, mean and deviation; for two, a heat map of means, with deviations."""
    scores = comparison.of_seeds[metric].dropna()
    settings = [setting for setting, _ in scores.index]
    columns = [[comparison.value(setting, key) for setting in settings] for key in keys]
    texts = [pd.Series([format_short(value) for value in values], scores.index) for values in columns]
    orders = [in_order(values) for values in columns]
    altered = pd.Series([comparison.mark(metric, setting) for setting in settings], scores.index)
    if len(keys) == 1:
        marks = {"boxmean": "sd", "boxpoints": "all"}
        colour = dict(zip(texts[0], (colours[setting] for setting in settings), strict=True))
        boxes = {one: scores[texts[0] == one] for one in orders[0]}
        names = {one: escape(one) + altered[texts[0] == one].max() for one in boxes}
        return [go.Box(x=[names[one]] * len(of), y=of, marker_color=colour[one], **marks) for one, of in boxes.items()]
    by = [texts[1], texts[0]]
    cells = scores.groupby(by).agg(["mean", "std"]).assign(mark=altered.groupby(by).max())
    cells["text"] = [
        f"{mean:.2f}{'' if np.isnan(sd) else f'<br>± {sd:.2f}'}{mark}" for mean, sd, mark in cells.to_numpy()
    ]
    means, written = (cells[name].unstack().reindex(index=orders[1], columns=orders[0]) for name in ("mean", "text"))
    return [
        go.Heatmap(
            z=means.to_numpy(),
            x=list(map(escape, orders[0])),
            y=list(map(escape, orders[1])),
            text=written.fillna("").to_numpy(),
            texttemplate="%{text}",
            colorscale="Cividis",
            reversescale=described(comparison.runs, metric).lower_is_better,
            showscale=False,
        )
    ]


def in_order(values: Iterable[object]) -> list[str]:
    """The distinct values as text: first numbers by size, then words in their order of appearance."""
    known = {format_short(value): plain(value) for value in values}
    return sorted(known, key=lambda text: known[text] if isinstance(known[text], float) else math.inf)


def parallel(comparison: Comparison, keys: Sequence[str], metrics: Sequence[str], colours: Colours) -> go.Figure:
    """A line for each setting through its values and scores. Ticks lie above the lines, on their own background."""
    scores = comparison.scores.loc[comparison.scores[comparison.compared_by, "mean"].notna()]
    names, heights, ticks = [*(comparison.keys[key] for key in keys), *metrics], [], []
    for place, name in enumerate([*keys, *metrics]):
        if place < len(keys):
            chosen = [comparison.value(setting, name) for setting in scores.index]
            order = in_order(chosen)
            values = np.array([order.index(format_short(value)) for value in chosen], float)
            marks = list(enumerate(order))[:: math.ceil(len(order) / TICKS)]
        else:
            values = scores[name, "mean"].to_numpy(float)
            marks = [(one, f"{one:.2f}") for one in np.linspace(np.nanmin(values), np.nanmax(values), 4)]
        low, high = np.nanmin(values), np.nanmax(values)
        width = high - low or 1.0
        heights.append((values - low) / width)
        ticks += [(place, (at - low) / width, text) for at, text in marks]
    lines = [
        go.Scatter(x=list(range(len(names))), y=of, line={"color": colours[setting], "width": 2.5},
                   text=escape(comparison.label(setting)), hoverinfo="text")
        for of, setting in zip(np.transpose(heights), scores.index, strict=True)
    ]  # fmt: skip
    figure = go.Figure(lines[::-1], go.Layout(template=TEMPLATE, margin_t=90, yaxis_visible=False))
    figure.update_xaxes(
        side="top",
        tickvals=list(range(len(names))),
        ticktext=[escape(name).replace("/", "/<br>") + comparison.mark(name, *scores.index) for name in names],
    )
    for x, y, text in ticks:
        figure.add_annotation(
            x=x, y=y, text=escape(text), showarrow=False, bgcolor="#5d636d", font={"color": "white", "size": 12}
        )
    return figure


def curves_of(comparison: Comparison) -> pd.DataFrame:
    """Everything that runs logged more than once, thinned: metric, setting, seed, step, value and run of each point.

    A seed's runs, which are copies, have one curve, their mean. If the runs are many, those of the best settings.
    """
    parts = [pd.DataFrame(columns=["run", "setting", "seed", "metric", "step", "value"])]
    best_first = ((run, setting) for setting in comparison.scores.index for run in comparison.runs_by_setting[setting])
    for run, setting in islice(best_first, RUNS):
        events = pd.DataFrame(run.events()).drop(columns=NO_METRICS, errors="ignore")
        if len(events):
            scores = events.set_index("step").astype(float).rename_axis(columns="metric")
            points = scores.stack().dropna().reset_index(name="value")
            names = {"run": escape(comparison.name(run)), "setting": setting, "seed": str(run.get(comparison.seed))}
            parts.append(thinned(points, POINTS, ["metric"]).assign(**names))
    points = pd.concat(parts[1:] or parts, ignore_index=True)
    curves = points.groupby(["metric", "run"]).ngroups
    points = thinned(points, max(2, ALL_POINTS // max(1, curves)), ["metric", "run"])
    copies = points.groupby(["metric", "setting", "seed", "step"], as_index=False)
    return copies.agg({"value": "mean", "run": "first"})


def thinned(points: pd.DataFrame, most: int, curve: list[str]) -> pd.DataFrame:
    """At most `most` points of each curve, evenly spaced, with its last one. A curve of one point is dropped.

    curve: the columns that identify a curve.
    """
    curves = points.groupby(curve)["value"]
    sizes, from_end = curves.transform("size"), curves.cumcount(ascending=False)
    return points[(sizes > 1) & (from_end % np.ceil(sizes / most) == 0)]


def curve_lines(points: pd.DataFrame, comparison: Comparison, colours: Colours) -> list:
    """A line for each seed, and for a setting with several seeds their mean as a thick line; at its end the setting's
    place in the table."""
    lines, ends = [], {}
    metric = points["metric"].iloc[0]
    for setting, of in points.groupby("setting"):
        several = of["seed"].nunique() > 1
        for _, own in of.groupby("seed"):
            line = {"color": colours[setting], "width": 1 if several else 2.5}
            about = f"{own['run'].iloc[0]}<br>{escape(comparison.label(setting))}<br>%{{x}}: %{{y:.4g}}<extra></extra>"
            lines.append(
                go.Scatter(x=own["step"], y=own["value"], mode="lines", line=line, hovertemplate=about,
                           opacity=0.45 if several else 1)
            )  # fmt: skip
        mean = of.groupby("step")["value"].mean()
        if several:
            line = {"color": colours[setting], "width": 2.5}
            lines.append(go.Scatter(x=mean.index, y=mean, mode="lines", line=line, hoverinfo="skip"))
        ends[setting] = mean.index[-1], mean.iloc[-1]
    named = {setting: str(place) for place, setting in enumerate(comparison.scores.index[:NAMED], 1) if setting in ends}
    apart = 0.05 * float(points["value"].max() - points["value"].min())
    lowest = -math.inf
    for setting in sorted(named, key=lambda setting: ends[setting][1]):
        x, y = ends[setting]
        lowest = max(y, lowest + apart)  # so that numbers do not overlap
        text = f" <b>{named[setting]}</b>{comparison.mark(metric, setting)}"
        place = {"x": [x], "y": [lowest], "text": [text], "textfont_color": colours[setting]}
        lines.append(go.Scatter(place, mode="text", textposition="middle right", cliponaxis=False, hoverinfo="skip"))
    return lines
