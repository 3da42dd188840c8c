"""One start of many jobs: it runs them on this machine, several at a time, each on its own GPUs if there are any, and
prints each outcome and a final table. A cluster runs them in cse.lab.sweep.cluster.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from omegaconf import OmegaConf

from cse.errors import UserError
from cse.lab.folder import plan
from cse.lab.folder.status import State
from cse.lab.sections import to_columns
from cse.lab.settings.words import texts_of
from cse.lab.sweep import process
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.process import Outcome
from cse.lab.tracking.wandb import has_key, sync_line
from cse.score import Score, in_short
from cse.training.signals import SignalForwarder


class Start:
    """The outcomes of one start.

    folder: of the jobs' folders. signals: after the first one no further job starts. fail_fast: nor after a failure.
    """

    def __init__(self, folder: Path, signals: SignalForwarder, *, fail_fast: bool = False):
        self.folder, self.signals, self.fail_fast = folder, signals, fail_fast
        self.outcomes: dict[str, Outcome] = {}  # by job, in the order in which they ended

    def plan(self, jobs: Sequence[PlannedJob], search: str | None = None) -> None:
        """Write down what is to run, before it does. search: the one whose trials they are."""
        of = {} if search is None else {"search": search}
        lines = [{"job": job.name, "program": job.program, "words": texts_of(job.words), **of} for job in jobs]
        plan.add_jobs(self.folder, lines)

    def plan_search(self, search: str, trials: int) -> None:
        """Write down how many trials a search is to make."""
        plan.add_jobs(self.folder, [{"search": search, "trials": trials}])

    def record(self, outcome: Outcome) -> None:
        """Keep a job's outcome, write it down unless its run does, and print it."""
        self.outcomes[outcome.job] = outcome
        if outcome.state not in (State.DONE, State.DONE_BEFORE, State.RUNNING):
            plan.add_job_end(self.folder, outcome.job, outcome.state, outcome.detail)
        text = outcome.detail if outcome.score is None else score_in_words(outcome.score)
        line = f"{time.strftime('%H:%M:%S')}  {outcome.state:11}  {outcome.job}  {text}"
        print(line.rstrip(), flush=True)

    @property
    def failure(self) -> Outcome | None:
        """The first job that failed or was killed."""
        return next((outcome for outcome in list(self.outcomes.values()) if outcome.failed), None)

    @property
    def best(self) -> Outcome | None:
        """The job with the best score; of equal ones the first by name, as in a report."""
        best: Outcome | None = None
        for _, one in sorted(self.outcomes.items()):
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
        outcomes = [self.outcomes.get(name, Outcome(name, State.NOT_RUN)) for name in names]
        rows = [("job", "state", "score", "time", "")]
        for one in outcomes:
            score = "" if one.score is None else score_in_words(one.score)
            rows.append((one.job, one.state, score, f"{one.seconds:.0f} s" if one.seconds else "", one.detail))
        print(to_columns(rows))
        states = Counter(outcome.state for outcome in outcomes)
        done = states[State.DONE] + states[State.DONE_BEFORE]
        named = (State.FAILED, State.KILLED, State.INTERRUPTED, State.RUNNING)
        others = [f"{states[one]} {one}" for one in named if states[one]]
        print(f"{title}: {', '.join([f'{done} of {len(outcomes)} done', *others])}")
        if searched and self.best and self.best.score:
            like = sum(one.score == self.best.score for one in self.outcomes.values()) - 1
            tied = f", and {like} more like it" if like else ""
            print(f"best trial: {self.best.job}, {score_in_words(self.best.score)}{tied}")
        if sync := sync_line(self.folder, names):
            print(f"this uploads to W&B what was logged offline:\n  {sync}")
        if done:
            print(f"every score of each job, and how they compare:\n  {report}")


def score_in_words(score: Score) -> str:
    """A score's name and value."""
    return f"{score.name} {in_short(score.value)}"


Runner = Callable[[Sequence[PlannedJob], Start], list[Outcome]]
"""Runs jobs and returns their outcomes in the same order."""


def run_here(planned: Sequence[PlannedJob], start: Start, shares: Sequence[str | None] = (None,)) -> list[Outcome]:
    """Run jobs, as many at a time as there are shares (see shares_of). Returns their outcomes in the same order."""
    slots: SimpleQueue[str | None] = SimpleQueue()
    for share in shares:
        slots.put(share)

    def run(job: PlannedJob) -> Outcome:
        if refusal := start.refusal():
            outcome = Outcome(job.name, State.NOT_RUN, detail=refusal)
        else:
            share = slots.get()
            try:
                outcome = process.run_job(job, start.folder / job.name, start.signals, share)
            finally:
                slots.put(share)  # after an error too, or the next job would wait for ever
        start.record(outcome)
        return outcome

    with ThreadPoolExecutor(len(shares)) as threads:
        return list(threads.map(run, planned))


def check_id(planned: Sequence[PlannedJob]) -> None:
    """Raise UserError for one W&B id of several runs, which would log over each other."""
    settings = OmegaConf.select(planned[0].config, "tracker.wandb")
    if len(planned) == 1 or not settings or not settings.id:
        return
    if settings.mode == "disabled" or (settings.mode == "auto" and not has_key()):
        return
    raise UserError(
        f"tracker.wandb.id={settings.id} (or WANDB_RUN_ID) is the id of one run, and this line starts {len(planned)}: "
        "leave it out"
    )


def shares_of(planned: Sequence[PlannedJob], parallel: int) -> list[str | None]:
    """What each of `parallel` jobs sees of this machine's GPUs, as CUDA_VISIBLE_DEVICES has it; None: all of them.

    A job gets as many as it has devices. Jobs of one device may share a GPU; raises UserError if others would.
    """
    gpus = visible_gpus()
    devices = max(job.devices for job in planned) if gpus else 1
    if devices > 1 and devices * parallel > len(gpus):
        raise UserError(
            f"jobs.parallel={parallel} trainer.devices={devices}: that takes {devices * parallel} GPUs, and "
            f"{len(gpus)} are visible here"
        )
    if parallel == 1 or not gpus:
        return [None] * parallel
    each = [range(first, first + devices) for first in range(0, devices * parallel, devices)]
    return [",".join(gpus[number % len(gpus)] for number in numbers) for numbers in each]


def idle_gpus(job: PlannedJob, parallel: int) -> int:
    """How many of this machine's GPUs stay idle while `parallel` jobs like this one run."""
    return max(0, len(visible_gpus()) - job.devices * parallel)


def visible_gpus() -> list[str]:
    """The GPUs of this process, as CUDA_VISIBLE_DEVICES names them."""
    from cse.device import count_gpus

    count = count_gpus()
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",") if count and named else [str(gpu) for gpu in range(count)]
