"""Batches that worker processes make before a step needs them."""

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
    """batches[number] for each number in turn, made by `workers` processes (0: by this process).

    The workers end with the iterator. If something still holds the iterator, they end with this process. If a worker
    dies, torch raises a RuntimeError that begins with WORKER_DIED. Any line of this process may raise it.
    """
    loader = DataLoader(
        _Guarded(batches),
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        pin_memory=pin,
        worker_init_fn=_ignore_signals,
        generator=torch.Generator(),  # else the loader would draw a seed from the run's generator, and change dropout
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
    """Ignore the signals that end a run. Clusters send SIGTERM to every process of a job, terminals SIGINT. If a worker
    ended, the run could not finish and save its step. Workers end with their parent anyway."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


WORKER_DIED = "DataLoader worker (pid"


def reset_worker_handler() -> None:
    """Call this after WORKER_DIED. Otherwise torch's handler raises it again later, for example while files are
    closed."""
    if threading.current_thread() is threading.main_thread():  # torch sets a handler only here
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@atexit.register
def _end_workers() -> None:
    """Kill the workers of iterators that something still holds, such as a notebook's last traceback. multiprocessing
    would send them SIGTERM and wait; they ignore SIGTERM."""
    reset_worker_handler()
    for child in multiprocessing.active_children():
        if child.daemon:
            child.kill()


class _Guarded(Dataset[B | UserError], Generic[B]):
    """Returns a UserError instead of raising it. Torch would wrap a raised error in its own traceback."""

    def __init__(self, batches: Dataset[B]):
        self.batches = batches

    def __getitem__(self, number: int) -> B | UserError:
        try:
            return self.batches[number]
        except UserError as error:
            return error
