"""README's picture of the study, light and dark, from the table of its RESULTS.md: python -m benchmarks.picture

Writes docs/_static/study.png and study_dark.png.
"""

import re
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs" / "_static"
ROW = re.compile(
    r"^\| (.+?) \| [^|]+ \| ([\d.]+)(?: ± ([\d.]+))? \| [^|]+ \| [^|]+ \|$", re.MULTILINE
)  # of five columns
LOOKS = {"study": ("#1f2328", "#ffffff", "#0969da"), "study_dark": ("#e6edf3", "#0d1117", "#4493f8")}


def main() -> None:
    """A point for each arm, with its standard deviation over seeds, in both looks."""
    rows = ROW.findall((ROOT / "benchmarks" / "study" / "RESULTS.md").read_text(encoding="utf-8"))[::-1]
    places, means = range(len(rows)), [float(mean) for _, mean, _ in rows]
    for name, (ink, paper, colour) in LOOKS.items():
        figure, axes = pyplot.subplots(figsize=(8, 3.4), layout="constrained", facecolor=paper)
        axes.errorbar(means, places, xerr=[float(sd or 0) for *_, sd in rows], fmt="o", color=colour, capsize=3)
        axes.set_yticks(places, [arm for arm, *_ in rows])
        axes.set_xlabel("average of seven STS tests, Spearman x100, ± sd of five seeds")
        paint(axes, ink, paper)
        figure.savefig(STATIC / f"{name}.png", dpi=150)


def paint(axes: Axes, ink: str, paper: str) -> None:
    """Give axes the page's colours, a light grid and no frame."""
    axes.set_facecolor(paper)
    axes.grid(axis="x", alpha=0.25)
    axes.tick_params(colors=ink, length=0)
    axes.xaxis.label.set_color(ink)
    for spine in axes.spines.values():
        spine.set_visible(False)


if __name__ == "__main__":
    main()
