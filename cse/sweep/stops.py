"""Signals to the process of a line of many jobs: the jobs save and end, no other is started."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from cse.sweep import plan
from cse.training.signals import REPEATED_WITHIN, SIGNALS


@contextmanager
def listening(path: Path, several: bool) -> Iterator[None]:
    """A block in which a signal stops the plan at `path`; a second one ends this process at once.

    several: whether processes of their own run the jobs, some at a time. They are told, and the block goes on until
    their jobs have ended; else a job that runs hears it itself, and the block ends by KeyboardInterrupt.
    """
    came: list[float] = []

    def handle(number: int, _: object) -> None:
        if came and time.monotonic() - came[0] < REPEATED_WITHIN:
            return
        came.append(time.monotonic())
        plan.stop(path, number)
        if several:
            tell_children(number)
        if len(came) > 1:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if not several:
            raise KeyboardInterrupt

    listens = threading.current_thread() is threading.main_thread()
    before = {one: signal.signal(one, handle) for one in SIGNALS if listens}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def tell_children(number: int) -> None:
    """Send a signal to every process that this one started, but multiprocessing's own (`resource_tracker`)."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it may end meanwhile; one that nobody has waited for has no command
            if "resource_tracker" not in " ".join(child.cmdline()):
                child.send_signal(number)
