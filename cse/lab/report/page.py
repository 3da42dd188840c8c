"""Both reports as one HTML file each, which loads nothing from another file or machine.

The scripts of Plotly and DataTables, which their Python packages ship, are inside the page that needs them.
"""

import base64
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from cse.lab.folder.heartbeat import clock
from cse.lab.folder.runs import Run
from cse.lab.report import findings, layout
from cse.lab.report.comparison import Comparison
from cse.lab.report.frame import format_settings, runs_frame
from cse.lab.report.markup import SIGNS, VERDICTS, format_of
from cse.lab.report.published import Published
from cse.lab.report.terminal import COLOURS
from cse.lab.sections import Section

LONG = 100  # rows of a table that is shown in pages
NOT_DRAWN = "Not drawn: no finished run has what it shows."
PLOTLY = {"responsive": True, "displayModeBar": False}


@dataclass
class Picture:
    """A figure's file, or None if no finished run has what it shows, and the paper's claims about it."""

    name: str
    path: Path | None
    claims: Sequence[str] = ()


@dataclass
class Report:
    """Everything that a sweep's report shows. printed: the paper's table, beside which the first section puts ours;
    link: the paper's address; start: the command that makes the runs."""

    title: str
    subtitle: str
    printed: Published | None
    sections: list[Section]
    pictures: list[Picture]
    runs: list[Run]
    claims: pd.DataFrame
    link: str = ""
    start: str = ""

    @property
    def done(self) -> bool:
        """Whether any run is done."""
        return any(run.status == "done" for run in self.runs)


@cache
def template(name: str) -> Template:
    """A template of this package. Every value is escaped; a missing one is an error."""
    environment = Environment(
        loader=PackageLoader("cse.lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    meanings = SIGNS | {name: meaning for name, (_, meaning) in VERDICTS.items()}
    environment.globals |= {"verdicts": COLOURS, "signs": meanings, "not_drawn": NOT_DRAWN}
    environment.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode()
    return environment.get_template(name)


def sweep_page(report: Report) -> str:
    """The page of a sweep beside its paper, with its pictures inside."""
    printed, cells = report.printed, report.sections[0].frame if report.sections else None
    return template("sweep.html").render(
        report=report,
        title=report.title,
        grid=layout.grid(printed, cells) if printed and printed.columns and cells is not None else {},
        claims=findings.lines(report.claims),
        headline=findings.headline(report.claims),
        pictures=report.pictures,
        runs=provenance(report.runs),
    )


def provenance(runs: list[Run]) -> pd.DataFrame:
    """What made the numbers: every run's command, commit and device."""
    frame = runs_frame(runs, ["seed"], [])
    return frame[["folder", "state", "seed", "command", "git_commit", "code", "device"]].fillna("").astype(str)


def runs_page(comparison: Comparison, others: Sequence[Section] = (), doubt: str = "") -> str:
    """The page of any runs beside each other: tables that sort and filter, and charts.

    others: how settings differ, and runs with smoke=true, which have a table alone. doubt: why the best setting has
    not won; see cse.lab.report.differences.
    """
    from itables.javascript import generate_init_offline_itables_html
    from itables.options import dt_bundle
    from plotly.offline import get_plotlyjs

    from cse.lab.report.charts import colours_of, draw_charts

    best = comparison.best
    runs = shown(comparison.runs.drop(columns="folder"), comparison)
    for key in (*comparison.keys, comparison.seed):
        runs[key] = format_settings(list(comparison.frame["run"]), key)
    runs.insert(runs.columns.get_loc("partial"), "folder", comparison.frame["name"])  # first, it would hide the scores
    other_scores = [name for name in comparison.metrics if name not in comparison.chosen]
    other_keys = [*comparison.keys.keys() - comparison.shown_keys.keys()]
    hidden = [*other_scores, *(f"{name} sd" for name in other_scores), "remarks"]  # which the notes have too
    hidden += [comparison.keys[key] for key in other_keys]
    charts = draw_charts(comparison)
    return template("runs.html").render(
        title=comparison.title,
        subtitle=f"{comparison.counted}; as of {clock(time.time())}",
        best=None if best is None else comparison.label(best),
        doubt=doubt,
        by=comparison.best_by,
        led=comparison.compared_by,
        score="" if best is None else comparison.score_text(best, str(comparison.compared_by)),
        again="" if best is None else comparison.more_seeds(best),
        scripts=Markup(generate_init_offline_itables_html(dt_bundle)),
        settings=widget(shown(comparison.means, comparison), hidden, colours=list(colours_of(comparison))),
        runs=widget(runs, [*other_scores, *other_keys]),
        plotly=Markup(get_plotlyjs()) if charts else "",
        charts={
            name: Markup(chart.to_html(full_html=False, include_plotlyjs=False, config=PLOTLY))
            for name, chart in charts.items()
        },
        pending=comparison.pending,
        others=others,
        notes=comparison.legend + comparison.notes,
    )


def shown(table: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """The table as text: a column of scores with the decimals that every table has for it, another one of floats with
    those that its values need; "" for None and NaN."""
    texts = table.astype(object).where(table.notna(), "")
    for name in texts:
        sizes = [value for value in texts[name] if isinstance(value, float)]
        score = str(name).removesuffix(" sd")
        form = comparison.formats.get(score) or format_of(sizes)
        texts[name] = [f"{value:{form}}" if isinstance(value, float) else str(value) for value in texts[name]]
    return texts


def widget(table: pd.DataFrame, hidden: Collection[str], colours: Sequence[str] = ()) -> Markup:
    """A table that sorts and filters, by DataTables, without empty columns. hidden: those that a reader may switch on.

    colours: of the settings in the charts; each line then begins with its number in its colour.
    """
    from itables import to_html_datatable

    escaped = table.map(lambda text: str(escape(text)))
    escaped = escaped.loc[:, (escaped != "").any()]
    targets = [place for place, name in enumerate(escaped, start=bool(colours)) if name in hidden]
    escaped = escaped.rename(columns=lambda name: str(escape(name)).replace("/", "/<wbr>"))  # where it may wrap
    if colours:
        place = '<b class="place" style="border-color:{}">{}</b>'
        escaped.insert(0, "#", [place.format(*one) for one in zip(colours, range(1, len(table) + 1), strict=True)])
    return Markup(
        to_html_datatable(
            escaped,
            connected=False,
            maxBytes=0,
            allow_html=True,
            classes="display compact nowrap",
            style="width:100%",
            order=[],
            paging=len(table) > LONG,
            pageLength=LONG,
            showIndex=False,
            text_in_header_can_be_selected=False,  # a click on a header sorts
            scrollX=True,
            layout={"topStart": {"buttons": ["searchBuilder", "colvis"]}},
            columnDefs=[{"targets": targets, "visible": False}],
        )
    )
