"""The jobs that a command planned, and how jobs without a run ended: the file jobs.jsonl in the command's folder.

Its lines:
    {"job": name, "program": ..., "words": [...]}    a planned job. "search": the search that asked for the job.
                                                     "logged": bytes of job.log that earlier starts wrote
    {"ended": name, "state": ..., "why": ...}        a job that ended without success
    {"search": name, "trials": number}               the number of trials that a search will make

If several lines are about one job, the last line counts: a job that is planned again after its end is "not started". To
remove a planned job, delete its line.
"""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cse.files import add_json_lines, cannot_write, json_lines
from cse.lab.folder.contents import RESULTS, RUN
from cse.lab.folder.heartbeat import read_beat
from cse.lab.folder.runs import Run
from cse.lab.folder.status import State, Status, at_work
from cse.lab.settings.arguments import recorded_arguments, settings_of_arguments

PLAN, LOG = "jobs.jsonl", "job.log"


def add_jobs(folder: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """Add lines about jobs or searches to a folder's plan. Raises RunError or UserError if writing the plan fails."""
    file = folder / PLAN
    try:
        add_json_lines(file, [with_log_length(folder, line) for line in lines])
    except OSError as error:
        raise cannot_write(file, error) from error


def with_log_length(folder: Path, line: Mapping[str, object]) -> Mapping[str, object]:
    """Return the line. If the job has a log of an earlier start, the line gets "logged": the log's length in bytes."""
    log = folder / str(line.get("job")) / LOG
    return {**line, "logged": log.stat().st_size} if log.is_file() else line


def add_job_end(folder: Path, job: str, state: str, why: str) -> None:
    """Add a line about the end of a job.

    If the disk refuses the line, no error is raised: the other jobs continue.
    """
    with contextlib.suppress(OSError):
        add_json_lines(folder / PLAN, [{"ended": job, "state": state, "why": why}])


@dataclass(frozen=True)
class PlanEntry:
    """The facts that a plan records about a job. A job without a plan has the default values.

    words: the arguments of the job's command. search: the search that asked for the job. logged: the number of bytes
    that earlier starts wrote to the log. ended: the state of a job that ended without success (cse.lab.folder.status).
    why: the reason for this end.
    """

    program: str = "cse-train"
    words: Sequence[str] = ()
    search: str = ""
    logged: int = 0
    ended: str = ""
    why: str = ""


def jobs_without_run(folders: Iterable[Path]) -> list[Run]:
    """Return the planned jobs at or below these folders whose own folder has neither results.json nor run.yaml.

    Each job is a Run with the settings that its arguments give. The jobs are sorted by folder.
    """
    jobs: dict[Path, Run] = {}
    for place in folders:
        for folder, job in planned_below(place):
            if folder.resolve() not in jobs and not has_files(folder):
                jobs[folder.resolve()] = as_run(folder, job)
    return [jobs[folder] for folder in sorted(jobs)]


def planned_below(place: Path) -> Iterator[tuple[Path, PlanEntry]]:
    """Yield (folder, job) of the planned jobs at or below a folder.

    If a job is in a plan and has a log, the function yields it twice: first with the facts from the plan.
    """
    if (job := planned_in(place.parent).get(place)) is not None:  # `place` may be the folder of one job
        yield place, job
    for above, _, files in os.walk(place):
        if PLAN in files:
            yield from planned_in(Path(above)).items()
        if LOG in files:  # a sweep of an older version of cse has logs, but no plan
            yield Path(above), PlanEntry()


def has_files(folder: Path) -> bool:
    """Return whether a job began its work: its folder has results.json or run.yaml."""
    return any((folder / name).exists() for name in (RESULTS, RUN))


def planned_in(folder: Path) -> dict[Path, PlanEntry]:
    """Return {job's folder: job} of a folder's plan. Each trial that a search still has to plan is also a job."""
    jobs: dict[Path, PlanEntry] = {}
    trials: dict[str, int] = {}
    for line in json_lines(folder / PLAN):
        match line:
            case {"job": str(name)}:
                about = {key: line[key] for key in ("program", "words", "search", "logged") if key in line}
                jobs[folder / name] = PlanEntry(**about)
            case {"ended": str(name), "state": state, "why": why} if folder / name in jobs:
                one_line = " ".join(str(why).split())
                jobs[folder / name] = replace(jobs[folder / name], ended=str(state), why=one_line)
            case {"search": str(search), "trials": int(number)}:
                trials[search] = number
    made = [job.search for job in jobs.values()]
    for search, count in trials.items():
        numbers = range(made.count(search) + 1, count + 1)
        jobs |= {folder / f"trial {number} of {count} ({search})": PlanEntry() for number in numbers}
    return jobs


def as_run(folder: Path, job: PlanEntry) -> Run:
    """Return a planned job as a Run without scores."""
    arguments = recorded_arguments(job.words)
    config, choices = settings_of_arguments(arguments)
    status = status_of_job(folder, job)
    return Run(
        folder=folder,
        state=status.state,
        why=status.why,
        program=job.program,
        arguments=tuple(arguments),
        config=config,
        choices=choices,
        metrics={},
        results={},
    )


def status_of_job(folder: Path, job: PlanEntry) -> Status:
    """Return the state of a job without a run: from its heartbeat, from the record of its end, or from its log."""
    beat = read_beat(folder)
    if beat is not None and beat.is_alive(time.time()):
        return at_work(folder, {}, beat)
    match job.ended:
        case State.FAILED:
            return Status(State.FAILED, job.why or "no reason is recorded")
        case State.KILLED | State.INTERRUPTED:  # the next start of the job continues it
            return Status(State.STOPPED, job.why)
        case "" if (folder / LOG).is_file():
            return status_in_log(folder / LOG, job.logged)
        case _:
            return Status(State.NOT_STARTED, job.why)


def status_in_log(log: Path, logged: int) -> Status:
    """Return the state of a job from its log. logged: the number of bytes to ignore, from earlier starts."""
    content = log.read_bytes()
    own = content[logged:] if len(content) >= logged else content  # a user may have emptied the log
    text = own.decode(errors="replace").strip()
    if not text:
        return Status(State.NOT_STARTED)
    last = text.splitlines()[-1]
    if last.startswith(("cse-train: ", "cse-eval: ")) or "Traceback (most recent call last)" in text:
        return Status(State.FAILED, f"{last.partition(': ')[2] or last} ({log})")
    return Status(State.STOPPED, "killed before its run began")
