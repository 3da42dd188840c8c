"""All of a run's logs as one: metrics.jsonl, which must work, and the chosen trackers, which may fail."""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from cse.dotted import Config, Json
from cse.tracking.jsonl import Jsonl

log = logging.getLogger(__name__)


class Tracker(Protocol):
    """Where a run is shown. Built with (folder, config, resume_step) and its YAML's own keys."""

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Metrics of one step, by name."""

    def image(self, name: str, path: Path, step: int) -> None:
        """A picture in a PNG file."""

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; each row has a value for each column."""

    def finish(self, exit_code: int, summary: Json) -> None:
        """The last call: 0 for a run that is done, and its scores by name."""


class Trackers:
    """Hands every event to every log. A tracker that raises is named in one warning and dropped; the run goes on.

    others: the class of each tracker with its YAML's own keys (`_partial_`), called with (folder, config, resume_step).
    """

    def __init__(
        self,
        folder: str | Path,
        config: Config,
        others: Iterable[partial[Tracker]] = (),
        resume_step: int | None = None,
    ):
        self.jsonl = Jsonl(folder, resume_step)
        self.others: list[Tracker] = []
        for build in others:
            try:
                self.others.append(build(folder=folder, config=config, resume_step=resume_step))
            except Exception as error:
                warn(build.func.__name__, "could not start", error)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Metrics of one step, by name. This and the methods below raise RunError where metrics.jsonl cannot grow."""
        self.jsonl.log(metrics, step)
        self._each(lambda tracker: tracker.log(metrics, step))

    def image(self, name: str, path: Path, step: int) -> None:
        """A picture in a PNG file."""
        self.jsonl.image(name, path, step)
        self._each(lambda tracker: tracker.image(name, path, step))

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; each row has a value for each column."""
        self.jsonl.table(name, columns, rows)
        self._each(lambda tracker: tracker.table(name, columns, rows))

    def finish(self, exit_code: int, summary: Json) -> None:
        """The last call: 0 for a run that is done, and its scores by name."""
        self.jsonl.finish(exit_code, summary)
        self._each(lambda tracker: tracker.finish(exit_code, summary))

    def _each(self, hand_over: Callable[[Tracker], None]) -> None:
        for tracker in list(self.others):
            try:
                hand_over(tracker)
            except Exception as error:
                self.others.remove(tracker)
                warn(type(tracker).__name__, "stopped logging", error)


def warn(name: str, what: str, error: Exception) -> None:
    """One line of the log: the tracker, what it could not do, and why."""
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    log.warning("%s %s (%s); the run goes on, and metrics.jsonl has everything", name, what, reason)
