"""Progress of long work: a bar on a terminal, elsewhere a line now and then, both with the time left.

The code that does the work tracks it, however deep in the stack: for task in track(tasks, "task"). A caller shows it:
with showing("transfer test"). Without the second the first is silent.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

log = logging.getLogger("cse")

EVERY = 20.0  # seconds between two lines
LOOK = 0.1  # seconds between two updates from a loop

T = TypeVar("T")

_bars: "ContextVar[Bars | None]" = ContextVar("bars", default=None)


class Display:
    """What to show of a block: its title, and how far its loops are, the outermost first. bars: None for lines."""

    def __init__(self, title: str, bars: "Bars | None"):
        self.title, self.bars, self.loops = title, bars, list[str]()
        self.started = self.last_line = time.monotonic()
        self.done = 0  # items of the outermost loop
        self.total: int | None = None

    def show(self) -> None:
        """Update the bar, or write a line if the last one is EVERY seconds old."""
        text, now = ", ".join([self.title, *self.loops]), time.monotonic()
        if self.bars is not None:
            self.bars.update(self.bars.task_ids[-1], description=text, completed=self.done, total=self.total)
        elif now - self.last_line >= EVERY:
            left = (now - self.started) * (self.total / self.done - 1) if self.done and self.total else None
            log.info("%s%s", text, "" if left is None else f", about {left:.0f} s left")
            self.last_line = now


_display: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def showing(title: str) -> Iterator[None]:
    """A block whose tracked loops are shown."""
    with live(transient=True) as bars:
        task = bars.add_task(title, total=None) if bars else None
        before = _display.set(Display(title, bars))
        try:
            yield
        finally:
            _display.reset(before)
            if bars and task is not None:
                bars.remove_task(task)


def track(items: Iterable[T], what: str | Callable[[T], str], total: int | None = None) -> Iterator[T]:
    """The items one by one, shown as a loop of the enclosing block, if there is one.

    what: an item's name, or a function that gives it. total: how many items there are, if they have no length.
    """
    display = _display.get()
    if display is None:
        yield from items
        return
    total = len(items) if isinstance(items, Sized) else total
    depth, updated = len(display.loops), -LOOK
    try:
        for number, item in enumerate(items):
            if (now := time.monotonic()) - updated >= LOOK:
                updated, name = now, what if isinstance(what, str) else what(item)
                display.loops[depth:] = [f"{name} {number + 1:,}" + ("" if total is None else f" of {total:,}")]
                if depth == 0:
                    display.done, display.total = number, total
                display.show()
            yield item
    finally:
        del display.loops[depth:]


@contextmanager
def live(transient: bool) -> Iterator["Bars | None"]:
    """Bars for a block: the enclosing block's, or else new ones on a terminal, removed when it ends if transient.

    None without a terminal, and in every process of a run but the first.
    """
    around = _bars.get()
    if around is not None or not sys.stderr.isatty() or os.environ.get("RANK", "0") != "0":
        yield around
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=transient, redirect_stdout=sys.stdout.isatty()) as bars:
        before = _bars.set(bars)
        try:
            yield bars
        finally:
            _bars.reset(before)
