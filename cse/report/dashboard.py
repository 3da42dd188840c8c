"""A comparison of any runs as one HTML page: a table that sorts and filters, and charts of what it shows.

The runs travel inside the page as JSON, and the page folds seeds, ranks and draws by itself, with Vega-Lite, whose
scripts vl-convert carries (84 MB, so an extra): the page asks no other file and no other machine for anything.
"""

import math
import time
from functools import cache
from importlib.util import find_spec

from markupsafe import Markup

from cse.dotted import Json
from cse.eval.score import nature
from cse.files import plain
from cse.record.runs import Run
from cse.record.status import clock
from cse.report.comparison import Comparison, Setting, command_of
from cse.report.render import rendered
from cse.report.settings import shown

POINTS = 400  # of a curve; a longer one is thinned
COUNTERS = ("step", "time", "train/step", "train/epoch")
INSTALL = "pip install -e '.[page]'"
LICENCE = (
    "/*! Vega, Vega-Lite and Vega-Embed, copyright (c) University of Washington Interactive Data Lab and contributors, "
    "BSD 3-Clause licence: https://github.com/vega/vega/blob/main/LICENSE */\n"
)


def to_html(comparison: Comparison) -> str:
    """The whole page."""
    return rendered(
        "runs.html",
        title=comparison.title,
        subtitle=f"{comparison.counted}; as of {clock(time.time())}",
        notes=comparison.notes,
        content=plain(content(comparison)),
        pending=[
            {"name": comparison.name(run), "state": life.state, "said": life.detail} for run, life in comparison.pending
        ],
        vega=vega() if draws_charts() else None,
        install=INSTALL,
    )


def draws_charts() -> bool:
    """Whether vl-convert is installed; without it the page is its table."""
    return find_spec("vl_convert") is not None


@cache
def vega() -> Markup:
    """The scripts of Vega, Vega-Lite and Vega-Embed, for one <script> element."""
    import vl_convert

    return Markup(
        LICENCE + vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
    )


def content(comparison: Comparison) -> Json:
    """What the page's scripts read: the runs with their settings, scores and curves, each setting's command."""
    places = {run.folder: place for place, setting in enumerate(comparison.settings) for run in setting.runs}
    return {
        "keys": [{"key": key, "name": name} for key, name in comparison.keys.items()],
        "seed": comparison.seed,
        "metrics": comparison.metrics,
        "chosen": comparison.chosen,
        "best_by": comparison.best_by,
        "less": [metric for metric in comparison.metrics if nature(metric).lower_is_better],
        "settings": [about_setting(one, comparison) for one in comparison.settings],
        "runs": [
            about_run(run, comparison) | {"setting": places[run.folder], "state": life.state, "said": life.detail}
            for run, life in zip(comparison.runs, comparison.lives, strict=True)
        ],
    }


def about_setting(setting: Setting, comparison: Comparison) -> Json:
    """The values of the keys that differ, as numbers where they are, and the command that trains more seeds."""
    values = [value if is_number(value) else shown(value) for value in setting.values]
    return {"values": values, "texts": [shown(one) for one in setting.values], "again": comparison.more_seeds(setting)}


def about_run(run: Run, comparison: Comparison) -> Json:
    """What the page tells of one run."""
    results = run.results
    return {
        "name": comparison.name(run),
        "folder": str(run.folder),
        "seed": run.get(comparison.seed),
        "scores": run.metrics if run.status == "done" else {},
        "curves": curves(run),
        "command": command_of(run),
        "facts": {
            "commit": str(results.get("git_commit") or "")[:10],
            "device": results.get("device", ""),
            "precision": results.get("precision", ""),
            "best step": results.get("best_step", ""),
            "steps": results.get("steps", ""),
            "seconds": results.get("wall_seconds", ""),
            "tokens/s": results.get("tokens_per_second", ""),
        },
    }


def curves(run: Run) -> dict[str, list[list[float]]]:
    """{metric: [steps, values]} of everything that was logged more than once, each of at most POINTS points."""
    points: dict[str, list[tuple[float, float]]] = {}
    for event in run.events():
        for name, value in event.items():
            if name not in COUNTERS and is_number(value):
                points.setdefault(name, []).append((event["step"], float(f"{value:.6g}")))
    lines = {name: thinned(line) for name, line in points.items() if len(line) > 1}
    return {name: [list(axis) for axis in zip(*line, strict=True)] for name, line in lines.items()}


def thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Every so many of the points, the last among them, so that at most POINTS are left."""
    stride = math.ceil(len(points) / POINTS)
    return points[::-1][::stride][::-1]


def is_number(value: object) -> bool:
    """Whether the value is a number, and not a switch."""
    return isinstance(value, int | float) and not isinstance(value, bool)
