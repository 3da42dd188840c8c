"""The charts of a page, by plotly: scores of settings, and curves of runs.

To read: `draw_charts`, and below it a function for each chart: `chart_by_number`, `chart_of_search`, `box_chart`,
`heat_map`, `curve_charts`. A setting has the same colour in all charts. Every label that comes from a run is escaped,
as plotly obeys a few HTML tags.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cse.lab.report.any_runs.comparison import Comparison, Key, Setting
from cse.lab.report.any_runs.names import folder_below
from cse.lab.report.any_runs.settings_table import marks
from cse.lab.report.formats import first_few, folded
from cse.lab.report.show import look
from cse.lab.report.show.look import PLUS_MINUS
from cse.lab.settings.values import number_in

NO_METRICS = ["event", "time", "train/step", "train/epoch"]
POINTS = 400  # of a curve; a longer curve is thinned
RUNS = 100  # whose curves are drawn
ALL_POINTS = 200_000  # of a page; with many curves, each has fewer points
NAMED = 8  # settings, the best first, whose curves have a name in the legend, a band and their seeds on hover
CATEGORIES = 7  # values of a key; if more are numbers, they are an axis
TRAINING = {"Training loss": "train/loss", "Learning rate": "train/lr", "Gradient norm": "train/grad_norm"}
LEGEND = {"yanchor": "top", "y": 1, "xanchor": "left", "x": 1.02}  # at the right of the chart
AXIS = {"gridcolor": look.GRID, "zeroline": False, "automargin": True, "exponentformat": "e"}
TEMPLATE = go.layout.Template(
    layout={
        "height": look.CHART_HEIGHT, "margin": {"t": 20, "r": 20, "l": 50, "b": 50},
        "showlegend": False, "colorway": look.SETTINGS,
        "paper_bgcolor": look.CLEAR, "plot_bgcolor": look.CLEAR, "font": {"size": look.CHART_FONT, "color": look.GREY},
        "xaxis": AXIS, "yaxis": AXIS,
    }
)  # fmt: skip


def draw_charts(comparison: Comparison) -> dict[str, go.Figure]:
    """{title: chart} of all charts that have data."""
    scored = [name for name in comparison.scores.shown if any(name in setting.means for setting in comparison.settings)]
    charts = score_charts(comparison, scored) if scored else {}
    return charts | curve_charts(comparison)


def score_charts(comparison: Comparison, scored: Sequence[str]) -> dict[str, go.Figure]:
    """{title: chart} of scores: over each key of many numbers, over a search's trials, and over the other keys."""
    charts: dict[str, go.Figure] = {}
    categorical = []
    is_search = any(setting.trial for setting in comparison.settings)
    for key in comparison.keys:
        numbers = as_axis(comparison, key, is_search)
        if numbers is None:
            categorical.append(key)
        else:
            charts[f"Score by {escape(key.short)}"] = chart_by_number(comparison, key, numbers, scored)
    if is_search:
        charts["Best so far"] = chart_of_search(comparison, scored)
    if categorical:
        drawn = categorical[:2]
        joined = [escape(key.short) for key in comparison.keys if key not in drawn]
        title = f"Score by setting, over all {first_few(joined)}" if joined else "Score by setting"
        draw = heat_map if len(drawn) > 1 else box_chart
        charts[title] = draw(comparison, *drawn, scored=scored)
    return charts


def as_axis(comparison: Comparison, key: Key, is_search: bool) -> dict[Setting, float] | None:
    """Each setting's number at a key, NaN if it has none; None if the values are words, or few enough for categories.

    The numbers of a search are always an axis.
    """
    texts = pd.Series([setting.values[key.dotted] for setting in comparison.ranked])
    numbers = pd.to_numeric(texts[texts != ""], errors="coerce")
    is_axis = numbers.notna().all() and (is_search or numbers.nunique() > CATEGORIES)
    return dict(zip(comparison.ranked, numbers.reindex(texts.index), strict=True)) if is_axis else None


def chart_by_number(
    comparison: Comparison, key: Key, numbers: Mapping[Setting, float], scored: Sequence[str]
) -> go.Figure:
    """A point for each seed of each setting, over the numbers at a key."""
    colours, traces = colours_of(comparison), {}
    for score in scored:
        points = seeds_of(comparison, score)
        hover = f"%{{text}}<br>%{{y:{comparison.formats[score].removeprefix('z')}}}<extra></extra>"
        traces[score] = [
            go.Scatter(
                x=[numbers[setting] for setting in points["setting"]],
                y=list(points["score"]),
                text=[escape(setting.label) + marks([setting], score) for setting in points["setting"]],
                hovertemplate=hover,
                mode="markers",
                marker={"color": [colours[setting] for setting in points["setting"]], "size": 9},
            )
        ]
    known = [number for number in numbers.values() if not math.isnan(number)]
    is_log = min(known) > 0 and max(known) >= 10 * min(known)
    return with_menu(traces, {"xaxis": {"title": escape(key.short), "type": "log" if is_log else "linear"}})


def chart_of_search(comparison: Comparison, scored: Sequence[str]) -> go.Figure:
    """The score of each trial, and for each search a line of the best until then. The score that selects is first."""
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
    return with_menu(traces, {"xaxis_title": "trial"})


def box_chart(comparison: Comparison, key: Key, *, scored: Sequence[str]) -> go.Figure:
    """A box for each value of a key: every seed, with quartiles, mean and deviation."""
    colours, traces = colours_of(comparison), {}
    for score in scored:
        traces[score] = [
            go.Box(
                x=[escape(value) + marks(points["setting"], score)] * len(points),
                y=points["score"],
                marker_color=colours[points["setting"].iloc[0]],
                boxmean="sd",
                boxpoints="all",
            )
            for value, points in seeds_of(comparison, score, [key]).groupby(key.dotted, observed=True)
        ]
    return with_menu(traces, {"xaxis": {"title": escape(key.short), "type": "category"}})


def heat_map(comparison: Comparison, across: Key, down: Key, *, scored: Sequence[str]) -> go.Figure:
    """The mean of each score over the values of two keys, with its deviation."""
    traces = {score: [heat_map_of(comparison, across, down, score)] for score in scored}
    rows = len({setting.values[down.dotted] for setting in comparison.settings})
    layout: dict[str, object] = {
        "xaxis": {"title": escape(across.short), "type": "category", "showgrid": False},
        "yaxis": {"title": escape(down.short), "type": "category", "showgrid": False},
        "height": min(look.CHART_HEIGHT, look.CHART_MARGINS + rows * look.CHART_ROW),
    }
    return with_menu(traces, layout, is_y_the_score=False)


def heat_map_of(comparison: Comparison, across: Key, down: Key, score: str) -> go.Heatmap:
    """The heat map of one score."""
    form = comparison.formats[score]
    cells = seeds_of(comparison, score, [across, down]).groupby([down.dotted, across.dotted], observed=True)
    cells = cells.agg(mean=("score", "mean"), sd=("score", "std"), n=("score", "size"), settings=("setting", list))
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
        colorbar_title_text=escape(score),
        xgap=2,
        ygap=2,
    )


def seeds_of(comparison: Comparison, score: str, keys: Sequence[Key] = ()) -> pd.DataFrame:
    """A row for each seed of each setting that has the score: setting, score, and the setting's value at these keys.

    The values of a key are categories: first numbers by size, then words in the order of the table.
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
    """The number that a text is; infinity for words."""
    number = number_in(text)
    return math.inf if number is None else number


def colours_of(comparison: Comparison) -> dict[Setting, str]:
    """The colour of each setting."""
    return dict(zip(comparison.ranked, look.setting_colours(len(comparison.ranked)), strict=True))


def with_menu(
    traces: Mapping[str, Sequence[go.Scatter | go.Box | go.Heatmap]],
    layout: Mapping[str, object],
    *,
    is_y_the_score: bool = True,
) -> go.Figure:
    """A figure with a menu that chooses the score that it shows. traces: by score."""
    owners = [name for name, lines in traces.items() for _ in lines]
    figure = go.Figure([trace for lines in traces.values() for trace in lines], go.Layout(template=TEMPLATE, **layout))
    for trace, owner in zip(figure.data, owners, strict=True):
        trace.visible = owner == owners[0]
    buttons = []
    for name in traces:
        titles = {"yaxis.title.text": escape(name)} if is_y_the_score else {}
        shown = {"visible": [owner == name for owner in owners]}
        buttons.append({"label": escape(name), "method": "update", "args": [shown, titles]})
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    menu |= {"bgcolor": look.CLEAR, "bordercolor": look.GREY}
    if is_y_the_score:
        figure.update_layout(yaxis_title=escape(owners[0]))
    return figure.update_layout(updatemenus=[menu], margin_t=60)


def curve_charts(comparison: Comparison) -> dict[str, go.Figure]:
    """{title: chart} of what runs logged more than once: a chart for each of TRAINING, and a chart of all scores."""
    names = ", ".join(key.short for key in comparison.keys if key.in_label)
    about: dict[str, object] = {
        "xaxis_title": "step",
        "showlegend": True,
        "legend": LEGEND | {"title": {"text": escape(names)}},
    }
    points = dict(list(curves_of(comparison).groupby("metric")))
    lines = {metric: curve_lines(of_metric, comparison) for metric, of_metric in points.items()}
    charts: dict[str, go.Figure] = {}
    for title, metric in TRAINING.items():
        if metric in lines:
            layout = go.Layout(template=TEMPLATE, yaxis_title=title, **about)
            charts[title] = go.Figure(lines.pop(metric), layout)
    if lines:
        first = [name for name in (comparison.scores.best_by, comparison.scores.leading) if name in lines]
        many = len(comparison.runs)
        title = "Curves" if many <= RUNS else f"Curves of {RUNS} of {many:,} runs, those of the best settings"
        charts[title] = with_menu({name: lines[name] for name in dict.fromkeys([*first, *lines])}, about)
    return charts


def curves_of(comparison: Comparison) -> pd.DataFrame:
    """The points of every metric that a run logged more than once: metric, setting, seed, step, value, run.

    setting: its place in the table. A long curve is thinned. Copies of a run have one curve, their mean. Of many runs,
    only runs of the best settings have curves.
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
            parts.append(points.assign(setting=place, seed=str(run.get(comparison.seed_key)), run=name))
    points = pd.concat(parts[1:] or parts, ignore_index=True)
    copies = points.groupby(["metric", "setting", "seed", "step"], as_index=False)
    return copies.agg({"value": "mean", "run": "first"})


def thinned(points: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most `most` points of each metric, evenly spaced, with its last point. A metric of one point is dropped."""
    curves = points.groupby("metric")["value"]
    sizes, from_end = curves.transform("size"), curves.cumcount(ascending=False)
    return points[(sizes > 1) & (from_end % np.ceil(sizes / most) == 0)]


def curve_lines(points: pd.DataFrame, comparison: Comparison) -> list[go.Scatter]:
    """The curves of a metric: for each setting the mean over seeds, in a band of a deviation to each side.

    The best settings are in the legend, by their place in the table, and show each seed on hover.
    """
    lines, colours = [], look.setting_colours(len(comparison.ranked))
    in_label = [key.dotted for key in comparison.keys if key.in_label]
    metric = points["metric"].iloc[0]
    for place, of_setting in points.groupby("setting"):
        setting, colour = comparison.ranked[place], colours[place]
        by_seed = of_setting.pivot(index="step", columns="seed", values="value")
        is_named = place < NAMED
        several = len(by_seed.columns) > 1
        title = "mean over seeds" if several else of_setting["run"].iloc[0]
        values = ", ".join(setting.values[key] for key in in_label) or setting.label
        if several and is_named:
            lines.append(band_of(by_seed, colour, str(place)))
        mean = by_seed.mean(axis="columns")
        lines.append(
            go.Scatter(
                x=mean.index.to_numpy(),
                y=mean.to_numpy(np.float32),
                text=seeds_in_words(by_seed) if several and is_named else "",
                hovertemplate=f"{title}<br>{escape(setting.label)}<br>step %{{x}}: %{{y:.4g}}%{{text}}<extra></extra>",
                mode="lines",
                line={"color": colour, "width": 2.5},
                name=f"{place + 1}: {escape(folded(values))}{marks([setting], metric)}",
                legendgroup=str(place),
                legendrank=place + 1,
                showlegend=is_named,
            )
        )
    return lines


def band_of(by_seed: pd.DataFrame, colour: str, group: str) -> go.Scatter:
    """The band of a deviation above and below the mean over seeds. group: of the legend."""
    mean, sd = by_seed.mean(axis="columns"), by_seed.std(axis="columns").fillna(0.0)
    there_and_back = np.concatenate([mean + sd, (mean - sd)[::-1]]).astype(np.float32)
    steps = by_seed.index.to_numpy()
    return go.Scatter(
        x=np.concatenate([steps, steps[::-1]]),
        y=there_and_back,
        fill="toself",
        fillcolor=colour,
        opacity=look.BAND,
        mode="none",
        hoverinfo="skip",
        legendgroup=group,
        showlegend=False,
    )


def seeds_in_words(by_seed: pd.DataFrame) -> list[str]:
    """For each step, the deviation and the value of each seed."""
    texts = []
    for values, sd in zip(by_seed.to_numpy(), by_seed.std(axis="columns"), strict=True):
        known = {seed: value for seed, value in zip(by_seed.columns, values, strict=True) if not np.isnan(value)}
        spread = "" if np.isnan(sd) else f" {PLUS_MINUS} {sd:.2g}"
        texts.append(spread + "".join(f"<br>seed {escape(seed)}: {value:.4g}" for seed, value in known.items()))
    return texts
