"""A table as lines of text, the same for the terminal, Markdown, LaTeX and HTML.

Up to two columns: one line for each number, its facts side by side. More columns: a block of lines for each row of the
paper, one fact a line, under the paper's own columns.
"""

import csv
import io
from dataclasses import dataclass

from cse.report.table import Cell, Table

FACTS = ("published", "ours", "difference", "interval", "gain", "its interval", "gain as printed", "p Student",
         "p Welch", "verdict")  # fmt: skip
PLUS_MINUS = "±"


@dataclass
class Grid:
    """header, and lines of as many cells. A line that begins a row of the paper is in `first`."""

    header: list[str]
    lines: list[list[str]]
    first: set[int]


def grid(table: Table) -> Grid:
    """The table's lines, without facts that no cell has."""
    used = [fact for fact in FACTS if any(text(c, fact, table) for row in table.cells.values() for c in row.values())]
    split = "" if table.split == "none" else f" ({table.split})"
    lines: list[list[str]] = []
    first = set()
    if len(table.columns) <= 2:
        for row, cells in table.cells.items():
            first.add(len(lines))
            for column, cell in cells.items():
                lines.append([row, f"{column}{split}", *(text(cell, fact, table) for fact in used)])
        return Grid(["", "score", *used], lines, first)
    for row, cells in table.cells.items():
        first.add(len(lines))
        for fact in used:
            texts = [text(cell, fact, table) for cell in cells.values()]
            if any(texts):
                name = row if len(lines) in first else ""
                lines.append([name, fact, *texts])
    return Grid(["", "", *(f"{column}{split}" for column in table.columns)], lines, first)


def text(cell: Cell, fact: str, table: Table) -> str:
    """One fact of one cell, or "" where there is none."""
    digits = table.decimals
    if fact == "published" and cell.published:
        return spread(cell.published.mean, cell.published.sd, cell.published.n, digits) + "*" * bool(
            cell.published.note
        )
    if fact == "ours" and cell.ours:
        return spread(cell.ours.mean, cell.ours.sd, cell.ours.n, digits) + count(cell)
    changes = {"difference": cell.difference, "gain": cell.gain, "gain as printed": cell.gain_published}
    if (change := changes.get(fact)) is not None:
        return signed(change, digits)
    if interval := {"interval": cell.interval, "its interval": cell.gain_interval}.get(fact):
        return f"[{signed(interval[0], digits)}, {signed(interval[1], digits)}]"
    if fact in ("p Student", "p Welch"):
        p = cell.p_student if fact == "p Student" else cell.p_welch
        return "" if p is None or p != p else "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0")
    return cell.verdict if fact == "verdict" else ""


def number(value: float, digits: int | None) -> str:
    return f"{value:g}" if digits is None else f"{value:.{digits}f}"


def spread(mean: float, sd: float | None, n: int, digits: int | None) -> str:
    """mean +- sd (n); the bare number where there is one value."""
    return number(mean, digits) + (f" {PLUS_MINUS} {number(sd, digits)} ({n})" if sd is not None else "")


def count(cell: Cell) -> str:
    """What a statistic is of, and how many runs are still missing."""
    over = f" {cell.aggregate} of {len(cell.runs)}" if len(cell.runs) > len(cell.values) else ""
    missing = f" [{len(cell.runs)} of {cell.expected} runs]" if cell.expected and len(cell.runs) < cell.expected else ""
    return over + missing


def signed(value: float, digits: int | None) -> str:
    return f"{value:+g}" if digits is None else f"{value:+.{digits}f}"


def remarks(table: Table) -> list[str]:
    """What a reader must know beside the numbers."""
    bases = sorted(set(table.baselines.values()))
    return [
        *(f"Not the paper's setting: {line}" for line in table.deviations),
        *([f"gain and p: over our own runs of {', '.join(bases)}."] if bases else []),
        *(f"Missing: {line}" for line in dict.fromkeys(table.absent)),
        *table.notes,
    ]


CSV = ["row", "column", "split", "published", "published_sd", "published_n", "ours", "ours_sd", "seeds", "runs",
       "expected_runs", "difference", "difference_low", "difference_high", "gain", "gain_low", "gain_high",
       "gain_published", "p_student", "p_welch", "verdict", "published_note", "values"]  # fmt: skip


def to_csv(tables: list[Table]) -> str:
    """One line for each cell, numbers unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV)
    for split, cell in (
        (table.split, cell) for table in tables for row in table.cells.values() for cell in row.values()
    ):
        printed, ours = cell.published, cell.ours
        numbers = [
            *((printed.mean, printed.sd, printed.n) if printed else (None,) * 3),
            *((ours.mean, ours.sd) if ours else (None,) * 2),
            len(cell.values), len(cell.runs), cell.expected, cell.difference, *(cell.interval or (None, None)),
            cell.gain, *(cell.gain_interval or (None, None)), cell.gain_published, cell.p_student, cell.p_welch,
        ]  # fmt: skip
        note = printed.note if printed else ""
        each = " ".join(map(repr, cell.values))
        writer.writerow([cell.row, cell.column, split, *map(_bare, numbers), cell.verdict, note, each])
    return out.getvalue()


def _bare(value: float | None) -> str:
    return "" if value is None or value != value else repr(value)


def to_markdown(table: Table) -> str:
    found = grid(table)
    lines = [found.header, ["---"] * len(found.header), *found.lines]
    rows = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return f"### {table.title}\n\n{rows}\n\n" + "".join(f"- {line}\n" for line in remarks(table))


LATEX = str.maketrans({"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "<": "$<$",
                       "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
                       PLUS_MINUS: r"$\pm$"})  # fmt: skip


def to_latex(table: Table) -> str:
    """A booktabs table, to be \\input."""
    found = grid(table)

    def line(cells: list[str]) -> str:
        return " & ".join(cell.translate(LATEX) for cell in cells) + r" \\"

    body = [("\\midrule\n" if i in found.first else "") + line(cells) for i, cells in enumerate(found.lines)]
    columns = "ll" + "r" * (len(found.header) - 2)
    caption = rf"\caption{{{table.title.translate(LATEX)}}}"
    return "\n".join([
        r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule", line(found.header), *body, r"\bottomrule", r"\end{tabular}", caption,
        *(f"% {remark}" for remark in remarks(table)), r"\end{table}", "",
    ])  # fmt: skip
