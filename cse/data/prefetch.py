"""Batches made by worker processes before the step that needs them."""

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

    The workers end with the iterator or, where something still holds it, with this process. If one dies, torch raises a
    RuntimeError that begins with WORKER_DIED, at whatever line this process is then executing.
    """
    loader = DataLoader(
        _Guarded(batches),
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        pin_memory=pin,
        worker_init_fn=_ignore_signals,
        generator=torch.Generator(),  # or it would draw its seed from the run's own random numbers and shift dropout's
    )
    made = iter(loader)
    try:
        for batch in made:
            if isinstance(batch, UserError):
                raise batch
            yield batch
    finally:
        del made


def _ignore_signals(_: int) -> None:
    """A cluster sends SIGTERM to every process of a job, a terminal SIGINT: a worker that ended then would fail the
    step that the run wants to finish and save. It ends with its parent anyway."""
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)


WORKER_DIED = "DataLoader worker (pid"


def reset_worker_handler() -> None:
    """Call it after WORKER_DIED: torch's handler would raise it again later, for example while the record is closed."""
    if threading.current_thread() is threading.main_thread():  # torch sets a handler in no other
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@atexit.register
def _end_workers() -> None:
    """A notebook's last traceback may hold an iterator: multiprocessing would end its workers by SIGTERM, and wait."""
    reset_worker_handler()
    for child in multiprocessing.active_children():
        if child.daemon:
            child.kill()


class _Guarded(Dataset[B | UserError], Generic[B]):
    """Returns our own errors instead of raising them: raised in a worker, they would be wrapped in its traceback."""

    def __init__(self, batches: Dataset[B]):
        self.batches = batches

    def __getitem__(self, number: int) -> B | UserError:
        try:
            return self.batches[number]
        except UserError as error:
            return error
