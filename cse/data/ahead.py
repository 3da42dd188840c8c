"""Batches made ahead of the step that needs them, by worker processes."""

import signal
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from cse.errors import UserError

B = TypeVar("B")
"""A batch."""


def made_ahead(batches: Dataset[B], numbers: Iterable[int], workers: int, pin: bool) -> Iterator[B]:
    """batches[number] for each number in turn, made by `workers` processes (0: in this one).

    The workers end with the iterator; left to the garbage collector they would outlive an error's traceback. One that
    dies makes torch raise a RuntimeError that begins with WORKER_DIED, wherever this process then is.
    """
    loader = DataLoader(
        _Guarded(batches),
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        pin_memory=pin,
        worker_init_fn=_leave_signals,
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


def _leave_signals(_: int) -> None:
    """A cluster sends SIGTERM to every process of a job, a terminal Ctrl-C: a worker that ended there would fail the
    step that the run wants to finish and save. It ends with its parent anyway."""
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(one, signal.SIG_IGN)


WORKER_DIED = "DataLoader worker (pid"


def forget_workers() -> None:
    """For after WORKER_DIED: torch's handler would raise it again at any later moment, while the record is closed."""
    if threading.current_thread() is threading.main_thread():  # torch sets a handler in no other
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


class _Guarded(Dataset[B | UserError], Generic[B]):
    """Hands our own errors back as they are: raised in a worker, they would come wrapped in its traceback."""

    def __init__(self, batches: Dataset[B]):
        self.batches = batches

    def __getitem__(self, number: int) -> B | UserError:
        try:
            return self.batches[number]
        except UserError as error:
            return error
