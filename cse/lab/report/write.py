"""The one writer of reports: a `Report`, whose sections are tables, on the terminal, as Markdown, LaTeX, CSV and a
page.

The page is one HTML file, which loads nothing from another file or machine. The scripts of Plotly and DataTables, which
their Python packages ship, are inside the page that needs them.
"""

import base64
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape
from rich.console import Console
from rich.text import Text

from cse.files import make_folder, write_text
from cse.lab.folder.heartbeat import clock
from cse.lab.folder.runs import Run
from cse.lab.report import look
from cse.lab.report.claims import JudgedClaim, claim_facts, claims_section, headline
from cse.lab.report.frame import folded, runs_frame
from cse.lab.report.signs import SIGNS, TONE_OF, VERDICTS
from cse.lab.sections import Section, latex, markdown

NOT_DRAWN = "Not drawn: no finished run has what it shows."
PLOTLY = {"responsive": True, "displayModeBar": False}
LONG = 100  # rows of a table that is shown in pages
MANY = 10  # unfinished runs that are named one by one


@dataclass
class Picture:
    """A figure's file, or None if no finished run has what it shows, and the paper's words about it."""

    name: str
    path: Path | None
    claims: Sequence[str] = ()


class Best(NamedTuple):
    """The best setting. by: the score that chose it; leading: the score that is shown of it; doubt: why it has not won;
    again: the command that trains more seeds of it."""

    setting: str
    by: str
    leading: str
    score: str
    doubt: str
    again: str


class Unfinished(NamedTuple):
    """A run, or a planned job without one, that is not done."""

    state: str
    folder: str
    why: str


@dataclass(frozen=True)
class OfPaper:
    """What the report of a sweep has besides tables.

    claims: as judged. log: the runs behind the page. grid: the first section as its paper prints it, under `columns`.
    link: the paper's address. start: the command that makes the runs, if none is done.
    """

    claims: list[JudgedClaim] = field(default_factory=list)
    pictures: Sequence[Picture] = ()
    log: Sequence[Run] = ()
    grid: Mapping[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    columns: Sequence[str] = ()
    link: str = ""
    start: str = ""


@dataclass(frozen=True)
class Report:
    """What a report shows. sections: tables with notes, in every medium; the others are on the page, and in short on
    the terminal.

    csv: by file's name; None removes an earlier report's. runs: a table of them that sorts. paper: of a sweep.
    """

    title: str
    subtitle: str
    sections: list[Section]
    csv: dict[str, pd.DataFrame | None]
    best: Best | None = None
    pending: Sequence[Unfinished] = ()
    hint: str = ""
    charts: Mapping[str, go.Figure] = field(default_factory=dict)
    runs: Section | None = None
    paper: OfPaper = field(default_factory=OfPaper)


def write_report(report: Report, out: Path) -> str:
    """Write report.html, report.md, report.tex and the CSV files into a folder, and return a line that names them.

    Raises UserError if the folder is not usable.
    """
    texts = {"report.html": page(report), "report.md": as_markdown(report), "report.tex": latex(report.sections)}
    return write_files(out, texts | report.csv)


def write_files(out: Path, files: Mapping[str, str | pd.DataFrame | None]) -> str:
    """Write the files, tables as CSV, and return a line with their names; None: remove an earlier report's file.

    Raises UserError if `out` is not usable.
    """
    make_folder(out, "out")
    for name, content in files.items():
        if content is None:
            (out / name).unlink(missing_ok=True)
        else:
            write_text(out / name, content if isinstance(content, str) else content.to_csv(index=False))
    first, *others = (name for name, content in files.items() if content is not None)
    return f"{out / first}  (also {', '.join(others)})"


def as_markdown(report: Report) -> str:
    """report.md."""
    claims = report.paper.claims
    sections = [*report.sections, claims_section(claims)] if claims else report.sections
    drawn = [picture for picture in report.paper.pictures if picture.path]
    links = [f"\n![{picture.name}](figures/{picture.path.name})\n" for picture in drawn if picture.path]
    return markdown(f"{report.title}\n\n{report.subtitle}", sections) + "".join(links)


def show_report(report: Report, console: Console) -> None:
    """Print the report on the terminal: what is not done, the tables, claims and pictures, and what is best."""
    console.print(Text.assemble((report.title, "bold"), f"  {report.subtitle}"), soft_wrap=True)
    for one in report.pending[:MANY]:
        state = Text(f"{one.state:8}", style=terminal_style(one.state))
        console.print(Text.assemble(state, " ", one.folder, (f"  {one.why}", "dim")), soft_wrap=True)
    if len(report.pending) > MANY:
        console.print(Text(f"and {len(report.pending) - MANY} more, in runs.csv", style="dim"))
    for section in report.sections:
        console.print()
        show_section(section, console)
    if report.hint:
        console.print(Text(report.hint, style="dim"))
    if report.paper.claims:
        console.print()
        show_claims(report.paper.claims, console)
    for picture in report.paper.pictures:
        console.print(f"{picture.name}: {picture.path or NOT_DRAWN}", style="dim")
    if report.best:
        show_best(report.best, console)


def open_console() -> Console:
    """The terminal. Into a pipe or a file, lines may be of any length."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def terminal_style(word: str) -> str:
    """The colour of a verdict or a state on the terminal; "" if it has none."""
    return TONE_OF[word].terminal if word in TONE_OF else ""


def show_section(section: Section, console: Console) -> None:
    """Print a table without cutting numbers, and the remarks. In a table that is wider than the terminal, each folder
    has its own line. If the table is still wider, its last columns are printed below it."""
    if section.title:
        console.print(Text(section.title, style="bold"), soft_wrap=True)
    table, words = section.table, section.words
    if not table.empty:
        names = [name or None for name in table.columns[:words]]
        index = pd.MultiIndex.from_arrays(table.iloc[:, :words].map(folded).T.to_numpy(), names=names)
        width = console.width if console.is_terminal else None
        cells = table.iloc[:, words:].map(folded).set_axis(index)
        short = list(map(folded, cells.columns))
        cells.columns = short if len(set(short)) == len(short) else cells.columns
        shown = cells.to_string(sparsify=False)
        if width and len(shown.partition("\n")[0]) > width:
            others = cells.drop(columns="folder", errors="ignore")
            lines = others.to_string(line_width=width, sparsify=False).splitlines()
            folders = cells["folder"].radd("    ") if "folder" in cells else [""] * len(cells)
            rows = zip(lines[-len(cells) :], folders, strict=True)
            shown = "\n".join([*lines[: -len(cells)], *filter(None, chain.from_iterable(rows))])
        text = Text(shown)
        for verdict, tone in TONE_OF.items():
            text.highlight_words([verdict], tone.terminal)
        console.print(text, soft_wrap=True)
    for line in section.remarks:
        console.print(Text(line, style="dim"))


def show_claims(claims: Sequence[JudgedClaim], console: Console) -> None:
    """Print the claims: a short line for each, and its numbers below."""
    console.print(Text(headline(claims), style="bold"))
    for one in claims:
        verdict = Text(f"{one.verdict_with_parts:12}", style=terminal_style(one.verdict))
        console.print(Text.assemble(verdict, " ", one.claim, (f"  ({one.source})", "dim")))
        numbers = [f"{name} {value}" for name, value in claim_facts(one).items() if value]
        if numbers:
            console.print(Text(f"             {'; '.join(numbers)}", style="dim"))


def show_best(best: Best, console: Console) -> None:
    """Print the best setting, with the score that leads, and the command for more seeds."""
    score = best.score if best.leading == best.by else f"{best.leading} {best.score}"
    doubt = f" ({best.doubt})" if best.doubt else ""
    words = f"\n* best by {best.by}: {best.setting}: "
    console.print(Text.assemble(words, (score, "bold"), doubt), soft_wrap=True)
    if best.again:
        console.print(Text(f"  more seeds of it: {best.again}"), soft_wrap=True)


def page(report: Report) -> str:
    """report.html."""
    return template("page.html").render(
        report=report,
        title=report.title,
        now=clock(time.time()),
        sortable={id(one): sortable(one) for one in [*report.sections, report.runs] if one and one.sortable},
        datatables=datatables() if report.runs else "",
        claims=[(one, claim_facts(one)) for one in report.paper.claims],
        headline=headline(report.paper.claims),
        plotly=plotly_script() if report.charts else "",
        charts={title: Markup(chart.to_html(full_html=False, include_plotlyjs=False, config=PLOTLY))
                for title, chart in report.charts.items()},
        log=provenance(report.paper.log),
    )  # fmt: skip


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
    environment.globals |= {"look": look, "signs": meanings, "not_drawn": NOT_DRAWN, "id": id}
    environment.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode()
    environment.filters["tone"] = lambda word: TONE_OF[word].name if word in TONE_OF else ""
    return environment.get_template(name)


def provenance(runs: Sequence[Run]) -> pd.DataFrame:
    """What made the numbers: every run's command, commit and device."""
    frame = runs_frame(runs, ["seed"], [])
    return frame[["folder", "state", "seed", "command", "git_commit", "code", "device"]].fillna("").astype(str)


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
