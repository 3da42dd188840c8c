"""All logs of a run: metrics.jsonl, which must work, and the chosen trackers, which may fail or hang.

EventLog passes every event to metrics.jsonl and to each tracker. A BackgroundTracker calls the methods of one Tracker.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol

from cse.errors import in_short
from cse.files import Json
from cse.lab.folder.events import EventFile
from cse.lab.tracking.run_info import RunInfo

log = logging.getLogger(__name__)


class EventSink(Protocol):
    """A receiver of a run's events: metrics.jsonl or a tracker."""

    def log(self, metrics: dict[str, float], step: int, lower_is_better: Collection[str] = ()) -> None:
        """Log the metrics of one step, by name. lower_is_better: the names of metrics whose lower values are better."""

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""

    def finish(self, exit_code: int, summary: Json) -> None:
        """End the log: no call follows. exit_code: 0 for a run that is done. summary: the run's scores by name."""


class Tracker(EventSink, Protocol):
    """A service that shows a run. The constructor takes folder, about, resume_step and the keys of the class's YAML."""

    patience: float
    """The largest number of seconds that `finish` may take."""

    def abandon(self) -> None:
        """End the service after a failure, instead of `finish`. The service must not delay the exit of the process."""


Call = Callable[[EventSink], None]


class BackgroundTracker:
    """A tracker whose methods are called in a separate thread, so that the run waits for the tracker only at the end.

    If the tracker raises an error, or if `end` waits too long for the queued calls, one warning is logged, and the
    tracker is abandoned. A later error of the tracker gives no further warning.
    """

    def __init__(self, tracker: Tracker):
        self.tracker = tracker
        self.abandoned = threading.Lock()  # taken once: only the thread that takes the lock abandons the tracker
        self.calls: SimpleQueue[Call | None] = SimpleQueue()
        self.ended = threading.Event()  # after a signal during Thread.join, Python treats the thread as ended
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def submit(self, call: Call) -> None:
        """Queue a call, if the thread still works."""
        if not self.ended.is_set():
            self.calls.put(call)

    def end(self, patience: float) -> None:
        """Wait at most `patience` seconds for the last call. If it does not return in time, abandon the tracker."""
        self.calls.put(None)
        deadline = time.monotonic() + patience
        # each wait is short: a signal that comes just before a wait is handled only after the wait
        while not self.ended.wait(max(0.0, min(1.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return self._abandon(TimeoutError(f"no end within {patience:g} s"))

    def _work(self) -> None:
        try:
            for call in iter(self.calls.get, None):
                call(self.tracker)
        except Exception as error:
            self._abandon(error)
        finally:
            self.ended.set()

    def _abandon(self, why: Exception) -> None:
        """Abandon the tracker with a warning, unless it is already abandoned."""
        if self.abandoned.acquire(blocking=False):
            warn(type(self.tracker).__name__, "stopped logging", why)
            self.tracker.abandon()


class EventLog:
    """A log that passes every event to metrics.jsonl and to each tracker.

    If a tracker cannot start, a warning is logged, and the run continues. builders: the trackers' classes, each with
    the keys of its YAML (`_partial_`). A builder is called with folder, about and resume_step.
    """

    def __init__(
        self,
        folder: str | Path,
        about: RunInfo,
        builders: Iterable[partial[Tracker]] = (),
        resume_step: int | None = None,
    ):
        self.jsonl = EventFile(folder, resume_step)
        self.trackers: list[BackgroundTracker] = []
        for build in builders:
            try:
                self.trackers.append(BackgroundTracker(build(folder=folder, about=about, resume_step=resume_step)))
            except Exception as error:
                warn(build.func.__name__, "could not start", error)

    def log(self, metrics: dict[str, float], step: int, lower_is_better: Collection[str] = ()) -> None:
        """Log the metrics of one step, by name. All methods raise RunError if metrics.jsonl cannot be written."""
        self._call(lambda tracker: tracker.log(metrics, step, lower_is_better))

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""
        self._call(lambda tracker: tracker.image(name, path, step))

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""
        self._call(lambda tracker: tracker.table(name, columns, rows))

    def finish(self, exit_code: int, summary: Json, patience: float = math.inf) -> None:
        """End the logs, see EventSink.finish. patience: seconds for each tracker, if Tracker.patience is not less."""
        try:
            self._call(lambda tracker: tracker.finish(exit_code, summary))
        finally:
            self.end(patience)

    def end(self, patience: float) -> None:
        """Wait until the last call of each tracker returns. patience: see `finish`."""
        for background in self.trackers:
            background.end(min(patience, background.tracker.patience))

    def _call(self, call: Call) -> None:
        """Call a method of `jsonl` and, even if the disk refuses a line, queue the same call for each tracker."""
        try:
            call(self.jsonl)
        finally:
            for background in self.trackers:
                background.submit(call)


def warn(name: str, what: str, error: Exception) -> None:
    """Log a warning of one line. name: the tracker's name. what: what happened to the tracker. error: the reason."""
    log.warning("%s %s (%s); the run continues, and metrics.jsonl has everything", name, what, in_short(error))
