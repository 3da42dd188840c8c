"""Make batches in worker processes before a step needs them."""

import atexit
import logging
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from logging.handlers import BufferingHandler
from typing import Generic, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from cse.errors import UserError

B = TypeVar("B")
"""A batch."""
K = TypeVar("K")
"""The key that a batch is made from, such as the number of the batch."""

Message = tuple[str, int, str]
"""A message in a log: the logger's name, the level, the text."""

logged = BufferingHandler(sys.maxsize)  # the messages of a worker since its last batch


def prefetch(make: Callable[[K], B], keys: Iterable[K], workers: int, pin: bool) -> Iterator[B]:
    """Yield make(key) for each key in turn. `workers` processes call `make` (0: this process calls it).

    This process logs the messages of its workers, each message once. The workers end when the iterator is deleted, at
    the latest when this process ends. If a worker dies, a RuntimeError that begins with WORKER_DIED is raised here, or
    torch interrupts this process at any line with such an error.
    """
    loader = DataLoader(
        _Guarded(make),
        batch_size=None,
        sampler=keys,
        num_workers=workers,
        pin_memory=pin,
        worker_init_fn=_begin_worker,
        generator=torch.Generator(),  # else the loader would draw a seed from the run's generator, and change dropout
    )
    made, said = iter(loader), set[Message]()
    try:
        for batch, messages in made:
            for message in messages:
                if tuple(message) not in said:
                    said.add(tuple(message))
                    name, level, text = message
                    logging.getLogger(name).log(level, "%s", text)
            if isinstance(batch, UserError):
                raise batch
            yield batch
    except (ConnectionError, EOFError) as error:  # a worker died while this process took a batch from it
        if not workers or str(error).startswith("Caught"):  # `make` raised the error, and torch added its traceback
            raise
        reset_worker_handler()
        raise RuntimeError(f"{WORKER_DIED} unknown) ended while it sent a batch") from error
    finally:
        del made  # else the traceback of an error would keep the workers alive


def _begin_worker(_: int) -> None:
    """Keep log messages for the parent process, and ignore the signals that end a run. A cluster sends SIGTERM to every
    process of a job, and a terminal sends SIGINT. If a signal ended a worker, the run could not finish and save the
    current step. A worker ends anyway when its parent ends."""
    logging.getLogger().handlers[:] = [logged]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


WORKER_DIED = "DataLoader worker (pid"


def reset_worker_handler() -> None:
    """Remove torch's signal handler after the error WORKER_DIED. Otherwise the handler raises this error again later,
    for example while files are closed."""
    if threading.current_thread() is threading.main_thread():  # torch sets a handler only here
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@atexit.register
def _end_workers() -> None:
    """Kill the workers whose iterator still exists at exit, for example in a notebook's last traceback. Otherwise
    multiprocessing would send SIGTERM to the workers, which ignore this signal, and would wait for their end."""
    reset_worker_handler()
    for child in multiprocessing.active_children():
        if child.daemon:
            child.kill()


class _Guarded(Dataset[tuple[B | UserError, list[Message]]], Generic[K, B]):
    """A dataset with the items (a batch or the UserError of `make`, the messages that the worker logged).

    The UserError is returned, not raised, because torch would wrap a raised error in its own traceback."""

    def __init__(self, make: Callable[[K], B]):
        self.make = make

    def __getitem__(self, key: K) -> tuple[B | UserError, list[Message]]:
        made: B | UserError
        try:
            made = self.make(key)
        except UserError as error:
            made = error
        messages = [(record.name, record.levelno, record.getMessage()) for record in logged.buffer]
        logged.flush()
        return made, messages
