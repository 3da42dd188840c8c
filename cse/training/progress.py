"""Progress of a run: a bar on a terminal, one plain line for each logged step elsewhere."""

import logging
import time
from contextlib import ExitStack
from typing import Self

from cse.progress import live

log = logging.getLogger(__name__)


class Progress:
    """A context manager. total: the run's steps; first: the step it starts at; shown: False on all but one process."""

    def __init__(self, total: int, first: int, shown: bool):
        self.total, self.first, self.shown = total, first, shown
        self.latest: dict[str, float] = {}

    def __enter__(self) -> Self:
        self.started, self.stack = time.monotonic(), ExitStack()
        if self.shown:
            self.bars = self.stack.enter_context(live(transient=False))
            if not self.bars.disable:
                self.task = self.bars.add_task("", total=self.total, completed=self.first)
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def update(self, step: int, numbers: dict[str, float]) -> None:
        """Show the numbers of a step that was logged or scored: losses, speed or dev scores.

        On a terminal the latest value of each stays; elsewhere a line has only its own step's.
        """
        self.latest |= numbers
        done = step - self.first
        if self.shown and not self.bars.disable:
            self.bars.update(self.task, completed=step, description=in_words(self.latest))
        elif self.shown:
            left = (time.monotonic() - self.started) / done * (self.total - step) if done else 0.0
            log.info("step %d/%d  %s%s", step, self.total, in_words(numbers), f"  {left:.0f} s left" if done else "")


def in_words(numbers: dict[str, float]) -> str:
    """The numbers in one line, rounded."""
    forms = {"loss": "loss {:.4g}", "aux loss": "aux loss {:.4g}", "tokens/s": "{:,.0f} tokens/s"}
    forms |= {"s/step": "{:.3g} s/step"}
    return "  ".join(forms.get(name, f"{name} {{:.2f}}").format(value) for name, value in numbers.items())
