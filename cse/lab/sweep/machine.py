"""This machine as a place of jobs. Several jobs run at a time, each on its share of the GPUs."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from cse.errors import UserError
from cse.lab.sweep import process
from cse.lab.sweep.checks import most_devices
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.outcomes import Outcome, Start


class Machine:
    """This machine as a place of jobs (see cse.lab.sweep.plan). parallel: the number of jobs that run at a time.

    Raises UserError if the jobs need more GPUs than the machine has.
    """

    submission = ""  # nothing is submitted

    def __init__(self, jobs: Sequence[PlannedJob], parallel: int):
        self.jobs, self.parallel = jobs, parallel
        self.shares = shares_of(jobs, parallel)

    @property
    def advice(self) -> str:
        """A line on the GPUs that stay idle while jobs like the first job run; "" if no GPU stays idle."""
        idle = len(visible_gpus()) - self.jobs[0].count_devices() * self.parallel
        more = "jobs.parallel=N runs N jobs at a time, and trainer.devices=N runs each job on N GPUs"
        return f"{idle} of this machine's GPUs are idle: {more}" if idle > 0 else ""

    def run(self, jobs: Sequence[PlannedJob], start: Start) -> list[Outcome]:
        """Run jobs. Each share of the GPUs runs one job at a time. Returns the outcomes in the order of the jobs."""
        free: SimpleQueue[str | None] = SimpleQueue()
        for share in self.shares:
            free.put(share)

        def run_one(job: PlannedJob) -> Outcome:
            outcome = start.not_started(job)
            if outcome is None:
                share = free.get()
                try:
                    outcome = process.run_job(job, start.folder / job.name, start.signals, share)
                finally:
                    free.put(share)  # after an error too, or the next job would wait for ever
            start.record(outcome)
            return outcome

        with ThreadPoolExecutor(self.parallel) as threads:
            return list(threads.map(run_one, jobs))


def shares_of(jobs: Sequence[PlannedJob], parallel: int) -> list[str | None]:
    """Return the value of CUDA_VISIBLE_DEVICES for each of `parallel` jobs; None for all GPUs of this machine.

    Each value has as many GPUs as the largest trainer.devices of the jobs. If this number is 1, two values may have the
    same GPU. Raises UserError if this number is above 1, and the machine has too few GPUs for `parallel` jobs.
    """
    gpus = visible_gpus()
    devices = most_devices(jobs) if gpus else 1
    if devices > 1 and devices * parallel > len(gpus):
        raise UserError(
            f"jobs.parallel={parallel} trainer.devices={devices}: this needs {devices * parallel} GPUs, but "
            f"the number of visible GPUs is {len(gpus)}: lower either"
        )
    if parallel == 1 or not gpus:
        return [None] * parallel
    each = [range(first, first + devices) for first in range(0, devices * parallel, devices)]
    return [",".join(gpus[number % len(gpus)] for number in numbers) for numbers in each]


def visible_gpus() -> list[str]:
    """Return the names of this process's GPUs, as in CUDA_VISIBLE_DEVICES."""
    from cse.device import count_gpus

    count = count_gpus()
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",") if count and named else [str(gpu) for gpu in range(count)]
