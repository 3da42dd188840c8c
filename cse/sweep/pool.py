"""Run jobs on this machine: several at a time, each in its own process, on its own GPU if there are any."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from cse.sweep import process
from cse.sweep.jobs import Job
from cse.sweep.process import NOT_RUN, Outcome
from cse.sweep.start import Start


def run_here(planned: Sequence[Job], start: Start, parallel: int = 1) -> list[Outcome]:
    """Run jobs, `parallel` at a time. Returns their outcomes in the same order."""
    gpus = visible_gpus() if parallel > 1 else []
    slots: SimpleQueue[str | None] = SimpleQueue()
    for number in range(parallel):
        slots.put(gpus[number % len(gpus)] if gpus else None)

    def run(job: Job) -> Outcome:
        if refusal := start.refusal():
            outcome = Outcome(job.name, NOT_RUN, detail=refusal)
        else:
            gpu = slots.get()
            try:
                outcome = process.run(job, start.folder / job.name, start.signals, gpu)
            finally:
                slots.put(gpu)  # after an error too, or the next job would wait for ever
        start.record(outcome)
        return outcome

    with ThreadPoolExecutor(parallel) as threads:
        return list(threads.map(run, planned))


def idle_gpus(job: Job, parallel: int) -> int:
    """How many of this machine's GPUs stay idle while `parallel` jobs like this one run."""
    devices = job.composed().trainer.devices if job.program == "cse-train" else 1
    return max(0, len(visible_gpus()) - devices * parallel)


def visible_gpus() -> list[str]:
    """The GPUs of this process, as CUDA_VISIBLE_DEVICES names them."""
    from cse.device import count_gpus

    count = count_gpus()
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",") if count and named else [str(gpu) for gpu in range(count)]
