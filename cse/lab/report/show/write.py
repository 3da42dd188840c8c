"""The files of a report: report.html, report.md, report.tex, the CSV files and the figures."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from cse.files import make_folder, write_text
from cse.lab.report.show.document import Picture, Report
from cse.lab.report.show.page import page
from cse.lab.sections import latex, markdown
from cse.lab.sharing.plots import save_figure


def write_report(report: Report, out: Path) -> str:
    """Write a report into a folder, and return a line that names its files, but for the figures.

    Raises UserError if the folder is not usable, and RunError if the disk refuses a figure.
    """
    make_folder(out, "out")
    for picture in report.pictures:
        draw(picture, out)  # first, as the page has them inside
    texts = {"report.html": page(report, out), "report.md": as_markdown(report), "report.tex": latex(report.sections)}
    return write_files(out, texts | report.csv)


def draw(picture: Picture, out: Path) -> None:
    """Write a figure's files, or remove the files of an earlier report."""
    path = out / picture.file
    if picture.figure is not None:
        save_figure(picture.figure, path)
        return
    for file in (path, path.with_suffix(".svg")):
        file.unlink(missing_ok=True)


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
    drawn = [picture for picture in report.pictures if picture.figure is not None]
    links = [f"\n![{picture.name}]({picture.file})\n" for picture in drawn]
    return markdown(f"{report.title}\n\n{report.subtitle}", report.sections) + "".join(links)
