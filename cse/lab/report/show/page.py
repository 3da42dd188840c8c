"""The page of a report: one HTML file, which loads nothing from another file or machine.

To read: `page` fills templates/page.html. The scripts of Plotly and DataTables, which their Python packages ship, are
inside the page that needs them, packed: a browser unpacks them. Its colours and sizes are cse.lab.report.show.look's.
"""

import base64
import gzip
import time
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from cse.lab.folder.heartbeat import clock
from cse.lab.report.formats import suite_of
from cse.lab.report.show import look
from cse.lab.report.show.document import NOT_DRAWN, Report
from cse.lab.report.show.look import SIGNS, TONE_OF
from cse.lab.report.verdicts import MEANINGS
from cse.lab.sections import Section

LONG = 100  # rows of a table that is shown in pages
COUNTED = 20  # rows of a table; a longer one says how many of them a filter leaves


def page(report: Report, out: Path) -> str:
    """report.html. out: the report's folder, which has its figures."""
    return template("page.html").render(
        report=report,
        title=report.title,
        now=clock(time.time()),
        out=out,
        datatables=datatables() if report.all_runs else None,
        plotly=plotly_script() if report.charts else "",
        charts=packed("[{}]".format(",".join(chart.to_json() for chart in report.charts.values()))),
    )


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
    environment.globals |= {"look": look, "signs": SIGNS | MEANINGS, "not_drawn": NOT_DRAWN}
    environment.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode()
    environment.filters["sortable"] = sortable
    environment.filters["tone"] = lambda word: TONE_OF[word].name if word in TONE_OF else ""
    return environment.get_template(name)


class Library(NamedTuple):
    """A library of the page: its script, packed, and its style."""

    script: str
    style: Markup


@cache
def datatables() -> Library:
    """DataTables, for tables that sort and filter."""
    from itables.options import dt_bundle

    script = Path(dt_bundle)
    return Library(packed(script.read_text("utf-8")), Markup(script.with_suffix(".css").read_text("utf-8")))


@cache
def plotly_script() -> str:
    """The script of charts, packed."""
    from plotly.offline import get_plotlyjs

    return packed(get_plotlyjs())


def packed(text: str) -> str:
    """The text, compressed, as letters and digits. A third of the size of a script."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


class Head(NamedTuple):
    """The head of neighbouring columns. group: above their names, if they are scores of one evaluator; else ""."""

    group: str
    names: Sequence[Markup]


def sortable(section: Section) -> Markup:
    """The section's table that sorts and filters, by DataTables, without empty columns.

    A column of scores sorts by the number with which its cells begin. With colours, of the settings in the charts, each
    line begins with its number in its colour.
    """
    assert section.sortable is not None
    table, hidden, colours = section.sortable
    table = table.loc[:, (table != "").any()]
    first = ["#"] if colours else []
    names = [*first, *table.columns]
    return Markup(
        template("sortable_table.html").render(
            table=table,
            colours=colours,
            names=names,
            heads=heads_of(names),
            hidden=[place for place, name in enumerate(names) if name in hidden],
            is_paged=len(table) > LONG,
            is_counted=len(table) > COUNTED,
            page_length=LONG,
        )
    )


def heads_of(names: Sequence[str]) -> list[Head]:
    """The heads of columns. A score's name begins with its split and its evaluator, which stand above it."""
    heads = []
    for group, alike in groupby(names, suite_of):
        parts = [str(escape(name.removeprefix(f"{group}/"))).replace("/", "/<wbr>") for name in alike]
        if group:
            heads.append(Head(group, list(map(Markup, parts))))
        else:
            heads += [Head("", [Markup(part)]) for part in parts]
    return heads
