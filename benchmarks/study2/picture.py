"""The second study's picture: each arm's mean with its interval, and every seed as a dot."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib import pyplot
from scipy import stats

STATIC = Path(__file__).parents[2] / "docs" / "_static"
LOOKS = {"study2": ("#1f2328", "#ffffff", "#0969da"), "study2_dark": ("#e6edf3", "#0d1117", "#4493f8")}


def draw(runs: pd.DataFrame, names: Mapping[str, str]) -> None:
    """docs/_static/study2.png, light and dark. runs: the rows of runs.csv that are read; names: of their arms."""
    arms = runs.groupby("arm").average.mean().sort_values().index
    for name, (ink, paper, colour) in LOOKS.items():
        figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.35 * len(arms)), layout="constrained", facecolor=paper)
        axes.set_facecolor(paper)
        for place, arm in enumerate(arms):
            values = runs[runs.arm == arm].average
            reach = stats.t.ppf(0.975, len(values) - 1) * values.sem()
            axes.plot(values, [place] * len(values), "o", color=colour, alpha=0.35, markersize=4)
            axes.errorbar(values.mean(), place, xerr=reach, fmt="o", color=colour, capsize=3)
        axes.set_yticks(range(len(arms)), [names[arm] for arm in arms])
        axes.set_xlabel("average of seven STS tests: mean, 95 % interval, every seed")
        axes.grid(axis="x", alpha=0.25)
        axes.tick_params(colors=ink, length=0)
        axes.xaxis.label.set_color(ink)
        axes.spines[:].set_visible(False)
        figure.savefig(STATIC / f"{name}.png", dpi=150)
