"""What a run reports while it works: results.json, metrics.jsonl, and the trackers that show its numbers."""

import math
import time
from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Literal

from cse.files import write_json
from cse.lab.folder.results import first_results, scores_of
from cse.lab.settings.dotted import Config
from cse.lab.tracking.about import About
from cse.lab.tracking.trackers import Tracker, Trackers
from cse.score import Scores

GRACE = 15.0  # seconds that trackers have after a signal: whoever stops a run waits about half a minute


class Record:
    """results.json and the trackers of one run. As a context manager, it reports an exception to all of them.

    trackers: builds each of them. resumed_at: the checkpoint's step, None for a new run. writes: False on all processes
    but the first. results: the content of results.json as of the next `write`.
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
        self.step, self.started = resumed_at or 0, time.monotonic()
        self.scores: Scores = {}
        self.results = first_results(config, device, precision)

    def __enter__(self) -> "Record":
        if self.writes:
            keys = ("config", "command", "git_commit", "versions")
            about = About(self.kind, *(self.results[key] for key in keys))
            self.trackers = Trackers(self.folder, about, self.builders, self.resumed_at)
            self.write()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self.writes and error is not None:
            interrupted = isinstance(error, KeyboardInterrupt)
            said = " ".join([str(error), *vars(error).get("__notes__", [])])  # which evaluator raised it
            reason = said if interrupted else f"{type(error).__name__}: {said}"
            self.conclude("interrupted" if interrupted else "failed", error=reason, steps=self.step)
            self.trackers.finish(1, {}, patience=GRACE if interrupted else math.inf)

    def write(self, **more: object) -> None:
        """Add to results.json and write it. Raises RunError, and leaves the old file, if the disk refuses."""
        self.results |= more
        write_json(self.folder / "results.json", self.results)

    def conclude(self, status: Literal["done", "interrupted", "failed"], **more: object) -> None:
        """Write the final status, the scores, and more."""
        seconds = round(time.monotonic() - self.started, 1)
        self.write(status=status, wall_seconds=seconds, **scores_of(self.scores), **more)

    def log(self, step: int, metrics: dict[str, float], lower_is_better: Collection[str] = ()) -> None:
        """Send a step's numbers to every tracker; see Tracker.log."""
        if self.writes:
            self.step = step
            self.trackers.log(metrics, step, lower_is_better)
