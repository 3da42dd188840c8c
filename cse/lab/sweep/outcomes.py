"""What became of the jobs of one start: each outcome, printed as it comes, and a table of all at the end.

To read: Outcome, of one job; Outcomes, of a start; Place, which runs jobs and records their outcomes.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cse.lab.folder import jobs_file
from cse.lab.folder.runs import Run, read_run
from cse.lab.folder.status import State
from cse.lab.sections import to_columns
from cse.lab.settings.words import texts_of
from cse.lab.sweep.job import PlannedJob
from cse.lab.tracking.wandb_offline import sync_line
from cse.score import Score, in_short
from cse.training.signals import SignalForwarder


@dataclass(frozen=True)
class Outcome:
    """What became of a job in one start. score: the one that selects. detail: the reason, or what to do.

    seconds: it took.
    """

    job: str
    state: State
    score: Score | None = None
    detail: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the job ended in a way that it should not have."""
        return self.state in (State.FAILED, State.KILLED, State.INTERRUPTED)


class Outcomes:
    """The outcomes of one start. by_job: each job's, by name, in the order in which they ended.

    folder: of the jobs' folders. signals: after the first one no further job starts. fail_fast: nor after a failure.
    """

    def __init__(self, folder: Path, signals: SignalForwarder, *, fail_fast: bool = False):
        self.folder, self.signals, self.fail_fast = folder, signals, fail_fast
        self.by_job: dict[str, Outcome] = {}

    def write_plan(self, jobs: Sequence[PlannedJob], search: str | None = None) -> None:
        """Write down what is to run, before it does. search: the one whose trials they are."""
        trial_of = {} if search is None else {"search": search}
        lines = [{"job": job.name, "program": job.program, "words": texts_of(job.words), **trial_of} for job in jobs]
        jobs_file.add_jobs(self.folder, lines)

    def write_trials(self, search: str, trials: int) -> None:
        """Write down how many trials a search is to make."""
        jobs_file.add_jobs(self.folder, [{"search": search, "trials": trials}])

    def record(self, outcome: Outcome) -> None:
        """Keep a job's outcome, write it down unless its run does, and print it."""
        self.by_job[outcome.job] = outcome
        if outcome.state not in (State.DONE, State.DONE_BEFORE, State.RUNNING):
            jobs_file.add_job_end(self.folder, outcome.job, outcome.state, outcome.detail)
        text = outcome.detail if outcome.score is None else score_in_words(outcome.score)
        line = f"{time.strftime('%H:%M:%S')}  {outcome.state:11}  {outcome.job}  {text}"
        print(line.rstrip(), flush=True)

    @property
    def failure(self) -> Outcome | None:
        """The first job that failed or was killed."""
        return next((outcome for outcome in list(self.by_job.values()) if outcome.failed), None)

    def refusal(self) -> str:
        """Why no further job may start; "" if one may."""
        return "stopped by a signal" if self.signals.requested is not None else self.refusal_after_failure()

    def refusal_after_failure(self) -> str:
        """Why no further job may start after a failure; "" if one may."""
        if self.fail_fast and self.failure is not None:
            return f"jobs.fail_fast=true, and {self.failure.job} failed"
        return ""

    def refused(self, job: PlannedJob) -> Outcome | None:
        """The outcome of a job that may not start any more, or None."""
        refusal = self.refusal()
        return Outcome(job.name, State.NOT_RUN, detail=refusal) if refusal else None

    def runs_done(self) -> list[Run]:
        """The finished runs of its jobs."""
        runs = [read_run(self.folder / name) for name in self.by_job]
        return [run for run in runs if run.is_done]

    def print_table(self, title: str, names: Sequence[str]) -> None:
        """Print a line for each job of these names, and how many are done."""
        outcomes = [self.by_job.get(name, Outcome(name, State.NOT_RUN)) for name in names]
        rows = [("job", "state", "score", "time", "")]
        for outcome in outcomes:
            score = "" if outcome.score is None else score_in_words(outcome.score)
            seconds = f"{outcome.seconds:.0f} s" if outcome.seconds else ""
            rows.append((outcome.job, outcome.state, score, seconds, outcome.detail))
        print(to_columns(rows))
        states = Counter(outcome.state for outcome in outcomes)
        done = states[State.DONE] + states[State.DONE_BEFORE]
        named = (State.FAILED, State.KILLED, State.INTERRUPTED, State.RUNNING)
        others = [f"{states[state]} {state}" for state in named if states[state]]
        print(f"{title}: {', '.join([f'{done} of {len(outcomes)} done', *others])}")

    def print_best(self) -> None:
        """Print the job with the best score; of equal ones the first by name, as in a report."""
        best: Outcome | None = None
        for _, outcome in sorted(self.by_job.items()):
            if outcome.score is not None and outcome.score.better_than(best.score if best else None):
                best = outcome
        if best is not None and best.score is not None:
            like = sum(outcome.score == best.score for outcome in self.by_job.values()) - 1
            tied = f", and {like} more like it" if like else ""
            print(f"best trial: {best.job}, {score_in_words(best.score)}{tied}")

    def print_next(self, names: Sequence[str], report: str) -> None:
        """Print the commands that upload these jobs, if there is something to, and that show them, if any is done."""
        if sync := sync_line(self.folder, names):
            print(f"this uploads to W&B what was logged offline:\n  {sync}")
        if any(outcome.state in (State.DONE, State.DONE_BEFORE) for outcome in self.by_job.values()):
            print(f"every score of each job, and how they compare:\n  {report}")


def score_in_words(score: Score) -> str:
    """A score's name and value."""
    return f"{score.name} {in_short(score.value)}"


class Place(Protocol):
    """Where jobs run: on this machine (process.py), or on a cluster (cluster.py)."""

    @property
    def advice(self) -> str:
        """What a start leaves idle there; "" for nothing."""

    @property
    def submission(self) -> str:
        """What a dry run shows beside the jobs; "" for nothing."""

    def run(self, jobs: Sequence[PlannedJob], outcomes: Outcomes) -> list[Outcome]:
        """Run jobs and record their outcomes. Returns these in the order of the jobs."""
