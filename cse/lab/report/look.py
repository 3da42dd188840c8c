"""The look of a report, each value in one place: its colours and its type.

The page's style (templates/page.css), the charts and the terminal read this file. The layout of a page stands in its
templates, that of LaTeX in cse.lab.sections.
"""

from typing import NamedTuple

BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SETTINGS = (BLUE, VERMILION, GREEN, PURPLE, "#b07d00", "#56b4e9", "#9467bd", "#7f7f7f")
"""The colours of settings, by Okabe and Ito: people with any colour vision see them apart."""

MANY_SETTINGS, HEAT = "Viridis", "Cividis"
"""The colour scales of more settings than there are colours, and of a heat map."""

GREY, GRID, CLEAR = "#7a808a", "rgba(128,128,128,.25)", "rgba(0,0,0,0)"
"""Of charts: a grey that is legible on white and on black, the lines of a grid, and nothing."""

FONT = 'system-ui, "Segoe UI", Roboto, sans-serif'
CHART_HEIGHT, CHART_FONT = 440, 13  # pixels

LIGHT = {"ground": "#fff", "ink": "#1c1e21", "dim": "#63676e", "line": "#dfe1e4", "soft": "#f2f3f5"}
DARK = {"ground": "#15171a", "ink": "#e6e8ea", "dim": "#9aa0a8", "line": "#363a40", "soft": "#22262b"}
"""Of the page, where a browser prefers light or dark: its ground, its text and dimmed text, its lines, soft grounds."""

SIZES = {"head": "1.5rem", "score": "1.9rem", "title": "1.05rem", "table": ".85rem", "small": ".87rem"}
"""Of the page's text, beside its body's 15 pixels."""


class Tone(NamedTuple):
    """How a verdict or the state of a run is shown.

    name: its class on the page. terminal: rich's name of a colour. ground: the page's colour behind it, mixed with the
    page's own ground; "" for a quiet tone, with dimmed text. percent: how much of the colour is in the mixture.
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
