"""SIGTERM, SIGUSR1, SIGUSR2 and Ctrl-C: the run saves last/ and ends, so that a preempted job can be resumed.

During a step a signal waits for the step's end. During scoring and building, which change no weight, it ends the work
at once. A second signal has its default effect.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cse.errors import Interrupted

log = logging.getLogger("cse")

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
REPEATED_WITHIN = 1.0  # seconds; a second signal is then the first one again, sent by a terminal and by a launcher


class Signals:
    """A context manager that handles signals; outside the main thread, where Python allows no handler, it does nothing.

    requested: the first signal received, or None. advice: how to continue, the end of the interruption's message.
    """

    def __init__(self, advice: str):
        self.advice = advice
        self.requested: signal.Signals | None = None
        self.waits = False
        self.process, self.came = os.getpid(), 0.0

    def __enter__(self) -> "Signals":
        listens = threading.current_thread() is threading.main_thread()
        self.before = {one: signal.signal(one, self._handle) for one in SIGNALS if listens}
        return self

    def __exit__(self, *error: object) -> None:
        for one, handler in self.before.items():
            signal.signal(one, handler)

    @contextmanager
    def waiting(self, waits: bool) -> Iterator[None]:
        """In the block a signal is only noted (True), or raises Interrupted at once (False)."""
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

    def interruption(self) -> Interrupted:
        """The error that ends the run."""
        number = self.requested or signal.SIGTERM
        return Interrupted(f"stopped by {number.name}; {self.advice}", 128 + number)

    def note(self, number: int) -> None:
        """Remember the signal that ends the run; another process may have received it."""
        if self.requested is None:
            self.requested, self.came = signal.Signals(number), time.monotonic()

    def _handle(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self.process:  # a data worker, which goes with its parent
            return
        if self.requested is not None:
            if time.monotonic() - self.came > REPEATED_WITHIN:
                signal.signal(number, signal.SIG_DFL)
                os.kill(self.process, number)
            return
        self.note(number)
        if self.waits:
            name = signal.Signals(number).name
            log.info("%s: saving and stopping after this step; a second one ends at once", name)
        self.raise_if_due()
