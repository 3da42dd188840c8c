"""The second study's picture. Each objective has a panel, and each augmentation has a colour and a marker.

A dashed line is the score before training.
"""

from pathlib import Path

import pandas as pd
from matplotlib import pyplot
from scipy import stats

STATIC = Path(__file__).parents[2] / "docs" / "_static"
LOOKS = {"study2": ("#1f2328", "#ffffff"), "study2_dark": ("#e6edf3", "#0d1117")}
MARKS = {  # colour on white, colour on black, marker
    "dropout": ("#0969da", "#4493f8", "o"),
    "shuffle": ("#bc4c00", "#f0883e", "^"),
    "EDA": ("#1a7f37", "#3fb950", "s"),
    "spans": ("#8250df", "#a371f7", "D"),
}
THREE = ("dropout", "shuffle", "EDA")
PANELS = {  # title: the arm, its augmentation and its label, from left to right
    "SimCSE": [(f"simcse_{one.lower()}", one, one) for one in THREE],
    "Barlow Twins": [(f"barlow_{one.lower()}", one, one) for one in THREE],
    "VICReg": [(f"vicreg25_{one.lower()}", one, one) for one in THREE],
    "WhitenedCSE": [(f"whitenedcse_{one}", one, one) for one in THREE[:2]],
    "SimCSE with": [("images", "dropout", "images"), ("sound", "dropout", "sound")],
    "DeCLUTR": [
        ("documents/contrastive", "spans", "contrastive"),
        ("documents/declutr", "spans", "both losses"),
        ("documents/mlm", "spans", "MLM"),
    ],
}
POOLED = {"DeCLUTR": "untouched_mean"}  # {panel: the untrained encoder of its line}; other panels have "untouched"


def draw(runs: pd.DataFrame, untouched: pd.Series) -> None:
    """Draw docs/_static/study2.png and study2_dark.png.

    runs: the rows of runs.csv that are in the analysis. untouched: {arm of an untrained encoder: its score}; the arms
    differ in the pooling.
    """
    scores = {arm: mine.average for arm, mine in runs.groupby("arm")}
    panels = {title: [one for one in arms if one[0] in scores] for title, arms in PANELS.items()}
    panels = {title: arms for title, arms in panels.items() if arms}
    for number, (name, (ink, paper)) in enumerate(LOOKS.items()):
        figure, row = pyplot.subplots(
            1, len(panels), figsize=(8, 3.4), sharey=True, squeeze=False, layout="constrained", facecolor=paper,
            width_ratios=[len(arms) + 0.6 for arms in panels.values()],
        )  # fmt: skip
        for axes, (title, arms) in zip(row[0], panels.items(), strict=True):
            for place, (arm, augmentation, _) in enumerate(arms):
                values, colour, marker = scores[arm], MARKS[augmentation][number], MARKS[augmentation][2]
                reach = stats.t.ppf(0.975, len(values) - 1) * values.sem()
                axes.plot([place] * len(values), values, marker, color=colour, alpha=0.3, markersize=4, mew=0)
                axes.errorbar(place + 0.22, values.mean(), yerr=reach, fmt=marker, color=colour, capsize=3, ms=6)
            axes.axhline(untouched[POOLED.get(title, "untouched")], color=ink, linestyle="--", linewidth=1)
            axes.set_facecolor(paper)
            axes.set_title(title, color=ink, fontsize=9)
            axes.set_xlim(-0.5, len(arms) - 0.3)
            labels = [label for _, _, label in arms]
            axes.set_xticks([place + 0.1 for place in range(len(arms))], labels, rotation=40, ha="right", fontsize=8)
            axes.tick_params(colors=ink, length=0, labelsize=8)
            axes.grid(axis="y", alpha=0.25)
            axes.spines[:].set_visible(False)
        row[0][0].set_ylabel("average of seven STS tests", color=ink, fontsize=9)
        figure.supxlabel(
            "small: ten seeds; large: their mean and its 95 % interval; dashed: the encoder before training",
            color=ink, fontsize=8,
        )  # fmt: skip
        figure.savefig(STATIC / f"{name}.png", dpi=200)
        pyplot.close(figure)
