"""Every paper's claims and every run, in three files that grow: python -m benchmarks.claims FOLDER [--only PAPER/TABLE]

FOLDER holds PAPER/TABLE folders of runs: runs/laptop, where cse-train sweep=PAPER/TABLE scale=laptop puts them. Their
tables are judged anew, each from the runs that are there now and all its claims at once; what other tables gave before
stays as it is, so that runs need not be kept.

    claims.csv      a line for each claim of each table that was carried out, dated, with the commit that judged it
    all_runs.csv.gz a line for each run behind them: settings, scores, commit, training texts in evaluation sets
    CLAIMS.md       claims.csv for people, made anew from the two each time
"""

import argparse
import csv
import gzip
import io
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cse.cli.reporting import settings
from cse.config.compose import nearest
from cse.config.groups import choices
from cse.config.keys import is_science
from cse.dotted import flattened
from cse.errors import UserError
from cse.files import replaced_file, write_text
from cse.record.results import git_commit
from cse.record.runs import Run
from cse.report.findings import FACTS, facts
from cse.report.page import Report
from cse.report.sweep import of_sweep
from cse.report.verdicts import SEEDS
from cse.sweep import jobs

HERE = Path(__file__).parent
HEAD = """# What the papers claim, and what runs of this size say

Made by `python -m benchmarks.claims` from {done} finished runs of {tables} of {all} tables and figures;
[what each column says](../docs/claims.md), here and in `claims.csv` and `all_runs.csv.gz`. Another
experiment than the papers': MiniLM, which was tuned for sentences before, three or six steps on little text, mostly
scored by word similarity (`dev/demo/average`) where the papers have STS, transfer or MTEB, many of them one run a side.
**Of {claims} claims {unjudged} are NOT JUDGED** and {unrun} NOT RUN; no line is evidence for or against a paper, and
what they show is that every table runs. Of before the rules of November 2026 are p and intervals over seeds, which were
paired, and some claims' words, which were mended since. *printed so*: whether the paper's own numbers say what its
text claims. *Over items*: the interval over other pairs or rows of the same test sets. *Missing*: what a claim's other
parts lack. A
row of RoBERTa or of a large encoder has no run because MiniLM stands for every encoder at this size, and a sweep's
`laptop:` runs it once. Scores that are missing had no data: DeCLUTR's averages need SentEval's SUBJ, MPQA, COCO and
probing files, MTEB's categories its sets, Table S5 the checkpoints on the hub. Long grids were run in part: *runs* is
how many, *minutes* how long all of them took. *Commit*: of the code that judged them.
"""
COLUMNS = ("paper", "table", "claim", *FACTS, "verdict", "minutes", "runs", "date", "commit")
SHOWN = tuple(name for name in COLUMNS if name != "test")
RESULTS = ("git_commit", "device", "steps", "best_step", "seconds")  # of a run's results.json
FEW_STEPS = 100  # no paper trains so few
OVERLAP = ("texts", "exact", "normalised")
FIRST = ("folder", "status", *RESULTS, *(f"overlap.{name}" for name in OVERLAP))

Row = dict[str, str]
"""A line of a CSV file."""


def report(name: str, folder: Path, score: str, out: Path) -> Report | None:
    """The report of a sweep's runs, by `score` if they measured nothing of the paper's; None if there are none."""
    place = folder / jobs.read(name).folder
    if not place.is_dir():
        return None
    made = of_sweep(settings([f"sweep={name}", f"runs={place}"]), [place], out)
    scored = any(score in run.metrics for run in made.runs)
    if not scored or any(finding.found.effect is not None for finding in made.findings):
        return made
    return of_sweep(settings([f"sweep={name}", f"runs={place}", f"score={score}"]), [place], out)


def claim_rows(name: str, made: Report) -> list[Row]:
    """A table's claims; one line without a claim where it has none."""
    paper, table = name.split("/")
    common = {
        "paper": paper,
        "table": table,
        "minutes": f"{sum(run.results.get('seconds') or 0 for run in made.runs) / 60:.0f}",
        "runs": str(sum(run.status == "done" for run in made.runs)),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": (git_commit() or "")[:9],
    }
    rows = [
        common | {"claim": finding.claim.says, **facts(finding), "verdict": finding.verdict_text}
        for finding in made.findings
    ]
    return rows or [common | {"claim": ""}]


def run_row(run: Run, folder: Path) -> Row:
    """A run's settings and scores by dotted key, and where it comes from; of paths on this machine the last part."""
    overlap = run.results.get("overlap") or {}
    config = {key: value for key, value in flattened(run.config).items() if is_science(key)}
    told = {
        "folder": run.folder.relative_to(folder),
        "status": run.status,
        **{key: run.results.get(key) for key in RESULTS},
        **{f"overlap.{name}": overlap.get(name) for name in OVERLAP},
        **config,
        **run.metrics,
    }
    return {key: _bare(value) for key, value in told.items()}


def _bare(value: object) -> str:
    text = "" if value is None else str(value)
    return Path(text).name if text.startswith("/") else text


def read(path: Path) -> list[Row]:
    """The lines of a CSV file, which may be packed (.gz); none where it does not exist."""
    if not path.exists():
        return []
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def write(path: Path, rows: list[Row], columns: Sequence[str]) -> None:
    """The lines as a CSV file, in one step; packed where its name ends so, the same bytes for the same lines."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    with replaced_file(path) as temporary:
        temporary.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def columns_of(runs: list[Row]) -> list[str]:
    """Of all_runs.csv.gz: where a run comes from, its scores, then its settings by name."""
    keys = {
        key
        for row in runs
        for key in row
        if is_science(key) and key != "smoke" and not key.endswith(("_target_", "_partial_"))
    }
    scores = {key for key in keys if key.startswith(("dev/", "test/"))}
    return [*FIRST, *sorted(scores), *sorted(keys - scores - set(FIRST))]


def kept(rows: list[Row], fresh: Callable[[Row], bool], new: list[Row], order: Callable[[Row], object]) -> list[Row]:
    """The lines that nothing new replaces, and the new ones, in order."""
    return sorted([*(row for row in rows if not fresh(row)), *new], key=order)  # type: ignore[arg-type, return-value]


def by_the_rules(row: Row, runs: list[Row]) -> Row:
    """A line of before there were reasons (it has no quantity), as it is judged now: of runs of a few steps not at all.

    runs: all of all_runs.csv.gz. What the line told of them stays.
    """
    if row.get("quantity") or row.get("verdict", "").partition(" (")[0] in ("", "NOT RUN"):
        return row
    steps = max((int(run["steps"]) for run in runs if run.get("steps")), default=0)
    place = Path(jobs.read("/".join((row["paper"], row["table"]))).folder)
    trained = any(Path(run["folder"]).is_relative_to(place) and run.get("steps") for run in runs)
    seeds = [int(number) for number in re.findall(r"\d+", row["n"].partition(",")[0])]
    small = steps <= FEW_STEPS and all(
        "minilm" in run.get("model.name", "minilm") or not run["model.name"] for run in runs
    )
    why = [f"another setting than the paper's: MiniLM, at most {steps} steps"] if small else []
    if trained and "points" not in row["n"] and min(seeds, default=0) < SEEDS:
        why.append(f"{row['n'].partition(',')[0]}, where each trained side needs {SEEDS} seeds")
    return {**row, "verdict": "NOT JUDGED", "not judged": "; ".join(why)} if why else row


def page(claims: list[Row], runs: list[Row], names: list[str]) -> str:
    """CLAIMS.md."""
    claims = [by_the_rules(row, runs) for row in claims]
    verdicts = Counter(row["verdict"].partition(" (")[0] for row in claims if row["claim"])
    tables = dict.fromkeys(f"{row['paper']}/{row['table']}" for row in claims)
    text = HEAD.format(
        done=sum(row["status"] == "done" for row in runs),
        tables=len(tables),
        all=len(names),
        claims=verdicts.total(),
        unjudged=verdicts["NOT JUDGED"],
        unrun=verdicts["NOT RUN"],
    )
    text += f"\n| {' | '.join(SHOWN)} |\n|{' --- |' * len(SHOWN)}\n"
    for row in claims:
        if row["claim"]:
            text += "| " + " | ".join((row.get(name) or "").replace("|", "\\|") for name in SHOWN) + " |\n"
    silent = [f"{row['paper']}/{row['table']}" for row in claims if not row["claim"]]
    text += f"\nCarried out, and the paper claims nothing from it: {', '.join(silent) or 'none'}.\n"
    missing = [name for name in names if name not in tables]
    return text + f"\nNot carried out: {', '.join(missing) or 'none'}.\n"


def main(folder: Path, only: Sequence[str] = (), score: str = "dev/demo/average") -> None:
    """All three files, from the runs there are and what was known before."""
    names = [name for name in choices("sweep") if not name.startswith("study/")]  # the papers'
    if unknown := [name for name in only if name not in names]:
        raise UserError(f"--only {unknown[0]}: there is no such sweep{nearest(unknown[0], names)}")
    with tempfile.TemporaryDirectory() as pictures:
        made = {name: report(name, folder, score, Path(pictures)) for name in only or names}
    found = {name: one for name, one in made.items() if one is not None and one.runs}
    runs = {str(run.folder.relative_to(folder)): run_row(run, folder) for one in found.values() for run in one.runs}
    claims = kept(
        read(HERE / "claims.csv"),
        lambda row: f"{row['paper']}/{row['table']}" in found,
        [row for name, one in found.items() for row in claim_rows(name, one)],
        lambda row: names.index(f"{row['paper']}/{row['table']}"),
    )
    every = kept(
        read(HERE / "all_runs.csv.gz"),
        lambda row: row["folder"] in runs,
        list(runs.values()),
        lambda row: row["folder"],
    )
    if found:
        write(HERE / "claims.csv", claims, COLUMNS)
        write(HERE / "all_runs.csv.gz", every, columns_of(every))
    write_text(HERE / "CLAIMS.md", page(claims, every, names))
    print(f"{HERE}: claims.csv, all_runs.csv.gz, CLAIMS.md; judged {', '.join(found) or 'nothing'}")


def command() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/laptop"), help="PAPER/TABLE folders of runs")
    parser.add_argument("--only", nargs="+", default=[], metavar="PAPER/TABLE", help="judge these tables alone")
    parser.add_argument(
        "--score", default="dev/demo/average", help="stands for the paper's score where that was not measured"
    )
    arguments = parser.parse_args()
    try:
        main(arguments.folder, arguments.only, arguments.score)
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    command()
