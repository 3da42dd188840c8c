"""The papers' own numbers, from published/<paper>.yaml.

    tables:
      table4:
        paper, link                  # its own, where a file's tables are of several papers
        title, split                 # the split every number was measured on: test, dev, or none
        columns: [...]               # as printed
        rows: {name: [...]}          # in the order of columns; null: not given, or lost in the text
                                     # {mean, sd, n}: printed with its spread over n seeds
        others: [row, ...]           # other groups' models, which are never run here
        decimals: 2                  # as printed; 2 by default
        column_decimals: {column: 2} # of columns that are printed with others
        counts: [column]             # of whole numbers that are no scores (parameters, widths) and have no split
        averages:                    # column: what it is the mean of; [a, b] in the list counts as one
          Avg.: {of: [...], table: where those columns are (here), weights: {column: weight} in place of `of`}
        category_means: {table, rows, of}   # of this table's rows, column by column, printed in another table
        differences: {column: {of: column, from: row, sign}}
        exceptions: [{row, column, computed, reason}]     # printed averages that are not those of what they average
        unreadable: [{row, columns, printed, read}]       # cells that the paper's text garbles, and how they were read;
                                     # columns: [] if only something beside the row's numbers is garbled
        tests: [{row, baseline, column, p}]               # or p_below, where the text gives a bound
    figures:
      figure1: {title, split, x, y, points: [{x, y, label}], lines: [{y, label}], points_of: {table, x, y}, claims}

tests/report/test_published.py recomputes every average, mean and difference.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import yaml

from cse.dotted import Json
from cse.errors import UserError
from cse.report.statistics import Value

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Published:
    """One table: cells[row][column] is a Value, or None if the paper prints no number.

    split: test, dev, or none; decimals: as printed (None: as few as it needs); counts: columns that are no scores;
    others: other groups' models; p_values: as printed, by (row, column), of the test against the row's baseline.
    """

    title: str
    split: str
    columns: list[str]
    name: str = ""
    cells: dict[str, dict[str, Value | None]] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    decimals: int | None = 2
    column_decimals: dict[str, int] = field(default_factory=dict)
    counts: frozenset[str] = frozenset()
    p_values: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def digits(self, column: str) -> int | None:
        """The decimals that the paper prints in a column."""
        return 0 if column in self.counts else self.column_decimals.get(column, self.decimals)

    def split_of(self, column: str) -> str:
        """What a column was measured on: test, dev, or none."""
        return "none" if column in self.counts else self.split


@dataclass(frozen=True)
class PublishedFigure:
    """What a paper's text says of a figure: points (each x, y and label), lines (each y and label), claims.

    x: what the horizontal axis shows, in words.
    """

    title: str
    split: str
    x: str
    points: list[Json]
    lines: list[Json]
    claims: list[str]


def papers() -> list[str]:
    """The papers that have a file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def read(paper: str) -> Json:
    """A paper's whole file. Raises UserError if it has none."""
    if paper not in papers():
        raise UserError(f"there are no published numbers of {paper!r}, only of {', '.join(papers())}")
    return yaml.safe_load((FOLDER / f"{paper}.yaml").read_text(encoding="utf-8"))


def table(paper: str, name: str) -> Published:
    """A table by its key, e.g. ("whitenedcse", "table4"). Raises UserError for an unknown one."""
    raw = _entry(paper, "tables", name)
    notes = {(u["row"], column): u for u in raw.get("unreadable", []) for column in u["columns"]}
    cells = {
        row: {
            column: _value(printed, notes.get((row, column)))
            for column, printed in zip(raw["columns"], values, strict=True)
        }
        for row, values in raw["rows"].items()
    }
    return Published(
        title=raw["title"],
        split=raw["split"],
        columns=raw["columns"],
        name=name,
        cells=cells,
        others=frozenset(raw.get("others", [])),
        decimals=raw.get("decimals", 2),
        column_decimals=raw.get("column_decimals", {}),
        counts=frozenset(raw.get("counts", [])),
        p_values={(test["row"], test["column"]): _printed_p(test) for test in raw.get("tests", [])},
        notes=[_note(garbled) for garbled in raw.get("unreadable", [])],
    )


def _note(garbled: Json) -> str:
    """A note on how a garbled cell was read; the star marks the cells that it names."""
    star = "* " if garbled["columns"] else ""
    cells = ", ".join([garbled["row"], *garbled["columns"]])
    return f"{star}{cells}: the text prints {garbled['printed']}; read as {garbled['read']}"


def figure(paper: str, name: str) -> PublishedFigure:
    """A figure by its key, with points from a table if it names one. Raises UserError for an unknown one."""
    raw = _entry(paper, "figures", name)
    points = list(raw.get("points", []))
    if source := raw.get("points_of"):
        for row, cells in table(paper, source["table"]).cells.items():
            x, y = cells[source["x"]], cells[source["y"]]
            if x and y:
                points.append({"x": x.mean, "y": y.mean, "label": row})
    return PublishedFigure(raw["title"], raw["split"], raw["x"], points, raw.get("lines", []), raw.get("claims", []))


def _entry(paper: str, kind: str, name: str) -> Json:
    entries = read(paper).get(kind, {})
    if name not in entries:
        close = get_close_matches(name, entries, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(entries)}"
        raise UserError(f"{paper} has no {kind[:-1]} {name!r}{hint}")
    return entries[name]


def _printed_p(test: Json) -> str:
    return f"{test['p']:.4f}".lstrip("0") if "p" in test else f"<{test['p_below']:.4f}".replace("<0", "<")


def _value(printed: float | Json | None, garbled: Json | None) -> Value | None:
    if printed is None:
        return None
    spread = printed if isinstance(printed, dict) else {"mean": printed}
    return Value(**spread, note=f"printed {garbled['printed']}" if garbled else "")
