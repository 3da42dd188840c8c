"""SIGTERM, SIGUSR1, SIGUSR2 and Ctrl-C: the run saves last/ and ends, so that a preempted job can be resumed.

During a step a signal waits for the step's end. During scoring and building, which change no weight, it ends the work
at once; while nothing is begun, also where a process waits for others in a library that lets no handler run. A second
signal has its default effect.
"""

import logging
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from cse.errors import Interrupted

log = logging.getLogger("cse")

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
DEAF = 3.0  # seconds after which a process that has begun nothing ends without its handler
END = b"\0"  # no signal's number; the pipe's own end would wait for every forked process that holds it open
REPEATED_WITHIN = 1.0  # seconds; a second signal is then the first one again, sent by a terminal and by a launcher

# a forked data worker would tell of its own signals where its parent listens for the parent's
os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))


class Signals:
    """A context manager that handles signals; outside the main thread, where Python allows no handler, it does nothing.

    requested: the first signal received, or None. advice: gives the end of the interruption's message, how to continue.
    """

    def __init__(self, advice: Callable[[], str]):
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

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """A block that has nothing to save: where its handler has not run after DEAF seconds, the process ends so too.

        A collective waits in C++ for processes that may never come, and Python's handlers wait for its end.
        """
        if not self.before:
            yield
            return
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)  # the system writes there at once
        listener = threading.Thread(target=self._end_if_deaf, args=(reading,), daemon=True)
        listener.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            os.write(writing, END)
            listener.join()
            os.close(writing)
            os.close(reading)

    def _end_if_deaf(self, reading: int) -> None:
        """End the process after a signal that no handler hears. reading: a pipe of signals' numbers, up to END."""
        while (came := os.read(reading, 1)) != END:
            if came[0] not in SIGNALS or self._heard(reading):
                continue
            self.note(came[0])
            if os.environ.get("RANK", "0") != "0":  # the first says it
                os._exit(0)
            if multiprocessing.parent_process() is None:
                os.write(2, f"{Path(sys.argv[0]).name}: {self.interruption()}\n".encode())
            os._exit(128 + came[0])

    def _heard(self, reading: int) -> bool:
        """Whether the block ends, or its handler runs, within DEAF seconds."""
        ended, _, _ = select.select([reading], [], [], DEAF)
        return bool(ended) or self.requested is not None

    def raise_if_due(self) -> None:
        """Raise Interrupted for a noted signal that no longer has to wait."""
        if self.requested is not None and not self.waits:
            raise self.interruption()

    def interruption(self, saved: str = "") -> Interrupted:
        """The error that ends the run. saved: what was, the middle of its message."""
        number = self.requested or signal.SIGTERM
        return Interrupted(f"stopped by {number.name}; {saved}{self.advice()}", 128 + number)

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
