"""One start of many jobs, on disk: the plan of what is run, and a ledger with a line for each job that has ended."""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cse.dotted import Json
from cse.files import json_line, read_lines, write_json, write_text
from cse.record.status import RUNNING
from cse.sweep import jobs
from cse.sweep.multirun import Multirun

FOLDER = ".starts"  # in the folder of the jobs
Score = tuple[str, float]
"""A score's name and value."""

FAILED, DONE = ("failed", "killed", "interrupted"), ("done", "done before")


@dataclass(frozen=True)
class Plan:
    """sweep: its name, "" for a line with -m of `program` over `keys`. rows: the overrides of each job, or of each
    search, with the ranges that it searches. fail_fast: no job is started after one that failed."""

    program: str
    sweep: str
    keys: list[str]
    rows: list[list[str]]
    fail_fast: bool

    def write(self, folder: Path) -> Path:
        """A new file for this start, below the jobs' folder; raises RunError where it cannot be written."""
        path = folder / FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**9:09}-{os.getpid()}.json"
        write_json(path, asdict(self))
        ledger_of(path).touch()
        return path.absolute()

    def table(self) -> "jobs.Sweep | Multirun":
        """What names the jobs and gives their arguments."""
        return jobs.read(self.sweep) if self.sweep else Multirun(self.program, tuple(self.keys))


def read(path: Path) -> Plan:
    """The plan that `write` left at `path`."""
    return Plan(**json.loads(path.read_text(encoding="utf-8")))


def ledger_of(path: Path) -> Path:
    """The ledger of a plan: a file beside it."""
    return path.with_suffix(".jsonl")


def stop(path: Path, number: int) -> None:
    """No more of the plan's jobs are started, after signal `number`."""
    write_text(path.with_suffix(".stopped"), str(number))  # in one step, as other processes look for it all the time


def stopped(path: Path) -> int | None:
    """The number of the signal that stopped the plan at `path`, if one did."""
    file = path.with_suffix(".stopped")
    return int(file.read_text(encoding="utf-8")) if file.exists() else None


def record_end(
    path: Path, job: str, state: str, *, score: Score | None = None, seconds: float = 0.0, why: str = ""
) -> None:
    """Add a job's end to the ledger of the plan at `path`, and print it."""
    line = {"job": job, "state": state, "score": score, "seconds": round(seconds), "why": why}
    with open(ledger_of(path), "ab", buffering=0) as ledger:  # one write: jobs at the same time do not mix their lines
        ledger.write(json_line(line).encode())
    shown = why if score is None else in_words(score)
    print(f"{time.strftime('%H:%M:%S')}  {state:11}  {job}  {shown}".rstrip(), flush=True)


def in_words(score: Sequence[Any]) -> str:
    """A Score, or the list that the ledger has of it."""
    name, value = score
    return f"{name} {value:.2f}"


def ends(path: Path) -> dict[str, Json]:
    """The last line of each job in the ledger of the plan at `path`, by the job's name."""
    return {line["job"]: line for line in read_lines(ledger_of(path))}


def conclude(title: str, path: Path, planned: Sequence[str], report: str) -> int:
    """Print a table of all jobs, and the command that compares them. Returns 1 if a job failed, else 0."""
    from rich.console import Console
    from rich.table import Table

    ended = ends(path)
    scored = {end["score"][0] for end in ended.values() if end["score"]}
    heading = "score" if len(scored) > 1 else "".join(scored) or "score"
    table = Table(box=None, header_style="bold")
    for column in ("job", "state", heading, "time", ""):  # in a narrow terminal names and reasons are folded
        table.add_column(column, overflow="fold", no_wrap=column in ("state", heading, "time"))
    for name in dict.fromkeys([*planned, *ended]):
        end = ended.get(name, {"state": "not run", "score": None, "seconds": None, "why": ""})
        score = "" if end["score"] is None else in_words(end["score"]).removeprefix(f"{heading} ")
        seconds = "" if end["seconds"] is None else f"{end['seconds']} s"
        table.add_row(name, end["state"], score, seconds, end["why"])
    on_terminal = sys.stdout.isatty()
    Console(width=None if on_terminal else 200, soft_wrap=not on_terminal, markup=False).print(table)
    states = Counter(end["state"] for end in ended.values())
    done = sum(states[state] for state in DONE)
    not_done = [f"{states[state]} {state}" for state in (*FAILED, RUNNING) if states[state]]
    counts = ", ".join([f"{done} of {max(len(planned), len(ended))} done", *not_done])
    print(f"{title}: {counts}; {report}")
    return 1 if any(states[state] for state in FAILED) else 0
