"""The curves of numbers that runs logged more than once, as lines of plotly. A setting's curve is a mean over seeds.

`curves_of` reads the points. `lines_by_metric` draws the points of each metric as lines (`curve_lines`). `equal_curves`
finds curves that hide each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cse.lab.report.any_runs.comparison import Comparison, Setting
from cse.lab.report.any_runs.names import folder_below
from cse.lab.report.any_runs.settings_table import marks
from cse.lab.report.formats import first_few, folded
from cse.lab.report.show import look
from cse.lab.report.show.look import PLUS_MINUS

NO_METRICS = ["event", "time", "train/step", "train/epoch"]
POINTS = 400  # the most points of a curve; a longer curve is thinned
RUNS = 100  # the most runs whose curves are drawn
ALL_POINTS = 200_000  # the most points of a page; if there are many curves, each curve has fewer points
FARTHER, PANELS = 5, 4  # see `panels_of`; a chart has at most PANELS panels
NAMED = 8  # the number of best settings with a name in the legend, a band, and the values of their seeds on hover


def lines_by_metric(curves: pd.DataFrame, comparison: Comparison) -> dict[str, list[go.Scatter]]:
    """Return {metric: its curves}. curves: the points that `curves_of` returns."""
    points = dict(list(curves.groupby("metric")))
    return {metric: curve_lines(of_metric, comparison) for metric, of_metric in points.items()}


def panels_of(points: pd.DataFrame) -> list[list[int]]:
    """Return groups of settings whose curves have values of similar size. Losses of two objectives may be 1 and 300.

    A group lists indices in `comparison.ranked`. The settings are sorted by the largest absolute value of their
    curves. If this value is more than FARTHER times the previous setting's value, a new group begins. There are at most
    PANELS groups. points: the points of one metric.
    """
    sizes = points["value"].abs().groupby(points["setting"]).max().sort_values()
    group = (sizes > FARTHER * sizes.shift()).cumsum().clip(upper=PANELS - 1)
    return [sorted(alike.index) for _, alike in sizes.groupby(group)]


def name_of(setting: Setting, comparison: Comparison) -> str:
    """Return a setting's name in a legend: its values at the keys of the legend's title; without keys, its label."""
    values = [setting.values[key.dotted] for key in comparison.keys if key.in_label]
    return ", ".join(filter(None, values)) or setting.label  # an encoder without training has no value at most keys


def title_of_curves(comparison: Comparison) -> str:
    """Return the title of a chart of curves. If only some runs have curves, the title says so."""
    many = len(comparison.runs)
    return "Curves" if many <= RUNS else f"Curves of {RUNS} of {many:,} runs, from the best settings"


def curves_of(comparison: Comparison) -> pd.DataFrame:
    """Return the points of every metric that a run logged more than once: metric, setting, seed, step, value, run.

    setting: its index in `comparison.ranked`. A long curve has fewer points (`thinned`). Runs of a setting with the
    same seed share one curve, their mean. If there are more than RUNS runs, only runs of the best settings have curves.
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
    """Return at most `most` points of each metric, evenly spaced, including the last point.

    A metric with only one point is removed.
    """
    curves = points.groupby("metric")["value"]
    sizes, from_end = curves.transform("size"), curves.cumcount(ascending=False)
    return points[(sizes > 1) & (from_end % np.ceil(sizes / most) == 0)]


def curve_lines(points: pd.DataFrame, comparison: Comparison) -> list[go.Scatter]:
    """Return the curves of a metric: for each setting, the mean over seeds.

    Each of the best settings has an entry in the legend, a band of one standard deviation to each side, and the value
    of each seed on hover. All other settings share one entry in the legend.
    """
    lines, colours = [], look.setting_colours(len(comparison.ranked))
    metric = points["metric"].iloc[0]
    for place, of_setting in reversed(list(points.groupby("setting"))):  # the best is drawn last, above the others
        setting, colour = comparison.ranked[place], colours[place]
        by_seed, curve = over_seeds(of_setting)
        is_named = place < NAMED
        several = len(by_seed.columns) > 1
        name = escape(folded(name_of(setting, comparison)))
        title = "mean over seeds" if several else of_setting["run"].iloc[0]
        if several and is_named:
            lines.append(band_of(curve, colour, place))
        has_further = any(line.legendgroup == str(NAMED) for line in lines)
        lines.append(
            go.Scatter(
                x=curve.index.to_numpy(),
                y=curve["mean"].to_numpy(np.float32),
                text=seeds_in_words(by_seed, curve["sd"]) if several and is_named else "",
                hovertemplate=f"{title}<br>{escape(setting.label)}<br>step %{{x}}: %{{y:.4g}}%{{text}}<extra></extra>",
                mode="lines",
                line={"color": colour, "width": 2.5},
                name=f"{place + 1}: {name}{marks([setting], metric)}" if is_named else "further settings",
                legendgroup=str(min(place, NAMED)),
                legendrank=place + 1,
                showlegend=is_named or not has_further,
            )
        )
    return lines


def over_seeds(points: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two tables with a row for each step: (the value of each seed; mean, sd, low and high over the seeds).

    points: of one setting. low and high: the mean minus and plus the standard deviation. At a step with only one seed,
    sd is NaN, and low and high are the mean.
    """
    by_seed = points.pivot(index="step", columns="seed", values="value")
    mean, sd = by_seed.mean(axis="columns"), by_seed.std(axis="columns")
    spread = sd.fillna(0.0)
    return by_seed, pd.DataFrame({"mean": mean, "sd": sd, "low": mean - spread, "high": mean + spread})


def band_of(curve: pd.DataFrame, colour: str, place: int) -> go.Scatter:
    """Return a band of one standard deviation around the mean over seeds.

    curve: as from `over_seeds`. place: the setting's index in `comparison.ranked`.
    """
    there_and_back = np.concatenate([curve["high"], curve["low"][::-1]]).astype(np.float32)
    steps = curve.index.to_numpy()
    return go.Scatter(
        x=np.concatenate([steps, steps[::-1]]),
        y=there_and_back,
        fill="toself",
        fillcolor=colour,
        opacity=look.BAND,
        mode="none",
        hoverinfo="skip",
        legendgroup=str(place),
        legendrank=place + 1,
        showlegend=False,
    )


def equal_curves(curves: Iterable[tuple[str, pd.Series]], along: str = "steps") -> list[str]:
    """Return a sentence for each group of equal curves, because a reader sees only one curve of the group.

    curves: (name of a setting, its values, with the steps as index). A curve without a name is left out. along: the
    noun for the values of the index.
    """
    alike: dict[tuple[bytes, bytes], list[str]] = {}
    for name, values in curves:
        drawn = values.index.to_numpy().tobytes(), values.to_numpy(np.float32).tobytes()
        alike.setdefault(drawn, []).append(name)
    groups = [[name for name in names if name] for names in alike.values()]
    if len(groups) == 1 and len(groups[0]) > 1:
        return [f"All curves are equal at all {along}"]
    return [f"These curves are equal at all {along}: {'; '.join(names)}" for names in groups if len(names) > 1]


def equal_lines(lines: Mapping[str, Sequence[go.Scatter]], comparison: Comparison) -> str:
    """Return sentences on the equal curves of a chart; "" if all curves differ. lines: {metric: its curves}."""
    names = [folded(name_of(setting, comparison)) for setting in comparison.ranked[:NAMED]]
    found: dict[str, list[str]] = {}
    for metric, of_metric in lines.items():
        drawn = {line.legendrank - 1: pd.Series(line.y, line.x) for line in of_metric if line.mode == "lines"}
        curves = [(names[place] if place < NAMED else "", values) for place, values in sorted(drawn.items())]
        for sentence in equal_curves(curves):
            found.setdefault(sentence, []).append(metric)
    shared = {sentence for sentence, metrics in found.items() if len(metrics) == len(lines)}
    sentences = [each if each in shared else f"{each} ({first_few(metrics)})" for each, metrics in found.items()]
    return " ".join(f"{sentence}." for sentence in sentences)


def seeds_in_words(by_seed: pd.DataFrame, sds: pd.Series) -> list[str]:
    """Return a text for each step, with the standard deviation over seeds and the value of each seed."""
    texts = []
    for values, sd in zip(by_seed.to_numpy(), sds, strict=True):
        known = {seed: value for seed, value in zip(by_seed.columns, values, strict=True) if not np.isnan(value)}
        spread = "" if np.isnan(sd) else f" {PLUS_MINUS} {sd:.2g}"
        texts.append(spread + "".join(f"<br>seed {escape(seed)}: {value:.4g}" for seed, value in known.items()))
    return texts
