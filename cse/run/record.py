"""What a run tells while it goes on: its results.json, metrics.jsonl, and the trackers that show its numbers."""

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Literal

from cse.record.results import Results
from cse.tracking.about import About
from cse.tracking.trackers import Tracker, Trackers
from cse.types import Config

GRACE = 15.0  # seconds for trackers after a signal: who stops a run waits about half a minute


class Record:
    """results.json and the trackers of one run, as a context: a failure is in all of them when it leaves.

    kind: the command. precision: see Results. trackers: what builds each of them. resumed_at: the step of the
    checkpoint that the run goes on from; None for a new run. writes: False on all processes but the first, where every
    method does nothing.
    """

    def __init__(
        self,
        folder: Path,
        config: Config,
        *,
        kind: Literal["train", "eval"],
        device: str,
        precision: str = "fp32",
        trackers: Iterable[partial[Tracker]],
        resumed_at: int | None = None,
        writes: bool = True,
    ):
        self.folder, self.kind, self.writes = folder, kind, writes
        self.resumed_at, self.builders = resumed_at, trackers
        self.step = resumed_at or 0
        self.metrics: dict[str, float] = {}
        self.results = Results(folder, config, device, precision)

    def __enter__(self) -> "Record":
        if self.writes:
            what = self.results.content
            about = About(self.kind, what["config"], what["command"], what["git_commit"], what["versions"])
            self.trackers = Trackers(self.folder, about, self.builders, self.resumed_at)
            self.results.write()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self.writes and error is not None:
            interrupted = isinstance(error, KeyboardInterrupt)
            reason = str(error) if interrupted else f"{type(error).__name__}: {error}"
            status = "interrupted" if interrupted else "failed"
            self.results.conclude(status, error=reason, steps=self.step, metrics=self.metrics)
            self.trackers.finish(1, {}, patience=GRACE if interrupted else math.inf)

    def log(self, step: int, metrics: dict[str, float]) -> None:
        """Hand a step's numbers to every tracker."""
        if self.writes:
            self.step = step
            self.trackers.log(metrics, step)
