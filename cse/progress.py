"""How far something long has come: a bar on a terminal, elsewhere a line now and then; both with the time left.

Who does the work tracks it, however deep: for task in track(tasks, "task"). Who wants it seen shows it: with
showing("transfer test"). Without the second the first is silent.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

log = logging.getLogger("cse")

EVERY = 20.0  # seconds between two lines

T = TypeVar("T")


@dataclass(eq=False)
class Level:
    """One loop: what an item of it is, how many there are, and how many are done."""

    what: str
    total: int
    done: int = 0

    def __str__(self) -> str:
        return f"{self.what} {min(self.done + 1, self.total)} of {self.total}"


class Display:
    """The loops that are under way, the outermost first, told in one line; its time left is the outermost one's.

    bar: a live one, or None for lines in the log.
    """

    def __init__(self, title: str, bar: "Bar | None"):
        self.title, self.bar = title, bar
        self.levels: list[Level] = []

    def push(self, level: Level) -> None:
        """A loop begins, inside those that are under way."""
        if not self.levels:
            self.started = self.told = time.monotonic()
            self.task = None if self.bar is None else self.bar.add_task("", total=1.0)
        self.levels.append(level)
        self.tell()

    def pop(self, level: Level) -> None:
        """A loop has ended."""
        self.levels.remove(level)
        if self.bar is not None and self.task is not None and not self.levels:
            self.bar.remove_task(self.task)

    def tell(self) -> None:
        """Bring the bar up to date, or write a line where the last one is EVERY seconds old."""
        words = ", ".join([self.title, *map(str, self.levels)])
        now, share = time.monotonic(), self.share()
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=share, description=words)
        elif now - self.told >= EVERY and share:
            log.info("%s, about %.0f s left", words, (now - self.started) * (1 / share - 1))
            self.told = now

    def share(self) -> float:
        """How much of the outermost loop is done, in [0, 1]: an item counts as far as the loops inside it have come."""
        share = 0.0
        for level in reversed(self.levels):
            share = min(1.0, (level.done + share) / level.total)
        return share


_display: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def showing(title: str, bar: "Bar | None" = None) -> Iterator[None]:
    """A block whose tracked loops are shown. bar: one that is live already; else one is made on a terminal."""
    before = _display.set(Display(title, bar or _bar()))
    display = _display.get()
    try:
        if bar is None and display is not None and display.bar is not None:
            with display.bar:
                yield
        else:
            yield
    finally:
        _display.reset(before)


def track(items: Sequence[T], what: str | Callable[[T], str]) -> Iterator[T]:
    """The items one by one, as a loop of the display, if there is one. what: an item's name, or a function to it."""
    display = _display.get()
    if display is None or not items:
        yield from items
        return
    level = Level("", len(items))
    for number, item in enumerate(items):
        level.what, level.done = what if isinstance(what, str) else what(item), number
        if number:
            display.tell()
        else:
            display.push(level)
        try:
            yield item
        except GeneratorExit:
            display.pop(level)
            raise
    display.pop(level)


def _bar() -> "Bar | None":
    """A bar of one line on a terminal, gone when it ends; None elsewhere."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
