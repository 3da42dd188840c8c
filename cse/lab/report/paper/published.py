"""The papers' own numbers. `published_table` and `published_figure` read them from published/<paper>.yaml.

    tables:
      table4:
        paper, link                  # the paper of this table, if the file has tables of several papers
        title, split                 # the split on which every number was measured: test, dev, or none
        columns: [...]               # the names as published
        rows: {name: [...]}          # numbers in the order of columns; null: not published, or lost in the paper's text
                                     # {mean, sd, n}: a number with its standard deviation over n seeds
        others: [row, ...]           # rows with models of other authors; no run fills these rows
        decimals: 2                  # the decimals as published; 2 by default
        column_decimals: {column: 2} # for columns with other decimals
        counts: [column]             # columns of integers that are no scores (parameters, widths) and have no split
        averages:                    # the columns in each mean; [a, b] counts as one column
          Avg.: {of: [...], table: the columns' table (default: this), weights: {column: weight} in place of `of`}
        category_means: {table, rows: {column: row of `table`}, of: {category: [row, ...]}}  # the mean of `column` over
                                     # [row, ...] is in `table`, in the column `category` of the row of `table`
        differences: {column: {of: column, from: row, sign}}  # sign * (`of` in this row - `of` in the row `from`);
                                     # from: {row: its `from`} if rows have different ones
        space: {key: values}         # the values that a paper's search tried; no scores
        exceptions: [{row, column, computed, reason}]     # published averages that are not the computed averages
        unreadable: [{row, columns, printed, read}]       # cells that the paper's text garbles (printed), and how this
                                     # project reads them; columns: [] if none of the row's numbers is garbled
        tests: [{row, baseline, column, p}]               # p_below in place of p, if the paper gives a bound
    figures:
      figure1: {title, split, x, y, points: [{x, y, label}], lines: [{y, label}], points_of: {table, x, y}, claims}

tests/lab/report/test_published.py recomputes every average, mean and difference.
"""

from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator

from cse.errors import UserError
from cse.files import Json
from cse.lab.report.formats import probability
from cse.lab.report.numbers.statistics import Value
from cse.lab.settings.lookup import nearest

FOLDER = Path(__file__).parent / "published"


def published_value(cell: object) -> object:
    """Return a cell of a row as pydantic can read it: a Value for a plain number, any other cell unchanged."""
    return Value(cell) if isinstance(cell, int | float) else cell


PublishedValue = Annotated[Value | None, BeforeValidator(published_value)]


class PublishedTable(BaseModel):
    """A published table, with the keys that this file's docstring lists."""

    title: str
    split: str
    columns: list[str]
    name: str = ""
    rows: dict[str, list[PublishedValue]] = {}
    others: frozenset[str] = frozenset()
    decimals: int | None = 2
    column_decimals: dict[str, int] = {}
    counts: frozenset[str] = frozenset()
    unreadable: list[Json] = []
    tests: list[Json] = []

    @cached_property
    def cells(self) -> dict[str, dict[str, Value | None]]:
        """The numbers, as cells[row][column]; None if the paper publishes no number."""
        cells = {row: dict(zip(self.columns, values, strict=True)) for row, values in self.rows.items()}
        for garbled in self.unreadable:
            line = cells[garbled["row"]]
            for column in garbled["columns"]:
                value = line[column]
                if value is not None:
                    line[column] = replace(value, note=f"printed {garbled['printed']}")
        return cells

    @property
    def p_values(self) -> dict[tuple[str, str], str]:
        """{(row, column): the published p, as text}. p is from the test of the row against its baseline."""
        p_values = {}
        for test in self.tests:
            p = f"<{probability(test['p_below'])}" if "p_below" in test else probability(test["p"])
            p_values[test["row"], test["column"]] = p
        return p_values

    @property
    def notes(self) -> list[str]:
        """A line for each garbled row: the text of the paper, and how this project reads the text.

        The line begins with a star if the table marks cells of the row with a star.
        """
        lines = []
        for garbled in self.unreadable:
            cells = ", ".join([garbled["row"], *garbled["columns"]])
            star = "* " if garbled["columns"] else ""
            lines.append(f"{star}{cells}: the paper's text has {garbled['printed']}; read as {garbled['read']}")
        return lines

    def digits(self, column: str) -> int | None:
        """Return the number of decimals that the paper publishes in a column. None: as many as each number needs."""
        return 0 if column in self.counts else self.column_decimals.get(column, self.decimals)

    def split_of(self, column: str) -> str:
        """Return the split on which a column was measured: test, dev, or none."""
        return "none" if column in self.counts else self.split


class PublishedFigure(BaseModel):
    """The parts of a published figure that the paper's text gives.

    x: the name of the horizontal axis. points: each has x, y and label. lines: each has y and label. claims: the
    paper's sentences about the figure.
    """

    title: str
    split: str
    x: str
    points: list[Json] = []
    lines: list[Json] = []
    claims: list[str] = []


def papers() -> list[str]:
    """Return the names of the papers that have a file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def read_paper(paper: str) -> Json:
    """Return the content of a paper's YAML file. Raises UserError if there is no such file."""
    if paper not in papers():
        raise UserError(f"there are no published numbers of {paper!r}, only of {', '.join(papers())}")
    return yaml.safe_load((FOLDER / f"{paper}.yaml").read_text(encoding="utf-8"))


def published_table(paper: str, name: str | None) -> PublishedTable:
    """Return a table by its key ("whitenedcse", "table4"); empty for None. Raises UserError for an unknown key."""
    if name is None:
        return PublishedTable(title="", split="none", columns=[])
    return PublishedTable.model_validate({**entry_of(paper, "tables", name), "name": name})


def published_figure(paper: str, name: str) -> PublishedFigure:
    """Return a figure by its key, with the points of its `points_of`, if any. Raises UserError for an unknown key."""
    raw = entry_of(paper, "figures", name)
    figure = PublishedFigure.model_validate(raw)
    source = raw.get("points_of")
    return figure.model_copy(update={"points": figure.points + points_of(paper, source)}) if source else figure


def points_of(paper: str, source: Json) -> list[Json]:
    """Return {x, y, label} for each row with both numbers. source: {table, x: column of x, y: column of y}."""
    points = []
    for row, cells in published_table(paper, source["table"]).cells.items():
        x, y = cells[source["x"]], cells[source["y"]]
        if x and y:
            points.append({"x": x.mean, "y": y.mean, "label": row})
    return points


def entry_of(paper: str, kind: str, name: str) -> Json:
    """Return a paper's entry of a kind, `tables` or `figures`. Raises UserError for an unknown name."""
    entries = read_paper(paper).get(kind, {})
    if name not in entries:
        hint = nearest(name, [*entries]) or f"; there are {', '.join(entries)}"
        raise UserError(f"{paper} has no {kind[:-1]} {name!r}{hint}")
    return entries[name]
