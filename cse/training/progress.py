"""What a person sees while a run goes on: a bar on a terminal, one plain line every few seconds elsewhere."""

import logging
import sys
import time
from typing import Any

log = logging.getLogger(__name__)

QUIET = 10.0  # seconds between plain lines


class Progress:
    """A context manager. total, first: the run's steps and the step it starts at; shown: on the main process only."""

    def __init__(self, total: int, first: int, shown: bool):
        self.total, self.first, self.shown = total, first, shown
        self.bar: Any = None
        self.latest: dict[str, float] = {}

    def __enter__(self) -> "Progress":
        self.started = self.spoke = time.monotonic()
        if self.shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
            self.bar = Bar(*columns, console=Console(stderr=True))
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total, completed=self.first)
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def update(self, step: int, loss: float, tokens_per_second: float) -> None:
        """After a logged step."""
        text = f"loss {loss:.4g}  {tokens_per_second:,.0f} tokens/s" + "".join(
            f"  {name} {value:.2f}" for name, value in self.latest.items()
        )
        if self.bar is not None:
            self.bar.update(self.task, completed=step, description=text)
        elif self.shown and (time.monotonic() - self.spoke > QUIET or step == self.total):
            self.spoke = time.monotonic()
            left = (self.spoke - self.started) / max(1, step - self.first) * (self.total - step)
            log.info("step %d/%d  %s  %.0f s left", step, self.total, text, left)

    def score(self, scores: dict[str, float]) -> None:
        """After an evaluation; shown from now on."""
        self.latest = scores
