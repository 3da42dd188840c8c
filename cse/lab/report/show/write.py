"""The files of a report: report.html, report.md, report.tex, the CSV files and the figures.

Start at `write_report`. `html_of_report` fills templates/page.html. The page is one file, which loads nothing from
another file or machine. The scripts of Plotly and DataTables come from their Python packages. A page that needs these
scripts contains them compressed, and a browser unpacks them. cse.lab.report.show.look has the colours and sizes.
"""

import base64
import gzip
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from cse.files import make_folder, write_text
from cse.lab.folder.heartbeat import clock
from cse.lab.report.formats import suite_of
from cse.lab.report.show import look
from cse.lab.report.show.document import NOT_DRAWN, Picture, Report
from cse.lab.report.show.look import SIGNS, tone_of, verdict_places
from cse.lab.report.verdicts import MEANINGS
from cse.lab.sections import (
    Section,
    font_needed,
    in_two_lines,
    latex_comments,
    latex_text,
    markdown,
    markdown_text,
    short_label,
)
from cse.lab.sharing.plots import save_figure

LONG = 100  # rows; a table with more rows is shown in pages
FIGURE_FILES, FIGURE_DOTS = (".png", ".svg", ".pdf"), 300  # the PNG's dots per inch
BESIDE = r"\ifx\CurrentFilePath\empty\else\CurrentFilePath/\fi "
"""LaTeX code for the folder of the file that LaTeX reads. LaTeX has had \\CurrentFilePath since October 2020."""
TABLES = ("table.tex", "settings.tex", "differences.tex")  # the LaTeX of a table; a report has some of these files
PACKED = 1000  # rows; a table with more rows is compressed to a tenth of its size
COUNTED = 20  # rows; a table with more rows shows how many rows a filter leaves


def write_report(report: Report, out: Path) -> str:
    """Write a report into a folder, and return a line that names its files, except the figures of a sweep's paper.

    Raises UserError if the folder is not usable, and RunError if the disk refuses a figure.
    """
    make_folder(out, "out")
    for picture in report.pictures:
        draw(picture, out)  # before the page, which contains figures
    texts = {
        "report.html": html_of_report(report, out),
        "report.md": markdown_of_report(report),
        "report.tex": latex_of_report(report),
    }
    tables = {f"{section.file}.tex": section.latex() for section in report.sections if section.label}
    line = write_files(out, texts | dict.fromkeys(TABLES) | tables | report.csv)
    names = [picture.name for picture in report.pictures if picture.figure and not picture.is_of_paper]
    figures = f"\n{out / 'figures'}/  ({', '.join(names)}: each as PNG, SVG and PDF)" if names else ""
    return line + figures


def draw(picture: Picture, out: Path) -> None:
    """Write a figure's files. If there is no figure, remove the files of an earlier report."""
    files = [(out / picture.file).with_suffix(suffix) for suffix in FIGURE_FILES]
    latex_file = files[0].with_suffix(".tex")
    if picture.figure is not None:
        save_figure(picture.figure, files, dots=FIGURE_DOTS)
        if picture.caption:
            write_text(latex_file, latex_of_figure(picture, picture.figure.get_figwidth(), out.name))
        return
    for file in (*files, latex_file):
        file.unlink(missing_ok=True)
    folder = latex_file.parent
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def write_files(out: Path, files: Mapping[str, str | pd.DataFrame | None]) -> str:
    """Write the files (tables as CSV), and return a line with the names of the files.

    files: {name: content}; None removes the file of an earlier report. Raises UserError if `out` is not usable.
    """
    make_folder(out, "out")
    for name, content in files.items():
        if content is None:
            (out / name).unlink(missing_ok=True)
        else:
            write_text(out / name, content if isinstance(content, str) else content.to_csv(index=False))
    first, *others = (name for name, content in files.items() if content is not None)
    return f"{out / first}  (also {', '.join(others)})"


def markdown_of_report(report: Report) -> str:
    """Return the text of report.md: the headline, the sections, and links to the figures with their captions."""
    drawn = [picture for picture in report.pictures if picture.figure is not None]
    links = [f"\n![{pic.name}]({pic.file})\n\n{markdown_text(pic.caption)}".rstrip() + "\n" for pic in drawn]
    return markdown(report.title, report.subtitle, report.sections, report.headline) + "".join(links)


def latex_of_report(report: Report) -> str:
    """Return the text of report.tex, which reads the files of the tables and of the figures that have a caption.

    The headline is a comment: a paper that reads the file has no stray text, and an author can copy the sentence.
    LaTeX finds the files from the folder of report.tex.
    """
    files = [f"{section.file}.tex" for section in report.sections if section.label]
    files += [f"figures/{picture.name}.tex" for picture in report.pictures if picture.figure and picture.caption]
    needs = r"needs \usepackage{booktabs,graphicx}, and the files that it reads" if files else ""
    comments = latex_comments(filter(None, [latex_text(report.headline), needs]))
    return comments + "".join(f"\\input{{{BESIDE}{file}}}\n" for file in files)


def latex_of_figure(picture: Picture, width: float, name: str) -> str:
    """Return a figure's LaTeX, which finds the PDF in its own folder. The figure is at most as wide as the text.

    width: in inches. name: the name of the report.
    """
    fitted = f"\\ifdim\\linewidth<{width:g}in\\linewidth\\else{width:g}in\\fi"
    environment = "figure*" if width > look.COLUMN else "figure"  # across both columns of a paper, or in one
    caption = latex_text(picture.caption)
    comments = latex_comments([r"needs \usepackage{graphicx}", *font_needed(caption)])
    return (
        f"{comments}\\begin{{{environment}}}\n\\centering\n"
        f"\\includegraphics[width={fitted}]{{{BESIDE}{picture.name}.pdf}}\n"
        f"\\caption{{{caption}}}\n\\label{{fig:{short_label(name)}-{picture.name}}}\n\\end{{{environment}}}\n"
    )


def html_of_report(report: Report, out: Path) -> str:
    """Return the text of report.html. out: the report's folder, which already has the figures."""
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
    """Return a template of this package. The template escapes every value. A missing value is an error."""
    environment = Environment(
        loader=PackageLoader("cse.lab.report.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"look": look, "signs": SIGNS | MEANINGS, "not_drawn": NOT_DRAWN}
    environment.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode()
    environment.filters["sortable"] = html_of_sortable
    environment.filters["breakable"] = breakable
    environment.filters["tone"] = tone_name
    environment.filters["verdict_places"] = verdict_places
    return environment.get_template(name)


def breakable(name: str) -> Markup:
    """Return the name of a column with one space where a browser may break the line. The other spaces do not break.

    A browser may also break the name of a score after each of its parts.
    """
    line = " ".join(line.replace(" ", "\u00a0") for line in in_two_lines(name))
    return Markup(str(escape(line)).replace("/", "/<wbr>"))


def tone_name(verdict: str) -> str:
    """Return the class of a verdict or a state on the page; "" for any other text."""
    tone = tone_of(verdict)
    return tone.name if tone else ""


class Library(NamedTuple):
    """A library of the page: its script, compressed by `packed`, and its style."""

    script: str
    style: Markup


@cache
def datatables() -> Library:
    """Return the library DataTables, for tables that sort and filter."""
    from itables.options import dt_bundle

    script = Path(dt_bundle)
    return Library(packed(script.read_text("utf-8")), Markup(script.with_suffix(".css").read_text("utf-8")))


@cache
def plotly_script() -> str:
    """Return the script of Plotly, compressed by `packed`."""
    from plotly.offline import get_plotlyjs

    return packed(get_plotlyjs())


def packed(text: str) -> str:
    """Return the text, compressed by gzip, in base64. A script then has a third of its size."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


class Head(NamedTuple):
    """The head of neighbouring columns. group: the split and evaluator that the scores share; "" for other columns."""

    group: str
    names: Sequence[Markup]


def html_of_sortable(section: Section) -> Markup:
    """Return the section's table without empty columns, as HTML. DataTables sorts and filters the table.

    `packed` compresses the rows of a long table. A column of scores is sorted by the number at the beginning of its
    cells. If the charts have colours for the rows, each row begins with its number in its colour, not with a star.
    """
    colours = section.colours
    table = section.table.drop(columns="", errors="ignore")
    table = table.loc[:, (table != "").any()]
    rows = template("sortable_rows.html").render(rows=table.to_numpy(), columns=list(table), colours=colours)
    is_packed = len(table) > PACKED
    first = ["#"] if colours else []
    names = [*first, *table.columns]
    return Markup(
        template("sortable_table.html").render(
            rows="" if is_packed else Markup(rows),
            packed=packed(rows) if is_packed else "",
            names=names,
            heads=heads_of(names),
            hidden=[place for place, name in enumerate(names) if name in section.hidden],
            is_paged=len(table) > LONG,
            is_counted=len(table) > COUNTED,
            page_length=LONG,
        )
    )


def heads_of(names: Sequence[str]) -> list[Head]:
    """Return the heads of columns. The split and evaluator of a score's name are above the other part of the name."""
    heads = []
    for group, alike in groupby(names, suite_of):
        parts = [re.sub("[/.]", r"\g<0><wbr>", str(escape(name.removeprefix(f"{group}/")))) for name in alike]
        if group:
            heads.append(Head(group, list(map(Markup, parts))))
        else:
            heads += [Head("", [Markup(part)]) for part in parts]
    return heads
