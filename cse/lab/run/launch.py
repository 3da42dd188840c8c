"""The processes of one run, one for each device: new processes, or the processes of torchrun, accelerate or SLURM.

Each process calls cse.lab.run.train.run.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import Interrupted, RunError, UserError
from cse.lab.run import slurm
from cse.lab.run.job import Job
from cse.lab.run.resume import resume_hint
from cse.lab.run.run_log import begin_log_files, logging_to, take_lines
from cse.lab.run.this_process import is_follower, levels_restored, quiet
from cse.training.signals import SIGNALS, handled

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

log = logging.getLogger("cse")

TORCH_LOGS = ("torch.distributed.elastic", "torch.distributed.elastic.agent.server.api", "torch.multiprocessing")
"""Loggers of torch that would log each signal and traceback a second time."""
PATIENCE = 30.0  # seconds: if a process waits longer for the other processes, it logs a line


def run_in_processes(job: Job) -> Path:
    """Train as one of a launcher's processes, in trainer.devices new processes, or in this process alone.

    Return the run's folder; under a launcher, the folder of the first process. Raises UserError, or RunError with the
    error of the failed process.
    """
    from cse.device import count_gpus
    from cse.lab.run.train import run

    if "RANK" in os.environ:
        job = with_first_folder(job)
        run(job)
    elif job.cfg.trainer.devices > 1:
        spawn(job)
    else:
        if (visible := count_gpus()) > 1:
            log.info("%d GPUs are visible and one is used; trainer.devices=%d uses them all", visible, visible)
        run(job)
    return job.folder


# Processes that a launcher started


def with_first_folder(job: Job) -> Job:
    """Return the job with the folder of the first process.

    Before this call, the processes' folders may differ, because the default name is the time on a process's own clock.
    """
    from cse.training.distributed import gather_objects, join_processes

    with warning_while_waiting():
        join_processes()
    return replace(job, folder=Path(gather_objects(str(job.folder))[0]))


@contextmanager
def warning_while_waiting() -> Iterator[None]:
    """Log a line if the block, a wait for the other processes, takes more than half a minute.

    The block continues, because a cluster may start its other nodes later. Raises UserError if RANK is set without the
    other variables of a launcher.
    """
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    if missing := [name for name in names if name not in os.environ]:
        raise UserError(
            f"RANK is set in the environment, but not {', '.join(missing)}: unset RANK, or start with torchrun"
        )
    meeting = " ".join(f"{name}={os.environ[name]}" for name in names)
    timer = threading.Timer(PATIENCE, lambda: log.error("%s: still waiting for the other processes", meeting))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# New processes


def spawn(job: Job) -> None:
    """Start trainer.devices processes, and wait for them. If one fails, raise the error of `error_of_processes`."""
    slurm.release()  # from here on, torch's launcher forwards signals
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    devices = job.cfg.trainer.devices
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // devices)))
    signals = [*(caught.name for caught in handled()), "SIGQUIT"]
    os.environ.setdefault("TORCHELASTIC_SIGNALS_TO_HANDLE", ",".join(signals))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=devices,
        run_id="cse",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        start_method="spawn",
    )
    try:
        with levels_restored(TORCH_LOGS):
            for name in TORCH_LOGS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
            elastic_launch(config, worker)(job, take_lines())
    except SignalException as error:  # the processes got the signal, too, and have saved last/
        raise interruption(error.sigval, job) from error
    except ChildFailedError as error:
        raise error_of_processes(error, job) from error
    finally:
        if job.writes and job.folder.is_dir():
            begin_log_files()  # for lines that this process logs, such as the traceback of another process


def worker(job: Job, kept: list[logging.LogRecord]) -> None:
    """Train in a new process. Its error also ends the other processes, which may be waiting for this process.

    kept: the log lines of the parent process, which the first process writes into the log file.
    """
    from cse.lab.run.train import run

    quiet()
    with logging_to(job.log_file, kept):
        if is_follower():
            logging.disable(logging.WARNING)
        try:
            run(job)
        except Interrupted as error:  # torch would treat this error as an interrupt of the parent process
            sys.exit(error.code)


def error_of_processes(error: "ChildFailedError", job: Job) -> Interrupted | UserError | RunError:
    """Return the error of a killed process, if there is one, else of the first process that was stopped or failed."""
    devices = job.cfg.trainer.devices
    for rank, failure in error.failures.items():
        if failure.exitcode == -signal.SIGKILL:  # the other processes fail because the killed one is gone
            return RunError(f"process {rank} of {devices} was killed (out of memory?); {resume_hint(job)}")
    rank, failure = error.get_first_failure()
    if failure.exitcode - 128 in SIGNALS:  # the exit code of `worker` after a signal
        return interruption(failure.exitcode - 128, job)
    report: dict = failure.message if isinstance(failure.message, dict) else {"message": failure.message}
    name, _, message = str(report["message"]).partition(": ")
    if name in ("UserError", "MissingResource", "RunError"):
        return RunError(message) if name == "RunError" else UserError(message)
    log.error("%s", report.get("extraInfo", {}).get("py_callstack", ""))
    return RunError(f"process {rank} of {devices} failed: {report['message']}")


def interruption(number: int, job: Job) -> Interrupted:
    """Return the error that the parent process raises after signal `number` has stopped the run's processes."""
    return Interrupted(f"stopped by {signal.Signals(number).name}; {resume_hint(job)}", 128 + number)
