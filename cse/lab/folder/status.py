"""The state of a run: done, running, stopped or failed, and why or how far."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from cse.lab.folder.heartbeat import clock, read_beat
from cse.lab.folder.runs import Run, read_run
from cse.lab.settings.words import line_to_resume

DONE, RUNNING, STOPPED, FAILED, NOT_STARTED = "done", "running", "stopped", "failed", "not started"
STATES = (RUNNING, FAILED, STOPPED, NOT_STARTED, DONE)  # in the order in which reports name them


def counted(states: Sequence[str]) -> str:
    """How many runs are in each state: 8 runs: 7 done, 1 failed."""
    parts = [f"{states.count(state)} {state}" for state in reversed(STATES) if state in states]
    return f"{len(states)} run{'s' if len(states) > 1 else ''}: {', '.join(parts)}"


@dataclass(frozen=True)
class Status:
    """state: one of STATES; detail: why, how far, or how to resume; "" for a run that is done."""

    state: str
    detail: str = ""


def status_of(run: Run, now: float | None = None) -> Status:
    """The state of a run at `now`, in seconds since 1970 (None: at this moment)."""
    now = time.time() if now is None else now
    if run.status == "done":
        return Status(DONE)
    error = " ".join(str(run.results.get("error") or "").split())
    if run.status == "failed":
        return Status(FAILED, error or "it does not say why")
    if run.status == "interrupted":
        return Status(STOPPED, error)
    if run.status == "planned":
        return Status(NOT_STARTED, error)
    if run.status == "broken":
        return Status(FAILED, "its results.json cannot be read")
    beat = read_beat(run.folder)
    if beat is not None and beat.is_alive(now):
        return Status(RUNNING, f"{progress(run)}{beat.host}, process {beat.pid}")
    if beat is None and read_run(run.folder).status != run.status:
        return Status(RUNNING, "it ended while this report was made")  # so its scores are in no table
    since = f"killed after {clock(beat.time)}" if beat else "killed"
    again = f": {line_to_resume(run.folder)} goes on" if (run.folder / "last").is_dir() else ""
    return Status(STOPPED, since + again)


def progress(run: Run) -> str:
    """How far a run is, if that is known, to be put before its host: step 120 of 1,000, 3 min left."""
    logged = [(event["step"], event["time"]) for event in run.events() if isinstance(event.get("time"), float)]
    if not logged:
        return "starting, "
    (first, began), (step, at) = logged[0], logged[-1]
    total = run.results.get("total_steps")
    if total is None:
        return f"step {step:,}, "
    if step >= total:
        return f"all {step:,} steps, scoring, "
    left = (at - began) / (step - first) * (total - step) if step > first else None
    return f"step {step:,} of {total:,}, " + ("" if left is None else f"{duration(left)} left, ")


def duration(seconds: float) -> str:
    """Seconds in words: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
