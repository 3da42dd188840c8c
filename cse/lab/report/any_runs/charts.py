"""Charts of a comparison of runs, by plotly: scores by setting, and curves.

To read: `draw_charts`. Their look is cse.lab.report.show.look's.

A setting has one colour in all charts, and one number, its place in the table. Every label that comes from a run is
escaped, as plotly obeys a few HTML tags.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import accumulate

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from cse.lab.report.any_runs.comparison import Comparison, Setting, marks
from cse.lab.report.any_runs.folder_names import folder_below
from cse.lab.report.formats import first_few, folded
from cse.lab.report.show import look
from cse.lab.report.show.look import NO_BETTER, PLUS_MINUS
from cse.lab.settings.values import number_in
from cse.lab.sharing.score_tables import MODIFIED

NO_METRICS = ["event", "time", "train/step", "train/epoch"]
POINTS = 400  # of a curve; a longer one is thinned
RUNS = 100  # whose curves are drawn
ALL_POINTS = 200_000  # of a page; with many curves, each has fewer points
NAMED = 8  # settings, the best first, whose curves have a name in the legend, a band and their seeds on hover
CATEGORIES = 7  # values of a key; if more are numbers, they are an axis
TRAINING = {"Training loss": "train/loss", "Learning rate": "train/lr", "Gradient norm": "train/grad_norm"}
LEGEND = {"yanchor": "top", "y": 1, "xanchor": "left", "x": 1.02}  # beside the chart
AXIS = {"gridcolor": look.GRID, "zeroline": False, "automargin": True, "exponentformat": "e"}
TEMPLATE = go.layout.Template(
    layout={
        "height": look.CHART_HEIGHT, "margin": {"t": 20, "r": 20, "l": 50, "b": 50},
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
            {"xaxis": {"title": name, "type": "log" if is_log else "linear"}},
        )
    return charts


def chart_of_search(comparison: Comparison, scored: Sequence[str]) -> dict[str, go.Figure]:
    """The chart of a search's trials, with the score that selects first."""
    selecting = [name for name in scored if name == comparison.scores.best_by]
    so_far = {name: best_so_far(comparison, name) for name in dict.fromkeys([*selecting, *scored])}
    return {"Best so far": with_menu(so_far, {"xaxis_title": "trial"})}


def chart_by_setting(
    comparison: Comparison, keys: Sequence[str], colours: Colours, scored: Sequence[str]
) -> dict[str, go.Figure]:
    """The chart over the first one or two of these keys, joining the settings that differ in others."""
    drawn = keys[:2]
    names = [escape(comparison.keys[key]) for key in drawn]
    joined = [escape(name) for key, name in comparison.keys.items() if key not in drawn]
    title = f"Score by setting, over all {first_few(joined)}" if joined else "Score by setting"
    traces = {score: by_setting(comparison, drawn, colours, score) for score in scored}
    x = {"title": names[0], "type": "category"}
    if len(names) == 1:
        return {title: with_menu(traces, {"xaxis": x})}
    rows = len({setting.values[drawn[1]] for setting in comparison.settings})
    layout: dict[str, object] = {
        "xaxis": x | {"showgrid": False},
        "yaxis": {"title": names[1], "type": "category", "showgrid": False},
        "height": min(look.CHART_HEIGHT, look.CHART_MARGINS + rows * look.CHART_ROW),
    }
    return {title: with_menu(traces, layout, is_y_the_score=False)}


def draw_curves(comparison: Comparison, colours: Colours) -> dict[str, go.Figure]:
    """{title: chart} of what runs logged more than once."""
    charts: dict[str, go.Figure] = {}
    names = ", ".join(comparison.keys[key] for key in comparison.label_keys)
    about: dict[str, object] = {
        "xaxis_title": "step",
        "showlegend": True,
        "legend": LEGEND | {"title": {"text": escape(names)}},
    }
    curves = dict(list(curves_of(comparison).groupby("metric")))
    for title, name in TRAINING.items():
        if name in curves:
            lines = curve_lines(curves.pop(name), comparison, colours)
            charts[title] = go.Figure(lines, go.Layout(template=TEMPLATE, yaxis_title=title, **about))
    first = [name for name in (comparison.scores.best_by, comparison.scores.leading) if name in curves]
    by_metric = {name: curve_lines(curves[name], comparison, colours) for name in dict.fromkeys([*first, *curves])}
    if by_metric:
        many = len(comparison.runs)
        title = "Curves" if many <= RUNS else f"Curves of {RUNS} of {many:,} runs, those of the best settings"
        charts[title] = with_menu(by_metric, about)
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


def with_menu(traces: dict[str, list], layout: dict[str, object], *, is_y_the_score: bool = True) -> go.Figure:
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
    names = [escape(comparison.keys[key]) for key in keys]
    chart = heat_map(scores, keys, names, comparison.formats[score])
    colours_of_cells = {"reversescale": comparison.lower_is_better(score), "colorbar_title_text": escape(score)}
    return [chart.update(**colours_of_cells)]


def boxes(scores: pd.DataFrame, key: str, colours: Colours) -> list[go.Box]:
    """A box for each value of a key: every seed, with quartiles, mean and deviation."""
    return [
        go.Box(
            x=[escape(value) + joined_marks(points["mark"])] * len(points),
            y=points["score"],
            marker_color=colours[points["setting"].iloc[0]],
            boxmean="sd",
            boxpoints="all",
        )
        for value, points in scores.groupby(key, observed=True)
    ]


def joined_marks(marks_of_settings: Iterable[str]) -> str:
    """The marks of all settings that a box or a cell joins."""
    signs = {sign for own in marks_of_settings for sign in own.split()}
    return "".join(f" {sign}" for sign in (MODIFIED, NO_BETTER) if sign in signs)


def heat_map(scores: pd.DataFrame, keys: Sequence[str], names: Sequence[str], form: str) -> go.Heatmap:
    """The means over two keys, with deviations. names: of the keys, in HTML. form: of a score."""
    cells = scores.groupby([keys[1], keys[0]], observed=True)
    cells = cells.agg(mean=("score", "mean"), sd=("score", "std"), n=("score", "size"), mark=("mark", joined_marks))
    texts, hovers = [], []
    for (y, x), mean, sd, n, mark in cells.itertuples():
        spread = "" if np.isnan(sd) else f"{PLUS_MINUS} {sd:{form}}"
        texts.append(f"{mean:{form}}{spread and f'<br>{spread}'}{mark}")
        setting = f"{names[0]}={escape(x)}<br>{names[1]}={escape(y)}"
        hovers.append(f"{setting}<br>{mean:{form}} {spread}{mark}<br>n = {n}")
    cells["text"], cells["hover"] = texts, hovers
    means = cells["mean"].unstack()
    return go.Heatmap(
        z=means.to_numpy(),
        x=list(map(escape, means.columns)),
        y=list(map(escape, means.index)),
        text=cells["text"].unstack().fillna("").to_numpy(),
        texttemplate="%{text}",
        textfont=look.HEAT_FONT,
        hovertext=cells["hover"].unstack().fillna("").to_numpy(),
        hovertemplate="%{hovertext}<extra></extra>",
        colorscale=look.HEAT,
        xgap=2,
        ygap=2,
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
    """A line for each setting: its mean over seeds, in a band of a deviation to each side.

    The best settings are in the legend, by their place in the table, and show each seed on hover.
    """
    lines = []
    metric = points["metric"].iloc[0]
    for place, of_setting in points.groupby("setting"):
        setting = comparison.ranked[place]
        by_seed = of_setting.pivot(index="step", columns="seed", values="value")
        is_named = place < NAMED
        several = len(by_seed.columns) > 1
        of_which = "mean over seeds" if several else of_setting["run"].iloc[0]
        about = f"{of_which}<br>{escape(setting.label)}<br>step %{{x}}: %{{y:.4g}}%{{text}}<extra></extra>"
        values = ", ".join(setting.values[key] for key in comparison.label_keys)
        if several and is_named:
            lines.append(band_of(by_seed, colours[setting], str(place)))
        mean = by_seed.mean(axis="columns")
        lines.append(
            go.Scatter(
                x=mean.index.to_numpy(),
                y=mean.to_numpy(np.float32),
                text=seeds_in_words(by_seed) if several and is_named else "",
                hovertemplate=about,
                mode="lines",
                line={"color": colours[setting], "width": 2.5},
                name=f"{place + 1}: {escape(folded(values))}{marks(setting, metric)}",
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
