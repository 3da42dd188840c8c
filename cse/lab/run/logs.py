"""Where a run logs: on the screen, and in a file of its folder from the moment at which it has one."""

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path

FORMAT = "[%(asctime)s][%(name)s][%(levelname)s] %(message)s"


class Console(logging.StreamHandler):
    """Writes to the current standard output, which on a terminal with a live bar writes above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stdout
        super().emit(record)


@contextmanager
def logging_to(path: Path, kept: Iterable[logging.LogRecord] = ()) -> Iterator[None]:
    """Log in the block to the screen and to a file; restore both after it.

    The file's lines are kept in memory until `begin_log_files`; a refused run's are dropped. kept: another process's.
    """
    root = logging.getLogger()
    handlers, level, file = list(root.handlers), root.level, logging.FileHandler(path, encoding="utf-8", delay=True)
    file.setFormatter(logging.Formatter(FORMAT))
    memory = MemoryHandler(sys.maxsize, flushLevel=sys.maxsize, target=file, flushOnClose=False)
    memory.buffer.extend(kept)
    try:
        root.handlers[:] = [Console(), memory]
        root.setLevel(logging.INFO)
        yield
    finally:
        memory.close()
        file.close()
        root.handlers[:] = handlers
        root.setLevel(level)


def log_files() -> list[MemoryHandler]:
    """What keeps the lines of this process's log file, in a list; none outside `logging_to`."""
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, MemoryHandler)]


def begin_log_files() -> None:
    """Write the kept lines, and from now on each line as it comes: the run's folder exists."""
    for memory in log_files():
        memory.flushLevel = logging.NOTSET
        memory.flush()


def take_lines() -> list[logging.LogRecord]:
    """Take the lines kept so far, for the process that will make the run's folder."""
    taken = []
    for memory in log_files():
        taken += memory.buffer
        memory.buffer = []
    for record in taken:
        record.msg, record.args = record.getMessage(), None  # as text, which can be pickled
    return taken
