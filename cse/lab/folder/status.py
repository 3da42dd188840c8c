"""The state of a run, or of a planned job, in one vocabulary for sweeps, plans and reports.

First come the states, then `status_of`, then the functions that it calls. A run gets its state once, when it is read
(cse.lab.folder.runs). So all parts of a report show the same state.
"""

import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from cse.lab.folder.contents import Results
from cse.lab.folder.events import metric_events
from cse.lab.folder.heartbeat import Beat, clock
from cse.lab.settings.arguments import shell_line, spell_argument


class State(StrEnum):
    """The state of a run or of a planned job, in the words that are printed and recorded."""

    # what a folder tells
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"
    NOT_STARTED = "not started"
    DONE = "done"

    # how one start of a command saw a job end, and what its folder tells later
    DONE_BEFORE = "done before"  # done
    KILLED = "killed"  # stopped
    INTERRUPTED = "interrupted"  # stopped
    NOT_RUN = "not run"  # not started


STATES = (State.RUNNING, State.FAILED, State.STOPPED, State.NOT_STARTED, State.DONE)
"""What a folder tells, in the order in which reports name it."""


class Status(NamedTuple):
    """The state of a run. state: one of STATES.

    why: the reason, the progress, or how to resume; "" for a finished run.
    """

    state: State
    why: str = ""


def status_of(folder: Path, results: Results, beat: Beat | None, now: float | None = None) -> Status:
    """The state of a run at `now`, in seconds since 1970 (None: at this moment). beat: the run's last beat."""
    error = " ".join(str(results.get("error") or "").split())
    match results["status"]:
        case "done":
            return Status(State.DONE)
        case "failed":
            return Status(State.FAILED, error or "it does not say why")
        case "interrupted":
            return Status(State.STOPPED, error)
        case "broken":
            return Status(State.FAILED, "its results.json cannot be read")
        case "running":
            return status_of_unfinished(folder, results, beat, time.time() if now is None else now)


def status_of_unfinished(folder: Path, results: Results, beat: Beat | None, now: float) -> Status:
    """The state of a run without a recorded end: the run is working, was killed, or has not begun."""
    if not folder.exists():
        return Status(State.NOT_STARTED)
    if beat is not None and beat.is_alive(now):
        return at_work(folder, results, beat)
    killed = "killed" if beat is None else f"killed after {clock(beat.time)}"
    has_checkpoint = (folder / "last").is_dir()
    return Status(State.STOPPED, f"{killed}: {line_to_resume(folder)} continues it" if has_checkpoint else killed)


def line_to_resume(folder: Path, *more: str) -> str:
    """The command that resumes the run in this folder."""
    name = f"./{folder}" if str(folder) in ("null", "auto") or str(folder).startswith("~") else str(folder)
    return shell_line("cse-train", spell_argument("resume", name), *more)


def at_work(folder: Path, results: Results, beat: Beat) -> Status:
    """The state of a run whose process is alive."""
    return Status(State.RUNNING, ", ".join([*progress(folder, results, beat.since), beat.host, f"process {beat.pid}"]))


def progress(folder: Path, results: Results, since: float) -> list[str]:
    """The progress of a run, and the remaining time if it is known: step 120 of 1,000; 3 min left.

    since: the last start of the run, in seconds since 1970. Earlier events do not count for the run's speed.
    """
    logged = [(event["step"], event["time"]) for event in metric_events(folder) if isinstance(event.get("time"), float)]
    if not logged:
        return ["starting"]
    step, at = logged[-1]
    total = results.get("total_steps")
    if total is None:
        return [f"step {step:,}"]
    if step >= total:
        return [f"all {step:,} steps", "scoring"]
    place = f"step {step:,} of {total:,}"
    first, began = next((event for event in logged if event[1] >= since), logged[-1])
    if step == first:
        return [place]
    left = (at - began) / (step - first) * (total - step)
    return [place, f"{duration(left)} left"]


def duration(seconds: float) -> str:
    """Seconds in words: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def counted(states: Sequence[str]) -> str:
    """How many runs are in each state: 8 runs: 7 done, 1 failed."""
    parts = [f"{states.count(state)} {state}" for state in reversed(STATES) if state in states]
    return f"{len(states)} run{'s' if len(states) > 1 else ''}: {', '.join(parts)}"
