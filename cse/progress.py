"""How far something long has come: bars on a terminal, elsewhere a line now and then; both with the time left.

Who does the work tracks it, however deep: for task in track(tasks, "task"). Who wants it seen shows it: with
showing("transfer test"). Without the second the first is silent, and what is over in a moment shows nothing.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

log = logging.getLogger("cse")

EVERY = 20.0  # seconds between two lines
MOMENT = 1.5  # seconds after which a bar is worth a look
LOOK = 0.1  # seconds between two looks at a bar

T = TypeVar("T")


@dataclass
class Display:
    """Where the loops of a block are shown: a bar each, or, where bars is None, together in a line of the log.

    loops: how far those under way are, the outermost first, whose time left a line gives.
    """

    title: str
    bars: "Bars | None"
    loops: list[str] = field(default_factory=list)
    left: str = ""
    told: float = field(default_factory=lambda: time.monotonic())

    def tell(self) -> None:
        """Write a line where the last one is EVERY seconds old."""
        if self.bars is None and time.monotonic() - self.told >= EVERY:
            log.info("%s%s", ", ".join([self.title, *self.loops]), self.left)
            self.told = time.monotonic()


_display: ContextVar[Display | None] = ContextVar("display", default=None)
_bars: "ContextVar[Bars | None]" = ContextVar("bars", default=None)


@contextmanager
def showing(title: str) -> Iterator[None]:
    """A block whose tracked loops are shown."""
    with live(transient=True) as bars:
        before = _display.set(Display(title, bars))
        others = set(bars.task_ids) if bars else set()
        try:
            yield
        finally:
            _display.reset(before)
            if bars:
                for task in set(bars.task_ids) - others:  # of loops that were left
                    bars.remove_task(task)


def track(items: Iterable[T], what: str | Callable[[T], str], total: int | None = None) -> Iterator[T]:
    """The items one by one, as a loop of the display, if there is one.

    what: an item's name, or a function to it. total: how many there are, where they themselves do not say.
    """
    display = _display.get()
    if display is None:
        yield from items
        return
    total = len(items) if isinstance(items, Sized) else total
    depth, started = len(display.loops), time.monotonic()
    looked = -LOOK
    task = display.bars.add_task("", total=total) if display.bars else None
    try:
        for number, item in enumerate(items):
            if (now := time.monotonic()) - looked >= LOOK:
                looked, name = now, what if isinstance(what, str) else what(item)
                words = f"{name} {number + 1:,}" if total is None else f"{name} {number + 1:,} of {total:,}"
                display.loops[depth:] = [words]
                if depth == 0 and number and total is not None:
                    display.left = f", about {(now - started) * (total / number - 1):.0f} s left"
                if display.bars and task is not None:
                    display.bars.update(task, completed=number, description=", ".join([display.title, *display.loops]))
                display.tell()
            yield item
    finally:
        del display.loops[depth:]
        if display.bars and task in display.bars.task_ids:
            display.bars.remove_task(task)


@contextmanager
def live(transient: bool) -> Iterator["Bars | None"]:
    """Bars for a block: those that are live around it, else new ones on a terminal, gone when it ends if transient.

    None elsewhere, and in every process of a run but the first.
    """
    around = _bars.get()
    if around is not None or not sys.stderr.isatty() or os.environ.get("RANK", "0") != "0":
        yield around
        return
    with _made(transient) as bars:
        before = _bars.set(bars)
        try:
            yield bars
        finally:
            _bars.reset(before)


def _made(transient: bool) -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Table

    class Patient(Progress):
        """Shows a task when it has taken a moment."""

        def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
            return super().make_tasks_table([task for task in tasks if (task.elapsed or 0.0) >= MOMENT])

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    console = Console(stderr=True)
    return Patient(*columns, console=console, transient=transient, redirect_stdout=sys.stdout.isatty())
