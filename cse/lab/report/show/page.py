"""The page of a report: one HTML file, which loads nothing from another file or machine.

To read: `page` fills templates/page.html. The scripts of Plotly and DataTables, which their Python packages ship, are
inside the page that needs them. Its colours and sizes are cse.lab.report.show.look's.
"""

import base64
import time
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from cse.lab.folder.heartbeat import clock
from cse.lab.report.show import look
from cse.lab.report.show.document import NOT_DRAWN, Report
from cse.lab.report.show.look import SIGNS, TONE_OF, VERDICTS
from cse.lab.sections import Section

PLOTLY = {"responsive": True, "displayModeBar": False}
LONG = 100  # rows of a table that is shown in pages


def page(report: Report, out: Path) -> str:
    """report.html. out: the report's folder, which has its figures."""
    return template("page.html").render(
        report=report,
        title=report.title,
        now=clock(time.time()),
        out=out,
        datatables=datatables() if report.all_runs else "",
        plotly=plotly_script() if report.charts else "",
        charts={title: Markup(chart.to_html(full_html=False, include_plotlyjs=False, config=PLOTLY))
                for title, chart in report.charts.items()},
    )  # fmt: skip


@cache
def template(name: str) -> Template:
    """A template of this package. Every value is escaped; a missing one is an error."""
    environment = Environment(
        loader=PackageLoader("cse.lab.report.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    meanings = SIGNS | {name: meaning for name, (_, meaning) in VERDICTS.items()}
    environment.globals |= {"look": look, "signs": meanings, "not_drawn": NOT_DRAWN}
    environment.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode()
    environment.filters["sortable"] = sortable
    environment.filters["tone"] = lambda word: TONE_OF[word].name if word in TONE_OF else ""
    return environment.get_template(name)


def datatables() -> Markup:
    """The script of tables that sort and filter."""
    from itables.javascript import generate_init_offline_itables_html
    from itables.options import dt_bundle

    return Markup(generate_init_offline_itables_html(dt_bundle))


def plotly_script() -> Markup:
    """The script of charts."""
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())


def sortable(section: Section) -> Markup:
    """The section's table that sorts and filters, by DataTables, without empty columns.

    With colours, of the settings in the charts, each line begins with its number in its colour.
    """
    from itables import to_html_datatable

    assert section.sortable is not None
    table, hidden, colours = section.sortable
    escaped = table.map(lambda text: str(escape(text)))
    escaped = escaped.loc[:, (escaped != "").any()]
    targets = [place for place, name in enumerate(escaped, start=bool(colours)) if name in hidden]
    escaped = escaped.rename(columns=lambda name: str(escape(name)).replace("/", "/<wbr>"))  # where it may wrap
    if colours:
        numbers = zip(colours, range(1, len(table) + 1), strict=True)
        places = [f'<b class="place" style="border-color:{colour}">{number}</b>' for colour, number in numbers]
        escaped.insert(0, "#", places)
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
