"""SIGTERM, SIGUSR1, SIGUSR2, SIGHUP and Ctrl-C save a run and end it, so that it can be resumed.

A signal during a step takes effect at the end of the step. While a run is built or scored, no weight changes, so a
signal takes effect at once. A second signal has its default effect.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from subprocess import Popen
from types import FrameType
from typing import Self

from cse.errors import Interrupted

log = logging.getLogger("cse")

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT)
REPEATED_WITHIN = 1.0  # seconds; a second signal within this time is a copy: terminal and launcher send one each


class Signals:
    """A context manager that handles the signals.

    Python lets only the main thread handle signals; in another thread this context manager does nothing.

    requested: the first signal received, or None. advice: returns the end of the message, about resuming. waits:
    whether a signal is only noted, as in `waiting`.
    """

    def __init__(self, advice: Callable[[], str], *, waits: bool = False):
        self.advice, self.waits = advice, waits
        self.requested: signal.Signals | None = None
        self.process, self.parent, self.requested_at = os.getpid(), os.getppid(), 0.0

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        self.before = {one: signal.signal(one, self.receive) for one in handled() if is_main}
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        for one, handler in self.before.items():
            signal.signal(one, handler)
        first = error
        while first is not None and not isinstance(first, Interrupted):
            first = first.__context__
        if first is not None and first is not error:  # a library's `finally` failed where the signal arrived
            raise first

    @contextmanager
    def waiting(self, waits: bool) -> Iterator[None]:
        """In the block, only note a signal (waits=True), or raise Interrupted at once (waits=False)."""
        outer, self.waits = self.waits, waits
        try:
            self.raise_if_due()
            yield
        finally:
            self.waits = outer
        self.raise_if_due()

    def raise_if_due(self) -> None:
        """Raise Interrupted for a noted signal that no longer has to wait."""
        if self.requested is not None and not self.waits:
            raise self.interruption()

    @property
    def cause(self) -> str:
        """The cause of the stop: a signal, or the end of the parent process, after which torch sends SIGINT."""
        number = self.requested or signal.SIGTERM
        gone = number == signal.SIGINT and os.getppid() != self.parent
        return "the end of the process that started this one" if gone else number.name

    def interruption(self, saved: str = "") -> Interrupted:
        """Return the error that ends the run. saved: what was saved, for the middle of the message."""
        number = self.requested or signal.SIGTERM
        return Interrupted(f"stopped by {self.cause}; {saved}{self.advice()}", 128 + number)

    def note(self, number: int) -> None:
        """Keep the first signal, which this process or another process has received."""
        if self.requested is None:
            self.requested, self.requested_at = signal.Signals(number), time.monotonic()

    def receive(self, number: int, _: FrameType | None) -> None:
        """Handle a signal: Python calls this handler."""
        if os.getpid() != self.process:  # a forked data worker; it ends with its parent
            return
        if self.requested is None:
            self.note(number)
            if self.waits:
                log.info("%s: saving and stopping; a second signal ends the run at once", self.cause)
            self.raise_if_due()
        elif time.monotonic() - self.requested_at > REPEATED_WITHIN:
            signal.signal(number, signal.SIG_DFL)
            os.kill(self.process, number)


class SignalForwarder(Signals):
    """Signals of a process that starts other processes and waits for them. Each signal is forwarded to them."""

    def __init__(self, advice: Callable[[], str], *, waits: bool = False):
        super().__init__(advice, waits=waits)
        self.processes: list[Popen] = []

    def add(self, process: Popen) -> None:
        """Forward later signals to this process, and also a signal that came during its start."""
        self.processes.append(process)
        if self.requested is not None:
            process.send_signal(self.requested)

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Forward a signal to the processes, then handle the signal here. Python calls this handler."""
        if os.getpid() == self.process:
            self.note(number)  # first, so that a process added meanwhile by another thread gets it too
            for process in self.processes:
                process.send_signal(number)
        super().receive(number, frame)


def handled() -> list[signal.Signals]:
    """Return the signals to handle. Under nohup SIGHUP is left out, so that a run outlives its terminal."""
    return [one for one in SIGNALS if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN]
