"""One process per device: spawned here, or joined if torchrun, accelerate or SLURM started it."""

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

from omegaconf import DictConfig, OmegaConf

from cse.errors import Interrupted, RunError, UserError
from cse.run import slurm
from cse.run.folder import RunFolder
from cse.run.logs import Handed, begin_log_files, hand_over_log_files, take_over_log_files

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

log = logging.getLogger("cse")

PATIENCE = 30.0  # seconds of waiting for other processes before a log line says so


def launch(cfg: DictConfig, folder: RunFolder) -> None:
    """Run on cfg.trainer.devices processes. Raises RunError with the error of the process that failed."""
    from cse.data.loader import check_even_split
    from cse.device import check_gpu_per_process, count_gpus
    from cse.record.heartbeat import check_free
    from cse.run.run import run

    if folder.writes:
        check_free(folder.path)  # refuses early; the first process takes the folder
    if "RANK" in os.environ:
        from cse.training.distributed import leave_processes

        run(cfg, shared(folder))
        leave_processes()  # skipped after a failure, when the others may be inside a collective
        return
    check_even_split(cfg.trainer.batch_size, cfg.trainer.devices)  # here, where one process can report it
    check_gpu_per_process("trainer.devices", cfg.trainer.devices)
    if cfg.trainer.devices > 1:
        spawn(cfg, folder)
        return
    if (visible := count_gpus()) > 1:
        log.info("%d GPUs are visible and one is used; trainer.devices=%d uses them all", visible, visible)
    run(cfg, folder)


def spawn(cfg: DictConfig, folder: RunFolder) -> None:
    """Start the processes of a run, and wait until they end."""
    slurm.release()  # torch's launcher forwards signals
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    from cse.training.signals import handled

    devices = cfg.trainer.devices
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // devices)))
    os.environ.setdefault("TORCHELASTIC_SIGNALS_TO_HANDLE", ",".join([*(one.name for one in handled()), "SIGQUIT"]))
    for name in ("torch.distributed.elastic", "torch.multiprocessing"):  # they would log each traceback again
        logging.getLogger(name).setLevel(logging.CRITICAL)
    config = LaunchConfig(
        *(1, 1, devices),  # nodes at least and at most, processes of each
        run_id="cse",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        start_method="spawn",
    )
    try:
        elastic_launch(config, worker)(OmegaConf.to_yaml(cfg), folder, hand_over_log_files())
    except SignalException as error:  # the processes got it too, and saved
        raise interruption(error.sigval, folder) from error
    except ChildFailedError as error:
        raise explain_failure(error, devices, folder) from error
    finally:
        if folder.path.is_dir():
            begin_log_files()  # for what this process alone knows, such as another's traceback


def explain_failure(error: "ChildFailedError", devices: int, folder: RunFolder) -> Interrupted | UserError | RunError:
    """The error to raise: one process was killed, was stopped by a signal, or failed by itself."""
    for rank, failure in error.failures.items():
        if failure.exitcode == -signal.SIGKILL:  # the others fail because it is gone
            return RunError(f"process {rank} of {devices} was killed (out of memory?); {folder.resume_hint()}")
    rank, failure = error.get_first_failure()
    if failure.exitcode > 128:
        return interruption(failure.exitcode - 128, folder)
    report: dict = failure.message if isinstance(failure.message, dict) else {"message": failure.message}
    name, _, sentence = str(report["message"]).partition(": ")
    if name in ("UserError", "MissingResource", "RunError"):
        return RunError(sentence) if name == "RunError" else UserError(sentence)
    log.error("%s", report.get("extraInfo", {}).get("py_callstack", ""))
    return RunError(f"process {rank} of {devices} failed: {report['message']}")


def interruption(number: int, folder: RunFolder) -> Interrupted:
    """The Interrupted that the first process raised, raised again by the one that spawned it."""
    return Interrupted(f"stopped by {signal.Signals(number).name}; {folder.resume_hint()}", 128 + number)


def worker(config: str, folder: RunFolder, log_files: Handed) -> None:
    """Run one spawned process. An error also ends the others, which may be waiting for this one."""
    from cse.run import startup
    from cse.run.run import run
    from cse.training.distributed import leave_processes

    startup.quiet()
    level = logging.ERROR if slurm.is_follower() else logging.INFO
    logging.basicConfig(level=level, format="%(message)s")
    if not slurm.is_follower():
        take_over_log_files(log_files)
    try:
        run(OmegaConf.create(config), folder)  # type: ignore[arg-type]
    except Interrupted as error:  # torch would take it for an interrupt of the parent, which reports it itself
        sys.exit(error.code)
    leave_processes()


def shared(folder: RunFolder) -> RunFolder:
    """Rank 0's folder, on every rank: each process made up its own from the clock."""
    from cse.training.distributed import gather_objects, join_processes

    with warning_while_waiting():
        join_processes()
    return replace(folder, path=Path(gather_objects(str(folder.path))[0]))


@contextmanager
def warning_while_waiting() -> Iterator[None]:
    """Log, if the block in which the processes meet takes longer than half a minute, what it is waiting for.

    It goes on waiting: a cluster may start its other nodes later. Raises UserError if RANK is set without the other
    variables of a launcher.
    """
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    if missing := [name for name in names if name not in os.environ]:
        raise UserError(
            f"RANK is set in the environment, but not {', '.join(missing)}: unset it, or start with torchrun"
        )
    meeting = " ".join(f"{name}={os.environ[name]}" for name in names)
    timer = threading.Timer(PATIENCE, lambda: log.error("%s: still waiting for the other processes", meeting))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
