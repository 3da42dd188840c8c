"""Show the progress of long work: as bars on a terminal, elsewhere as a log line every 20 seconds, with the time left.

The code that does the work tracks its loops: for task in track(tasks, "task"). A direct or indirect caller shows these
loops: with showing("transfer test"). Without such a caller, nothing is shown.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # importing rich takes time
    from rich.progress import Progress

log = logging.getLogger("cse")

EVERY = 20.0  # seconds between two lines
WIDE = 100  # columns of a terminal; a narrower terminal shows only numbers, no bar
LOOK = 0.1  # seconds between two updates from a loop

T = TypeVar("T")

_bars: "ContextVar[Progress | None]" = ContextVar("bars", default=None)


@contextmanager
def showing(title: str) -> Iterator[None]:
    """Show the loops that are tracked in the block. title: the name of the block's work."""
    with live(transient=True) as bars:
        task = bars.add_task(title, total=None)
        try:
            yield
        finally:
            bars.remove_task(task)


def track(items: Iterable[T], what: str | Callable[[T], str], total: int | None = None) -> Iterator[T]:
    """Yield the items. A surrounding block of `showing`, if any, shows the progress of this loop.

    what: an item's name, or a function that returns the name. total: the number of items, if `items` has no length.
    """
    if (bars := _bars.get()) is None:
        yield from items
        return
    title, count = what if isinstance(what, str) else "", len(items) if isinstance(items, Sized) else total
    task, updated = bars.add_task(title, total=count), -LOOK
    try:
        for number, item in enumerate(items):
            if (now := time.monotonic()) - updated >= LOOK:
                updated = now
                bars.update(task, description=what if isinstance(what, str) else what(item), completed=number)
            yield item
    finally:
        bars.remove_task(task)


@contextmanager
def live(transient: bool) -> Iterator["Progress"]:
    """Yield the bars of the enclosing `live` block or, without such a block, new bars.

    transient: remove new bars when the block ends. Without a terminal, and in every process of a run except the first,
    no bars are shown, and lines are logged instead.
    """
    if (around := _bars.get()) is not None:
        yield around
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    hidden = not sys.stderr.isatty() or os.environ.get("RANK", "0") != "0"
    console, stdout = Console(stderr=True), sys.stdout.isatty()
    rest = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True))  # truncated at the line's end
    columns: list[ProgressColumn] = [BarColumn()] if console.width >= WIDE else []
    columns += [MofNCompleteColumn(), TimeRemainingColumn(), rest]
    with Progress(
        *columns, console=console, transient=transient, redirect_stdout=stdout, disable=hidden, expand=True
    ) as bars:
        before, ended = _bars.set(bars), Event()
        if hidden:
            Thread(target=write_lines, args=(bars, ended), name="progress", daemon=True).start()
        try:
            yield bars
        finally:
            ended.set()
            _bars.reset(before)


def write_lines(bars: "Progress", ended: Event) -> None:
    """Until `ended` is set, log a line every EVERY seconds: the title of the work, its loops, and the time left."""
    while not ended.wait(EVERY):
        tasks = bars.tasks
        if tasks and (tasks[0].elapsed or 0.0) >= EVERY:
            loops = [f"{one.description} {one.completed + 1:,.0f} of {one.total or '?'}" for one in tasks[1:]]
            left = next((one.time_remaining for one in tasks[1:]), None)
            text = ", ".join([tasks[0].description, *loops])
            log.info("%s%s", text, "" if left is None else f", about {left:.0f} s left")
