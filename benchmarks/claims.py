"""Every paper's claims and every run, in two files: python -m benchmarks.claims [FOLDER] [SCORE]

FOLDER holds PAPER/TABLE folders of runs: runs/laptop, where cse-train sweep=PAPER/TABLE scale=laptop puts them. SCORE
is the score that stands for the paper's where that was not measured (dev/demo/average). Writes benchmarks/CLAIMS.md, a
line for each claim, and benchmarks/all_runs.csv, a line for each run with its settings and scores. Tables without runs
are listed, not left out.
"""

import csv
import sys
import tempfile
from pathlib import Path

from cse.cli.report import of_sweep, settings
from cse.dotted import flattened
from cse.files import write_text
from cse.report.findings import facts
from cse.report.page import Report
from cse.report.runs import Run
from cse.report.verdicts import Finding
from cse.run.groups import choices
from cse.sweep import jobs

HERE = Path(__file__).parent
HEAD = """# What the papers claim, and what runs of this size say

Made by `python -m benchmarks.claims` from {done} finished runs of {tables} of {all} tables and figures. Another
experiment than the papers' (`conf/scale/laptop.yaml`: MiniLM, which was tuned for sentences before, some tens of steps
on little text): NOT SEEN is the expected answer, and HOLDS or CONTRADICTED speak of this size alone. *printed so*:
whether the paper's own numbers say what its text claims. *Minutes* are those of all of a table's runs.

| paper | table | claim | printed | printed so | ours | interval | n | p (Holm) | verdict | minutes |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def report(name: str, folder: Path, score: str, out: Path) -> Report | None:
    """The report of a sweep's runs, by `score` if they measured nothing of the paper's; None if there are none."""
    place = folder / jobs.read(name).folder
    if not place.is_dir():
        return None
    made = of_sweep(settings([f"sweep={name}", f"runs={place}"]), [place], out)
    if any(finding.effect is not None for finding in made.findings) or not made.runs:
        return made
    return of_sweep(settings([f"sweep={name}", f"runs={place}", f"score={score}"]), [place], out)


def line(name: str, finding: Finding, minutes: float) -> str:
    """A claim as a row of the table."""
    paper, table = name.split("/")
    told = facts(finding)
    cells = [
        paper,
        table,
        finding.claim.says,
        *(told[key] for key in ("printed", "printed so", "ours", "interval", "n", "p")),
    ]
    return "| " + " | ".join([*cells, finding.verdict, f"{minutes:.0f}"]) + " |\n"


def minutes_of(runs: list[Run]) -> float:
    return sum(run.results.get("seconds") or 0 for run in runs) / 60


def settings_of(run: Run) -> dict[str, object]:
    """A run's settings and scores by dotted key."""
    return {"folder": run.folder, "status": run.status, **flattened(run.config), **run.metrics}


def write_runs(runs: list[Run], path: Path) -> None:
    """One line a run, a column for each setting in which any two differ and for each score."""
    rows = [settings_of(run) for run in runs]
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in keys if len({repr(row.get(key)) for row in rows}) > 1]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(folder: str = "runs/laptop", score: str = "dev/demo/average") -> None:
    """Both files, from whatever runs there are."""
    names = choices("sweep")
    with tempfile.TemporaryDirectory() as pictures:
        made = {name: report(name, Path(folder), score, Path(pictures)) for name in names}
    found = {name: one for name, one in made.items() if one is not None and one.runs}
    runs = {run.folder: run for one in found.values() for run in one.runs}
    text = HEAD.format(done=sum(run.status == "done" for run in runs.values()), tables=len(found), all=len(names))
    for name, one in found.items():
        text += "".join(line(name, finding, minutes_of(one.runs)) for finding in one.findings)
    missing = [name for name in names if name not in found]
    text += f"\nNot carried out: {', '.join(missing) or 'none'}.\n"
    write_text(HERE / "CLAIMS.md", text)
    write_runs(list(runs.values()), HERE / "all_runs.csv")
    print(f"{HERE / 'CLAIMS.md'}, {HERE / 'all_runs.csv'}: {len(found)} of {len(names)} tables")


if __name__ == "__main__":
    main(*sys.argv[1:])
