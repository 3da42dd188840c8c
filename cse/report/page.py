"""A report for people: on the terminal, and as one HTML page that needs no other file."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cse.report import findings
from cse.report.layout import Grid, grid, remarks
from cse.report.runs import Run
from cse.report.table import NOT_RUN, OTHER_SETTING, PUBLISHED_ONLY, Table
from cse.report.verdicts import CONTRADICTED, HOLDS, NOT_SEEN, Finding

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {
    "PASS": "green",
    "WITHIN SEED NOISE": "yellow",
    "DIFFERS": "red",
    OTHER_SETTING: "magenta",
    HOLDS: "green",
    NOT_SEEN: "yellow",
    CONTRADICTED: "red",
    "ONE SEED": "bright_black",
    NOT_RUN: "bright_black",
    PUBLISHED_ONLY: "bright_black",
}


@dataclass
class Picture:
    """A drawn figure with the paper's own claims about it, or None and why it is not drawn."""

    name: str
    path: Path | None
    claims: Sequence[str] = field(default_factory=list)
    why_not: str = ""


@dataclass
class Report:
    """Everything a report shows: tables, pictures, and the runs behind them."""

    title: str
    subtitle: str
    tables: list[Table]
    pictures: list[Picture]
    runs: list[Run]
    findings: list[Finding] = field(default_factory=list)


def show(tables: list[Table], console: "Console") -> None:
    """The tables and their remarks on a rich console."""
    from rich.table import Table as RichTable
    from rich.text import Text

    for table in tables:
        whole = grid(table)
        drawn = RichTable(title=table.title, title_justify="left", box=None, header_style="bold", pad_edge=False)
        for number, name in enumerate(whole.header):
            drawn.add_column(name, justify="left" if number < 2 else "right", overflow="fold", no_wrap=number == 0)
        for index, line in enumerate(whole.lines):
            if index in whole.first and index and len(whole.lines) > len(whole.first):
                drawn.add_row()
            drawn.add_row(*(Text(cell, style=COLOURS.get(cell, "")) for cell in line))
        console.print(drawn)
        for remark in remarks(table):
            console.print(Text(remark, style="dim"))


def show_claims(results: list[Finding], console: "Console") -> None:
    """The claims on a rich console, a short line each and its numbers below."""
    from rich.text import Text

    for finding in results:
        facts = findings.facts(finding)
        verdict = Text(f"{finding.verdict:12}", style=COLOURS.get(finding.verdict, ""))
        console.print(Text.assemble(verdict, " ", finding.claim.says, (f"  ({finding.claim.source})", "dim")))
        numbers = "; ".join(f"{name} {value}" for name, value in facts.items() if value)
        console.print(Text(f"             {numbers}", style="dim"))


STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 110em; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em } .dim { color: #666 }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9em }
th, td { padding: .2em .7em; text-align: right; white-space: nowrap }
th { border-bottom: 2px solid #888; background: #fff; position: sticky; top: 0; white-space: normal }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
tr.first td { border-top: 1px solid #ccc } tr.first td:first-child { font-weight: 600 }
td:first-child { position: sticky; left: 0; background: #fff }
.PASS, .HOLDS { background: #d8f0d8 } .WITHIN { background: #fff3c4 } .DIFFERS, .CONTRADICTED { background: #f8d0cc }
.OTHER { background: #e8d8f0 } .NOT, .PUBLISHED, .ONE { color: #888 }
img { max-width: min(100%, 60em) } figure { margin: 1em 0 }
.runs td, .runs th, .claims td, .claims th { text-align: left; white-space: normal; font-size: .85em }
"""


def to_html(report: Report) -> str:
    """The whole page; pictures are inside it."""
    title = html.escape(report.title)
    parts = [f"<h1>{title}</h1><p class=dim>{html.escape(report.subtitle)}</p>", LEGEND if report.tables else ""]
    for table in report.tables:
        notes = "".join(f"<li>{html.escape(remark)}</li>" for remark in remarks(table))
        parts.append(f"<h2>{html.escape(table.title)}</h2><div class=wide>{html_table(table)}</div><ul>{notes}</ul>")
    if report.findings:
        claims = html_grid(findings.grid(report.findings))
        parts.append(f"<h2>What the paper claims</h2><div class='wide claims'>{claims}</div>{CLAIMS_LEGEND}")
    parts += [html_picture(picture) for picture in report.pictures]
    parts.append(html_runs(report.runs))
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    return f"{head}<style>{STYLE}</style><body>{''.join(parts)}</body></html>\n"


LEGEND = (
    "<p class=dim>PASS: the means agree within the tolerance. WITHIN SEED NOISE: the printed number lies where further "
    "runs of ours would be expected. DIFFERS: it does not. ONE SEED: one run alone, and "
    "nothing tells how seeds vary. OTHER SETTING: our runs are not the paper's experiment "
    "(how, is named below the table), so the numbers are not compared. Intervals in brackets; ± is the sample standard "
    "deviation over (n) seeds; * marks a printed number that the paper's text garbles.</p>"
)


CLAIMS_LEGEND = (
    "<p class=dim>HOLDS: seeds tell that it is as claimed. CONTRADICTED: they tell that it is the other way round. NOT "
    "SEEN: they cannot tell. printed: the paper's own difference (of several parts the weakest), and whether it says "
    "so. ours: positive as claimed; where two are claimed to be alike, the difference itself. p: two-sided, corrected "
    "by Holm over the table's claims.</p>"
)


def html_table(table: Table) -> str:
    """The table; verdicts have the class of their first word, for their colours."""
    return html_grid(grid(table))


def html_grid(whole: Grid) -> str:
    """An HTML table; verdicts have the class of their first word, for their colours."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in whole.header)
    body = ""
    for index, line in enumerate(whole.lines):
        cells = "".join(
            f"<td{f' class={cell.split()[0]}' if cell in COLOURS else ''}>{html.escape(cell)}</td>" for cell in line
        )
        body += f"<tr{' class=first' if index in whole.first else ''}>{cells}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_picture(picture: Picture) -> str:
    """The picture, inside the page, and what the paper claims of it."""
    claims = "".join(f"<li>The paper: {html.escape(claim)}</li>" for claim in picture.claims)
    if picture.path is None:
        return f"<h2>{html.escape(picture.name)}</h2><p class=dim>{html.escape(picture.why_not)}</p><ul>{claims}</ul>"
    data = base64.b64encode(picture.path.read_bytes()).decode()
    name = html.escape(picture.name)
    image = f'<img alt="{name}" src="data:image/png;base64,{data}">'
    return f"<h2>{name}</h2><figure>{image}</figure><ul>{claims}</ul>"


def html_runs(runs: list[Run]) -> str:
    """What made the numbers: every run's command, seed, commit, device and versions."""
    header = ("folder", "status", "seed", "command", "commit", "device", "torch")
    head = "".join(f"<th>{name}</th>" for name in header)
    rows = ""
    for run in runs:
        results = run.results
        cells = (
            run.folder,
            run.status,
            results.get("seed", ""),
            results.get("command", ""),
            str(results.get("git_commit") or "")[:9],
            results.get("device", ""),
            results.get("versions", {}).get("torch", ""),
        )
        rows += "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>"
    return f"<h2>Runs</h2><div class=wide><table class=runs><tr>{head}</tr>{rows}</table></div>"
