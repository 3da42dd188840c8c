"""The state of a run or of a planned job. Sweeps, plans and reports use the same names of states.

First come the states, then `status_of`, then the functions that `status_of` calls. A run's state is found once, when
the run is read (cse.lab.folder.runs), so all parts of a report show the same state.
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
    """The state of a run or of a planned job. Each value is the text that is printed and recorded."""

    # the states that a run's folder shows
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"
    NOT_STARTED = "not started"
    DONE = "done"

    # how a job ends in one start of a command; each comment is the state that the job's folder shows later
    DONE_BEFORE = "done before"  # done
    KILLED = "killed"  # stopped
    INTERRUPTED = "interrupted"  # stopped
    NOT_RUN = "not run"  # not started


STATES = (State.RUNNING, State.FAILED, State.STOPPED, State.NOT_STARTED, State.DONE)
"""The states that a run's folder shows."""


class Status(NamedTuple):
    """The state of a run, with details.

    state: one of STATES. why: the reason, the progress, or how to resume; "" for a finished run.
    """

    state: State
    why: str = ""


def status_of(folder: Path, results: Results, beat: Beat | None, now: float | None = None) -> Status:
    """Return the state of a run at `now` (seconds since 1970, or None for the present). beat: the run's last beat."""
    error = " ".join(str(results.get("error") or "").split())
    match results["status"]:
        case "done":
            return Status(State.DONE)
        case "failed":
            return Status(State.FAILED, error or "no reason is recorded")
        case "interrupted":
            return Status(State.STOPPED, error)
        case "broken":
            return Status(State.FAILED, "its results.json cannot be read")
        case "running":
            return status_of_unfinished(folder, results, beat, time.time() if now is None else now)


def status_of_unfinished(folder: Path, results: Results, beat: Beat | None, now: float) -> Status:
    """Return the state of a run without a recorded end: running, stopped (it was killed), or not started."""
    if not folder.exists():
        return Status(State.NOT_STARTED)
    if beat is not None and beat.is_alive(now):
        return at_work(folder, results, beat)
    killed = "killed" if beat is None else f"killed after {clock(beat.time)}"
    has_checkpoint = (folder / "last").is_dir()
    return Status(State.STOPPED, f"{killed}: {line_to_resume(folder)} continues it" if has_checkpoint else killed)


def line_to_resume(folder: Path, *more: str) -> str:
    """Return the command that resumes the run in this folder."""
    name = f"./{folder}" if str(folder) in ("null", "auto") or str(folder).startswith("~") else str(folder)
    return shell_line("cse-train", spell_argument("resume", name), *more)


def at_work(folder: Path, results: Results, beat: Beat) -> Status:
    """Return the state of a run whose process is alive."""
    return Status(State.RUNNING, ", ".join([*progress(folder, results, beat.since), beat.host, f"process {beat.pid}"]))


def progress(folder: Path, results: Results, since: float) -> list[str]:
    """Return the progress of a run and, if known, the remaining time: ["step 120 of 1,000", "3 min left"].

    since: the time of the run's last start, in seconds since 1970. Earlier events do not count for the speed.
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
    """Return a duration as text, such as 40 s, 12 min or 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def counted(states: Sequence[str]) -> str:
    """Return the number of runs in each state as text: "8 runs: 7 done, 1 failed"."""
    parts = [f"{states.count(state)} {state}" for state in reversed(STATES) if state in states]
    return f"{len(states)} run{'s' if len(states) > 1 else ''}: {', '.join(parts)}"
