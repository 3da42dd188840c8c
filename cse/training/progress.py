"""Progress of a run: a bar on a terminal, one plain line for each logged step elsewhere."""

import logging
import time
from contextlib import ExitStack

from cse.progress import live

log = logging.getLogger(__name__)


class Progress:
    """A context manager. total: the run's steps; first: the step it starts at; shown: true on the main process."""

    def __init__(self, total: int, first: int, shown: bool):
        self.total, self.first, self.shown = total, first, shown
        self.stack = ExitStack()
        self.latest: dict[str, float] = {}

    def __enter__(self) -> "Progress":
        self.started = time.monotonic()
        self.bars = self.stack.enter_context(live(transient=False)) if self.shown else None
        if self.bars is not None:
            self.task = self.bars.add_task(f"step {self.first}/{self.total}", total=self.total, completed=self.first)
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def update(self, step: int, numbers: dict[str, float]) -> None:
        """Show the numbers of a step that was logged or scored: loss, tokens/s or dev scores.

        On a terminal the latest value of each is shown; elsewhere a line has those of its own step only.
        """
        self.latest |= numbers
        if self.bars is not None:
            words = f"step {step}/{self.total}  {format_numbers(self.latest)}"
            self.bars.update(self.task, completed=step, description=words)
        elif self.shown:
            done = step - self.first
            left = (time.monotonic() - self.started) / done * (self.total - step) if done else 0.0
            log.info(
                "step %d/%d  %s%s", step, self.total, format_numbers(numbers), f"  {left:.0f} s left" if done else ""
            )


def format_numbers(numbers: dict[str, float]) -> str:
    """The numbers in one line, rounded."""
    forms = {"loss": "loss {:.4g}", "tokens/s": "{:,.0f} tokens/s"}
    return "  ".join(forms.get(name, f"{name} {{:.2f}}").format(value) for name, value in numbers.items())
