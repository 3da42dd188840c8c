"""Batches that worker processes make ahead of the step that needs them."""

import atexit
import multiprocessing
import signal
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from cse.errors import UserError

B = TypeVar("B")
"""A batch."""


def prefetch(batches: Dataset[B], numbers: Iterable[int], workers: int, pin: bool) -> Iterator[B]:
    """batches[number] for each number in turn, made by `workers` processes (0: by this one).

    The workers end with the iterator or, if something still holds it, with this process. If one dies, torch raises a
    RuntimeError that begins with WORKER_DIED, at whatever line this process is executing at that moment.
    """
    loader = DataLoader(
        _Guarded(batches),
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        pin_memory=pin,
        worker_init_fn=_ignore_signals,
        generator=torch.Generator(),  # else its seed would come from the run's random numbers and shift dropout's
    )
    made = iter(loader)
    try:
        for batch in made:
            if isinstance(batch, UserError):
                raise batch
            yield batch
    finally:
        del made  # else the traceback of an error would keep the workers alive


def _ignore_signals(_: int) -> None:
    """Clusters send SIGTERM to every process of a job, terminals SIGINT: a worker that ended on it would fail the step
    that the run still wants to finish and save. It ends with its parent anyway."""
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)


WORKER_DIED = "DataLoader worker (pid"


def reset_worker_handler() -> None:
    """Call it after WORKER_DIED: torch's handler would raise it again later, for example while files are closed."""
    if threading.current_thread() is threading.main_thread():  # torch sets a handler in no other
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@atexit.register
def _end_workers() -> None:
    """Kill the workers of iterators that are still held, as by a notebook's last traceback: multiprocessing would send
    them SIGTERM, which they ignore, and wait."""
    reset_worker_handler()
    for child in multiprocessing.active_children():
        if child.daemon:
            child.kill()


class _Guarded(Dataset[B | UserError], Generic[B]):
    """Returns a UserError instead of raising it: torch would wrap what a worker raises in its traceback."""

    def __init__(self, batches: Dataset[B]):
        self.batches = batches

    def __getitem__(self, number: int) -> B | UserError:
        try:
            return self.batches[number]
        except UserError as error:
            return error
