"""The look of a report: the colours, the type, and the signs beside numbers.

The page's style (templates/page.css), the charts and the terminal read this file. The layout of the page is in
templates/*.html. The layout of LaTeX is in cse.lab.sections.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from cse.lab.folder.status import State
from cse.lab.report.verdicts import (
    CONTRADICTED,
    DIFFERS,
    HOLDS,
    INCONCLUSIVE,
    NOT_RUN,
    NOT_TESTED,
    ONE_SEED,
    OTHER_SETTING,
    PASS,
    PUBLISHED_ONLY,
    SEE_FIGURE,
    WITHIN_SEED_NOISE,
)
from cse.lab.sharing.plots import COLOURS
from cse.lab.sharing.score_tables import MODIFIED, MODIFIED_MEANS

SETTINGS = COLOURS
"""The colours of settings."""
BLUE, VERMILION, GREEN, PURPLE, *_ = SETTINGS

HEAT = ((0.0, "#eef4fa"), (1.0, "#5aa5d8"))
"""The colour scale of a heat map. Dark text is legible on all its colours."""

HEAT_FONT, BAND = {"size": 14, "color": "#111"}, 0.18
"""The text in the cells of a heat map, and the opacity of the band around a curve."""

GREY, GRID, CLEAR = "#7a808a", "rgba(128,128,128,.25)", "rgba(0,0,0,0)"
"""The colours of charts: a grey that is legible on white and on black, a colour for grid lines, and transparent."""

COLUMN, BOTH_COLUMNS = 3.3, 6.9
"""The widths in inches of a figure in one column, and in both columns, of a two-column paper."""

NO_VALUE = "none"  # the name of a category without a value, such as the objective of a reference
FAINT = 0.35  # the opacity of the dot of a single seed

PAPER = {
    "font.size": 8, "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 7, "legend.title_fontsize": 7, "legend.frameon": False, "lines.linewidth": 1.2,
    "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip
"""How matplotlib draws a figure for a paper: sizes in points, as the paper prints them."""

FONT = 'system-ui, "Segoe UI", Roboto, sans-serif'
CHART_HEIGHT, CHART_FONT, CHART_ROW, CHART_PANEL, CHART_MARGINS = 440, 13, 90, 190, 130  # pixels; ROW: of a heat map
CHART_NAMES = 30  # characters; a chart has its legend at the right only if all names have at most this many
CHART_PRINTED = 470  # pixels: the width of a printed chart, so that A4 or Letter in landscape has two in a row

LIGHT = {"ground": "#fff", "ink": "#1c1e21", "dim": "#63676e", "line": "#dfe1e4", "soft": "#f2f3f5"}
DARK = {"ground": "#15171a", "ink": "#e6e8ea", "dim": "#9aa0a8", "line": "#363a40", "soft": "#22262b"}
"""The page's colours if a browser prefers light or dark: background, text, dimmed text, lines, soft backgrounds."""

SIZES = {"head": "1.5rem", "score": "1.9rem", "title": "1.05rem", "table": ".85rem", "small": ".87rem"}
"""The sizes of the page's text. The text of the body has 15 pixels."""


class Tone(NamedTuple):
    """The look of a verdict or of a run's state.

    name: the CSS class on the page.
    terminal: the colour on the terminal, by its name in rich.
    ground: the background colour on the page, mixed with the colour of the page; "" for dimmed text without a
        background.
    percent: the share of `ground` in the mixture.
    """

    name: str
    terminal: str
    ground: str = ""
    percent: int = 0


GOOD = Tone("good", "green", GREEN, 20)
UNSURE = Tone("unsure", "yellow", "#f0c000", 25)
BAD = Tone("bad", "red", VERMILION, 25)
OTHER = Tone("other", "magenta", PURPLE, 20)
QUIET = Tone("quiet", "bright_black")
TONES = (GOOD, UNSURE, BAD, OTHER, QUIET)

PLUS_MINUS, TIED, NO_BETTER = "±", "≈", "‡"

SIGNS = {
    PLUS_MINUS: "the sample standard deviation over (n) seeds",
    TIED: "the best of our results in its column, or not significantly different from the best",
    MODIFIED: MODIFIED_MEANS,
    NO_BETTER: "a run scores no better than the untrained encoder on the selection metric",
    "*": "the paper's text garbles the number; a note below the table says how it was read",
}

TONE_OF: dict[str, Tone] = {
    PASS: GOOD,
    WITHIN_SEED_NOISE: UNSURE,
    DIFFERS: BAD,
    ONE_SEED: QUIET,
    OTHER_SETTING: OTHER,
    PUBLISHED_ONLY: QUIET,
    NOT_RUN: QUIET,
    HOLDS: GOOD,
    CONTRADICTED: BAD,
    INCONCLUSIVE: UNSURE,
    NOT_TESTED: OTHER,
    SEE_FIGURE: QUIET,
    State.RUNNING: UNSURE,
    State.FAILED: BAD,
    State.STOPPED: OTHER,
}
"""{verdict, or state of a run: its tone}. Other states have no tone."""


def setting_colours(count: int) -> list[str]:
    """Return the colours of `count` settings, the best setting first: the colours SETTINGS, then grey for the rest."""
    return [*SETTINGS, *[GREY] * count][:count]


def tone_of(text: str) -> Tone | None:
    """Return the tone of a verdict (HOLDS, HOLDS (1 of 2 parts)) or of a run's state; None for any other text."""
    return TONE_OF.get(text.partition(" (")[0])


def verdict_places(table: pd.DataFrame) -> set[tuple[int, int]]:
    """Return (row, column) of each cell with a verdict or a run's state. Reports colour these cells.

    Such a cell is in a column named "verdict" or "state", or in a row whose second cell is one of these words. In any
    other cell, a word such as PASS is a name that a user chose.
    """
    named = ("verdict", "state")
    rows = range(len(table))
    places = {(row, column) for column, name in enumerate(table.columns) if name in named for row in rows}
    for row, cells in enumerate(table.to_numpy()):
        if len(cells) > 1 and cells[1] in named:
            places |= {(row, column) for column in range(2, len(cells))}
    return places


def legend_of(is_used: Mapping[str, object]) -> list[str]:
    """Return a line for each sign in a table, with the sign's meaning. is_used: {sign: whether the table has it}."""
    return [f"{sign}: {SIGNS[sign]}." for sign, used in is_used.items() if used]
