"""All logs of a run: metrics.jsonl, which must work, and the chosen trackers, which may fail or hang.

EventLog passes every event to metrics.jsonl and to each Tracker. A BackgroundTracker calls a Tracker's methods.
"""

import logging
import math
import threading
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
        """Log the metrics of one step, by name. lower_is_better: the names that are better when lower."""

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""

    def finish(self, exit_code: int, summary: Json) -> None:
        """The last call. exit_code: 0 for a run that is done. summary: its scores by name."""


class Tracker(EventSink, Protocol):
    """A service that shows a run. Its arguments are folder, about, resume_step and the keys of its own YAML."""

    patience: float
    """The seconds that `finish` may take."""

    def abandon(self) -> None:
        """Called instead of `finish` after a failure. Nothing may remain that delays the exit of the process."""


Call = Callable[[EventSink], None]


class BackgroundTracker:
    """Makes a tracker's calls in a thread of its own, so that the run waits for the tracker only at its end.

    If a tracker raises, or its last call takes longer than its patience, there is one warning and the tracker is
    abandoned. A later error of the tracker gives no further warning.
    """

    def __init__(self, tracker: Tracker):
        self.tracker = tracker
        self.abandoned = threading.Lock()  # taken once, by the first of the two threads to give the tracker up
        self.calls: SimpleQueue[Call | None] = SimpleQueue()
        self.ended = threading.Event()  # a signal during Thread.join makes Python take the thread for ended
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def submit(self, call: Call) -> None:
        """Queue a call, unless the tracker is abandoned."""
        if not self.ended.is_set():
            self.calls.put(call)

    def end(self, patience: float) -> None:
        """Wait for the last call for `patience` seconds."""
        self.calls.put(None)
        if not self.ended.wait(patience):
            self._abandon(TimeoutError(f"no end within {patience:g} s"))

    def _work(self) -> None:
        try:
            for call in iter(self.calls.get, None):
                call(self.tracker)
        except Exception as error:
            self._abandon(error)
        finally:
            self.ended.set()

    def _abandon(self, why: Exception) -> None:
        """Warn and give the tracker up, if that was not done before."""
        if self.abandoned.acquire(blocking=False):
            warn(type(self.tracker).__name__, "stopped logging", why)
            self.tracker.abandon()


class EventLog:
    """Passes every event to metrics.jsonl and to each tracker.

    If a tracker cannot start, there is one warning, and the run continues.

    builders: each is a tracker's class with the keys of its YAML (`_partial_`), called with folder, about and
    resume_step.
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
        """Log the metrics of one step, by name. Like all calls, raises RunError if metrics.jsonl cannot be written."""
        self._call(lambda tracker: tracker.log(metrics, step, lower_is_better))

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""
        self._call(lambda tracker: tracker.image(name, path, step))

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""
        self._call(lambda tracker: tracker.table(name, columns, rows))

    def finish(self, exit_code: int, summary: Json, patience: float = math.inf) -> None:
        """The last call; see Tracker.finish. patience: the most seconds for each tracker, if less than its own."""
        try:
            self._call(lambda tracker: tracker.finish(exit_code, summary))
        finally:
            self.end(patience)

    def end(self, patience: float) -> None:
        """Wait for the last call of each tracker. patience: see `finish`."""
        for background in self.trackers:
            background.end(min(patience, background.tracker.patience))

    def _call(self, call: Call) -> None:
        """Make the call of metrics.jsonl, and queue it for each tracker even if the disk refuses."""
        try:
            call(self.jsonl)
        finally:
            for background in self.trackers:
                background.submit(call)


def warn(name: str, what: str, error: Exception) -> None:
    """Warn in one line: the name of the tracker, what happened to it, and why."""
    log.warning("%s %s (%s); the run continues, and metrics.jsonl has everything", name, what, in_short(error))
