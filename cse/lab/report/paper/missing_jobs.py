"""The planned jobs of a sweep that have no finished run, in lines of text.

Start at `missing_jobs`. The state of a job is the state of its furthest run (`furthest_status`).
"""

from collections import Counter
from collections.abc import Sequence

from cse.lab.folder.runs import Run, Where
from cse.lab.folder.status import State, Status
from cse.lab.report.formats import counted_noun
from cse.lab.settings.values import format_value

SINGLY = 12  # at most this many lines; if there are more, a line counts a group of jobs
FURTHEST_FIRST = (State.DONE, State.RUNNING, State.STOPPED, State.FAILED, State.NOT_STARTED)
"""If the runs of a job have several states, the first of these is the state of the job."""


def missing_jobs(runs: Sequence[Run], expected: Sequence[Where], seed_key: str) -> list[str]:
    """Return lines on the planned jobs without a finished run, such as "m=5: seeds 1, 2, 3 not started".

    Jobs that differ only in their seed share a line. If there are more than SINGLY lines, each line counts the jobs
    with one value of the first axis and one state. The line of a running job has its progress.
    """
    planned = [run for run in runs if not run.departures] or list(runs)
    if not expected:
        unfinished = [run for run in planned if run.state != State.DONE]
        return [f"{run.folder.name} {progress_in_words(Status(run.state, run.why))}" for run in unfinished]
    jobs = [(job, furthest_status(job, planned)) for job in expected]
    missing = [(job, status) for job, status in jobs if status.state != State.DONE]
    seeds: dict[tuple[str, str], list[str]] = {}
    for job, status in missing:
        axes = ", ".join(words_of_job({key: value for key, value in job.items() if key != seed_key}))
        seed = [format_value(job[seed_key])] if seed_key in job else []
        seeds.setdefault((axes, progress_in_words(status)), []).extend(seed)
    if len(seeds) > SINGLY:
        groups = Counter((words_of_job(job)[0], status.state) for job, status in missing)
        return [f"{first}: {counted_noun(count, 'job')} {state}" for (first, state), count in groups.items()]
    alike: dict[str, list[str]] = {}
    for (axes, progress), of_seeds in seeds.items():
        words = f"seed{'s' if len(of_seeds) > 1 else ''} {', '.join(of_seeds)} " if of_seeds else ""
        alike.setdefault(f"{words}{progress}", []).append(axes)
    return [f"{in_one(axes)}{words}" for words, axes in alike.items()]


def in_one(axes: Sequence[str]) -> str:
    """Return the axes of jobs with the same state, as one text: "m=4, 5: "; "" if there are no axes."""
    key = axes[0].partition("=")[0]
    if all(words.startswith(f"{key}=") and words.count("=") == 1 for words in axes):
        return f"{key}={', '.join(words.removeprefix(f'{key}=') for words in axes)}: "
    return f"{' / '.join(axes)}: " if any(axes) else ""


def progress_in_words(status: Status) -> str:
    """Return the state of a job, and the progress of a running job."""
    return f"{status.state} ({status.why})" if status.state == State.RUNNING else str(status.state)


def words_of_job(job: Where) -> list[str]:
    """Return KEY=VALUE for each axis of a planned job, with only the last part of the key: lr=1 for trainer.lr=1."""
    return [f"{key.rpartition('.')[2]}={format_value(value)}" for key, value in job.items()]


def furthest_status(job: Where, runs: Sequence[Run]) -> Status:
    """Return the status of a planned job: the status of its furthest run."""
    statuses = [Status(run.state, run.why) for run in runs if run.matches(job)]
    return min(statuses, key=lambda status: FURTHEST_FIRST.index(status.state), default=Status(State.NOT_STARTED))
