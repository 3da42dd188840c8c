"""The log of a run: lines on the screen and, as soon as the run has a folder, in a file in the folder.

log_fields                     log a line that begins with a name
logging_to                     a block around a run
begin_log_files                write the kept lines to the file, when the folder exists
take_lines                     give the kept lines to the process that will make the folder
"""

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path

log = logging.getLogger("cse")

FORMAT = "[%(asctime)s][%(name)s][%(levelname)s] %(message)s"


def log_fields(level: int = logging.INFO, /, **lines: object) -> None:
    """Log a line for each field that is not empty, its name first."""
    for name, line in lines.items():
        if line:
            log.log(level, "%-10s %s", name, line)


class Console(logging.StreamHandler):
    """Writes to the current standard output; above the bar, if the terminal has a live bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stdout
        super().emit(record)


@contextmanager
def logging_to(path: Path, kept: Iterable[logging.LogRecord] = ()) -> Iterator[None]:
    """Log in the block to the screen and to a file; restore the handlers after it.

    Lines for the file are kept in memory until `begin_log_files`. A refused run never writes them. kept: lines of the
    process that started this process.
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
    """The handlers that keep lines in memory: the handler of `logging_to`, and MemoryHandlers of the user's program."""
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, MemoryHandler)]


def begin_log_files() -> None:
    """The run's folder now exists: write the kept lines to the log file, and then each new line."""
    for memory in log_files():
        memory.flushLevel = logging.NOTSET
        memory.flush()


def take_lines() -> list[logging.LogRecord]:
    """Return and forget the kept lines. They go to the process that will make the run's folder."""
    taken = []
    for memory in log_files():
        taken += memory.buffer
        memory.buffer = []
    for record in taken:
        record.msg, record.args = record.getMessage(), None  # as text, which can be pickled
    return taken
