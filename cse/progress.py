"""How far something long has come: a bar on a terminal, elsewhere a line now and then; both with the time left.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

log = logging.getLogger("cse")

EVERY = 20.0  # seconds between two lines
MOMENT = 1.5  # seconds after which a bar is worth a look
LOOK = 0.1  # seconds between two looks at a bar

T = TypeVar("T")


@dataclass(eq=False)
class Level:
    """One loop: what an item of it is, how many there are (None: nobody knows), and how many are done."""

    what: str
    total: int | None
    done: int = 0

    def __str__(self) -> str:
        if self.total is None:
            return f"{self.what} {self.done + 1:,}"
        return f"{self.what} {min(self.done + 1, self.total):,} of {self.total:,}"


class Display:
    """The loops that are under way, the outermost first, told in one line; its time left is the outermost one's.

    bars: live ones, of which it has one line, or None for lines in the log.
    """

    def __init__(self, title: str, bars: "Bars | None"):
        self.title, self.bars = title, bars
        self.levels: list[Level] = []
        self.task: TaskID | None = None
        self.looked = -LOOK

    def push(self, level: Level) -> None:
        """A loop begins, inside those that are under way."""
        if not self.levels:
            self.started = self.told = time.monotonic()
            if self.bars is not None:
                self.task = self.bars.add_task("", total=None if level.total is None else 1.0)
        self.levels.append(level)
        self.looked = -LOOK
        self.tell()

    def pop(self, level: Level) -> None:
        """A loop has ended, and with it those inside it that were left early."""
        if level in self.levels:
            del self.levels[self.levels.index(level) :]
        if self.bars is not None and self.task is not None and not self.levels:
            self.bars.remove_task(self.task)
            self.task = None

    def tell(self) -> None:
        """Bring the bar up to date, or write a line where the last one is EVERY seconds old."""
        now = time.monotonic()
        if now - self.looked < LOOK:
            return
        self.looked = now
        if self.bars is not None and self.task is not None:
            self.bars.update(self.task, completed=self.share(), description=str(self))
        elif now - self.told >= EVERY:
            share = self.share()
            left = f", about {(now - self.started) * (1 / share - 1):.0f} s left" if share else ""
            log.info("%s%s", str(self), left)  # as it is now
            self.told = now

    def __str__(self) -> str:
        return ", ".join([self.title, *map(str, self.levels)])

    def share(self) -> float:
        """How much of the outermost loop is done, in [0, 1]: an item counts as far as the loops inside it have come.

        0.0 where nobody knows its length.
        """
        share = 0.0
        for level in reversed(self.levels):
            share = 0.0 if level.total is None else min(1.0, (level.done + share) / level.total)
        return share


_display: ContextVar[Display | None] = ContextVar("display", default=None)
_bars: "ContextVar[Bars | None]" = ContextVar("bars", default=None)


@contextmanager
def showing(title: str) -> Iterator[None]:
    """A block whose tracked loops are shown."""
    with live(transient=True) as bars:
        display = Display(title, bars)
        before = _display.set(display)
        try:
            yield
        finally:
            _display.reset(before)
            if display.levels:
                display.pop(display.levels[0])


def track(items: Iterable[T], what: str | Callable[[T], str], total: int | None = None) -> Iterator[T]:
    """The items one by one, as a loop of the display, if there is one.

    what: an item's name, or a function to it. total: how many there are, where they themselves do not say.
    """
    display = _display.get()
    if display is None:
        yield from items
        return
    level = Level("", len(items) if isinstance(items, Sized) else total)
    try:
        for number, item in enumerate(items):
            level.what, level.done = what if isinstance(what, str) else what(item), number
            if number:
                display.tell()
            else:
                display.push(level)
            yield item
    finally:
        display.pop(level)


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
