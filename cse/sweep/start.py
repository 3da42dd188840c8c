"""One start of many jobs: prints each outcome and a final table, and decides whether another job may start."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from cse.columns import in_columns
from cse.record.status import DONE, FAILED, RUNNING
from cse.score import Score, in_short
from cse.sweep.jobs import Job
from cse.sweep.process import DONE_BEFORE, INTERRUPTED, KILLED, NOT_RUN, Outcome
from cse.training.signals import SignalForwarder


class Start:
    """The outcomes of one start.

    folder: of the jobs' folders. signals: after the first one no further job starts. fail_fast: nor after a failure.
    """

    def __init__(self, folder: Path, signals: SignalForwarder, *, fail_fast: bool = False):
        self.folder, self.signals, self.fail_fast = folder, signals, fail_fast
        self.outcomes: dict[str, Outcome] = {}  # by job, in the order in which they ended

    def record(self, outcome: Outcome) -> None:
        """Keep a job's outcome and print it."""
        self.outcomes[outcome.job] = outcome
        text = outcome.detail if outcome.score is None else in_words(outcome.score)
        line = f"{time.strftime('%H:%M:%S')}  {outcome.state:11}  {outcome.job}  {text}"
        print(line.rstrip(), flush=True)

    @property
    def failure(self) -> Outcome | None:
        """The first job that failed or was killed."""
        return next((outcome for outcome in list(self.outcomes.values()) if outcome.failed), None)

    @property
    def best(self) -> Outcome | None:
        """The job with the best score."""
        best: Outcome | None = None
        for one in self.outcomes.values():
            if one.score is not None and one.score.better_than(best.score if best else None):
                best = one
        return best

    def refusal(self) -> str | None:
        """Why no further job may start, or None."""
        if self.signals.requested is not None:
            return "stopped by a signal"
        if self.fail_fast and self.failure is not None:
            return f"jobs.fail_fast=true, and {self.failure.job} failed"
        return None

    def print_table(self, title: str, planned: Sequence[str], report: str, *, searched: bool = False) -> None:
        """Print a line for each job, planned ones first, the number done, and the command that shows these, if any.

        searched: whether the jobs are a search's trials, of which the best is named.
        """
        names = dict.fromkeys([*planned, *self.outcomes])
        outcomes = [self.outcomes.get(name, Outcome(name, NOT_RUN)) for name in names]
        rows = [("job", "state", "score", "time", "")]
        for one in outcomes:
            score = "" if one.score is None else in_words(one.score)
            rows.append((one.job, one.state, score, f"{one.seconds:.0f} s" if one.seconds else "", one.detail))
        print(in_columns(rows))
        states = Counter(outcome.state for outcome in outcomes)
        done = states[DONE] + states[DONE_BEFORE]
        others = [f"{states[one]} {one}" for one in (FAILED, KILLED, INTERRUPTED, RUNNING) if states[one]]
        print(f"{title}: {', '.join([f'{done} of {len(outcomes)} done', *others])}")
        if searched and self.best and self.best.score:
            print(f"best trial: {self.best.job}, {in_words(self.best.score)}")
        if done:
            print(f"to compare them:\n  {report}")


def in_words(score: Score) -> str:
    """A score's name and value."""
    return f"{score.name} {in_short(score.value)}"


Runner = Callable[[Sequence[Job], Start], list[Outcome]]
"""Runs jobs and returns their outcomes in the same order."""
