"""Jobs on this machine: several at a time, each on GPUs of its own if there are any."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue

from cse.errors import UserError
from cse.lab.folder.status import State
from cse.lab.sweep import process
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.process import Outcome
from cse.lab.sweep.start import Runner, Start


class Machine:
    """This machine as a place of jobs (see cse.lab.sweep.place). parallel: how many jobs run at a time.

    Raises UserError if they need more GPUs than there are.
    """

    def __init__(self, jobs: Sequence[PlannedJob], parallel: int):
        self.jobs, self.parallel = jobs, parallel
        self.shares = shares_of(jobs, parallel)

    def runner(self) -> Runner:
        """Runs jobs here."""
        return partial(run_here, shares=self.shares)

    def print_advice(self) -> None:
        """Print how many GPUs stay idle while jobs like the first one run."""
        idle = len(visible_gpus()) - self.jobs[0].devices * self.parallel
        if idle > 0:
            more = "jobs.parallel=N runs N jobs, trainer.devices=N one job on N"
            print(f"{idle} of this machine's GPUs are idle: {more}")

    def print_submission(self) -> None:
        """Nothing: jobs that run here are submitted to nobody."""


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


def visible_gpus() -> list[str]:
    """The GPUs of this process, as CUDA_VISIBLE_DEVICES names them."""
    from cse.device import count_gpus

    count = count_gpus()
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",") if count and named else [str(gpu) for gpu in range(count)]
