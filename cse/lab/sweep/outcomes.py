"""One start of a command: the outcome of each job so far, and whether a further job may start."""

import time
from dataclasses import dataclass
from pathlib import Path

from cse.lab.folder import jobs_file
from cse.lab.folder.runs import Run, read_run
from cse.lab.folder.status import State
from cse.lab.sweep.job import PlannedJob
from cse.lab.text_columns import say
from cse.score import Score, in_short
from cse.training.signals import SignalForwarder


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job in one start.

    score: the run's score (see process.score_of). detail: the reason, or the next step. seconds: the job's duration.
    """

    job: str
    state: State
    score: Score | None = None
    detail: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the job ended without success."""
        return self.state in (State.FAILED, State.KILLED, State.INTERRUPTED)


class Start:
    """One start of a command.

    folder: the folder that holds the jobs' folders. signals: after the first signal, no further job starts. fail_fast:
    whether a failure also prevents further jobs. outcomes: the outcome of each job by its name, in the order of
    recording.
    """

    def __init__(self, folder: Path, signals: SignalForwarder, *, fail_fast: bool = False):
        self.folder, self.signals, self.fail_fast = folder, signals, fail_fast
        self.outcomes: dict[str, Outcome] = {}

    def record(self, outcome: Outcome) -> None:
        """Store a job's outcome and print it.

        If the job is neither done nor running, also write the outcome into the folder's plan.
        """
        self.outcomes[outcome.job] = outcome
        if outcome.state not in (State.DONE, State.DONE_BEFORE, State.RUNNING):
            jobs_file.add_job_end(self.folder, outcome.job, outcome.state, outcome.detail)
        text = outcome.detail if outcome.score is None else score_in_words(outcome.score)
        line = f"{time.strftime('%H:%M:%S')}  {outcome.state:11}  {outcome.job}  {text}"
        say(line.rstrip())

    @property
    def failure(self) -> Outcome | None:
        """The outcome of the first recorded job that ended without success; None without such a job."""
        return next((outcome for outcome in list(self.outcomes.values()) if outcome.failed), None)

    def why_not_started(self) -> str:
        """Return why no further job may start; "" if a job may start."""
        return "stopped by a signal" if self.signals.requested is not None else self.why_stopped_by_failure()

    def why_stopped_by_failure(self) -> str:
        """Return why no further job may start after a failure; "" if a job may start."""
        if self.fail_fast and self.failure is not None:
            return f"jobs.fail_fast=true, and {self.failure.job} failed"
        return ""

    def not_started(self, job: PlannedJob) -> Outcome | None:
        """Return the outcome of a job that may not start any more; None if the job may start."""
        why = self.why_not_started()
        return Outcome(job.name, State.NOT_RUN, detail=why) if why else None

    @property
    def any_done(self) -> bool:
        """Whether a job is done, by this start or an earlier one."""
        return any(outcome.state in (State.DONE, State.DONE_BEFORE) for outcome in self.outcomes.values())

    def runs_done(self) -> list[Run]:
        """Return the finished runs of the recorded jobs."""
        runs = [read_run(self.folder / name) for name in self.outcomes]
        return [run for run in runs if run.is_done]


def score_in_words(score: Score) -> str:
    """Return a score's name and value."""
    return f"{score.name} {in_short(score.value)}"
