"""All of a run's logs as one: metrics.jsonl, which must work, and the chosen trackers, which may fail."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from cse.tracking.jsonl import Jsonl

log = logging.getLogger(__name__)


class Tracker(Protocol):
    """Where a run is shown. Built with (folder, config, resume_step) and its YAML's own keys."""

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Metrics of one step, by name."""

    def image(self, name: str, path: Path, step: int) -> None:
        """A picture in a PNG file."""

    def table(self, name: str, columns: list[str], rows: list[list[Any]]) -> None:
        """A table; each row has a value for each column."""

    def finish(self, exit_code: int, summary: dict[str, Any]) -> None:
        """The last call: 0 for a run that is done, and its scores by name."""


class Trackers:
    """Hands every event to every log. A tracker that raises is named in one warning and dropped; the run goes on.

    others: what builds each tracker, called with (folder, config, resume_step): the YAML's `_partial_`.
    """

    def __init__(
        self,
        folder: str | Path,
        config: dict[str, Any],
        others: Iterable[Callable[..., Tracker]] = (),
        resume_step: int | None = None,
    ):
        self.jsonl = Jsonl(folder, resume_step)
        self.others: list[Tracker] = []
        for build in others:
            try:
                self.others.append(build(folder=folder, config=config, resume_step=resume_step))
            except Exception as error:
                warn(getattr(build, "func", build).__name__, "could not start", error)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Metrics of one step, by name. This and the methods below raise RunError where metrics.jsonl cannot grow."""
        self.jsonl.log(metrics, step)
        self._each("log", metrics, step)

    def image(self, name: str, path: Path, step: int) -> None:
        """A picture in a PNG file."""
        self.jsonl.image(name, path, step)
        self._each("image", name, path, step)

    def table(self, name: str, columns: list[str], rows: list[list[Any]]) -> None:
        """A table; each row has a value for each column."""
        self.jsonl.table(name, columns, rows)
        self._each("table", name, columns, rows)

    def finish(self, exit_code: int, summary: dict[str, Any]) -> None:
        """The last call: 0 for a run that is done, and its scores by name."""
        self.jsonl.finish(exit_code, summary)
        self._each("finish", exit_code, summary)

    def _each(self, method: str, *arguments: Any) -> None:
        for tracker in list(self.others):
            try:
                getattr(tracker, method)(*arguments)
            except Exception as error:
                self.others.remove(tracker)
                warn(type(tracker).__name__, "stopped logging", error)


def warn(name: str, what: str, error: Exception) -> None:
    """One line of the log: the tracker, what it could not do, and why."""
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    log.warning("%s %s (%s); the run goes on, and metrics.jsonl has everything", name, what, reason)
