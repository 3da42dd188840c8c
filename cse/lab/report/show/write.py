"""The files of a report: report.html, report.md, report.tex and the CSV files."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from cse.files import make_folder, write_text
from cse.lab.report.paper.claims import claims_section
from cse.lab.report.show.document import Report
from cse.lab.report.show.page import page
from cse.lab.sections import latex, markdown


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
