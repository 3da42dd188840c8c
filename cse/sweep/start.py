"""One start of many jobs: what has become of each, as it ends and in a table, and whether another one is started."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from cse.columns import in_columns, printable
from cse.record.status import DONE, FAILED, RUNNING
from cse.sweep.jobs import Job
from cse.sweep.process import DONE_BEFORE, INTERRUPTED, KILLED, NOT_RUN, Outcome
from cse.training.signals import SignalForwarder


class Start:
    """The outcomes of one start. folder: of the jobs' folders. signals: a first one lets no more job start.
    fail_fast: nor does a failed job."""

    def __init__(self, folder: Path, signals: SignalForwarder, *, fail_fast: bool = False):
        self.folder, self.signals, self.fail_fast = folder, signals, fail_fast
        self.ended: dict[str, Outcome] = {}

    def end(self, outcome: Outcome) -> None:
        """Keep a job's outcome, and print it."""
        self.ended[outcome.job] = outcome
        text = outcome.detail if outcome.score is None else "{} {:.2f}".format(*outcome.score)
        line = f"{time.strftime('%H:%M:%S')}  {outcome.state:11}  {outcome.job}  {text}"
        print(printable(line).rstrip(), flush=True)

    @property
    def failure(self) -> Outcome | None:
        """The first job that failed or was killed."""
        return next((outcome for outcome in list(self.ended.values()) if outcome.failed), None)

    def refusal(self) -> str | None:
        """Why no more job is started; None where one may be."""
        if self.signals.requested is not None:
            return "stopped by a signal"
        if self.fail_fast and self.failure is not None:
            return f"jobs.fail_fast=true, and {self.failure.job} failed"
        return None

    def print_table(self, title: str, planned: Sequence[str], report: str) -> None:
        """Print a line for each job, the planned ones first, how many are done, and the command that compares them."""
        outcomes = [self.ended.get(name, Outcome(name, NOT_RUN)) for name in dict.fromkeys([*planned, *self.ended])]
        rows = [("job", "state", "score", "time", "")]
        for one in outcomes:
            score = "" if one.score is None else "{} {:.2f}".format(*one.score)
            rows.append((one.job, one.state, score, f"{one.seconds:.0f} s" if one.seconds else "", one.detail))
        print(in_columns(rows))
        states = Counter(outcome.state for outcome in outcomes)
        done = states[DONE] + states[DONE_BEFORE]
        others = [f"{states[one]} {one}" for one in (FAILED, KILLED, INTERRUPTED, RUNNING) if states[one]]
        print(printable(f"{title}: {', '.join([f'{done} of {len(outcomes)} done', *others])}; {report}"))


Runner = Callable[[Sequence[Job], Start], list[Outcome]]
"""Runs jobs. Returns their outcomes in the same order."""
