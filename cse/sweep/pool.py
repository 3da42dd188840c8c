"""Run jobs on this machine: several at a time, each in its own process, on its own GPUs if there are any."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from cse.errors import UserError
from cse.sweep import process
from cse.sweep.jobs import Job
from cse.sweep.process import NOT_RUN, Outcome
from cse.sweep.start import Start


def run_here(planned: Sequence[Job], start: Start, shares: Sequence[str | None] = (None,)) -> list[Outcome]:
    """Run jobs, as many at a time as there are shares (see shares_of). Returns their outcomes in the same order."""
    slots: SimpleQueue[str | None] = SimpleQueue()
    for share in shares:
        slots.put(share)

    def run(job: Job) -> Outcome:
        if refusal := start.refusal():
            outcome = Outcome(job.name, NOT_RUN, detail=refusal)
        else:
            share = slots.get()
            try:
                outcome = process.run(job, start.folder / job.name, start.signals, share)
            finally:
                slots.put(share)  # after an error too, or the next job would wait for ever
        start.record(outcome)
        return outcome

    with ThreadPoolExecutor(len(shares)) as threads:
        return list(threads.map(run, planned))


def shares_of(planned: Sequence[Job], parallel: int) -> list[str | None]:
    """What each of `parallel` jobs sees of this machine's GPUs, as CUDA_VISIBLE_DEVICES has it; None: all of them.

    A job gets as many as it has devices. Jobs of one device may share a GPU; raises UserError if others would.
    """
    gpus = visible_gpus()
    devices = max(map(devices_of, planned)) if gpus else 1
    if devices > 1 and devices * parallel > len(gpus):
        raise UserError(
            f"jobs.parallel={parallel} trainer.devices={devices}: that takes {devices * parallel} GPUs, and "
            f"{len(gpus)} are visible here"
        )
    if parallel == 1 or not gpus:
        return [None] * parallel
    each = [range(first, first + devices) for first in range(0, devices * parallel, devices)]
    return [",".join(gpus[number % len(gpus)] for number in numbers) for numbers in each]


def idle_gpus(job: Job, parallel: int) -> int:
    """How many of this machine's GPUs stay idle while `parallel` jobs like this one run."""
    return max(0, len(visible_gpus()) - devices_of(job) * parallel)


def devices_of(job: Job) -> int:
    """How many devices a job works on; 1 if its own process will refuse what it was given."""
    config = job.composed()
    if job.program != "cse-train" or config.smoke:
        return 1
    devices = config.trainer.devices
    return devices if isinstance(devices, int) else 1


def visible_gpus() -> list[str]:
    """The GPUs of this process, as CUDA_VISIBLE_DEVICES names them."""
    from cse.device import count_gpus

    count = count_gpus()
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",") if count and named else [str(gpu) for gpu in range(count)]
