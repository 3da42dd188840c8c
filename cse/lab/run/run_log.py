"""The log of a run: lines on the screen and, as soon as the run has a folder, in a file in the folder.

log_fields                     logs a line that begins with a name
logging_to                     logs during a block to the screen, and keeps the lines for the file
begin_log_files                writes the kept lines to the file, when the folder exists
take_lines                     returns the kept lines for the process that will make the folder
"""

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path

from cse.lab.text_columns import as_shown

log = logging.getLogger("cse")

FORMAT = "[%(asctime)s][%(name)s][%(levelname)s] %(message)s"


def log_fields(level: int = logging.INFO, /, **lines: object) -> None:
    """Log a line for each field that is not empty. The line begins with the field's name."""
    for name, line in lines.items():
        if line:
            log.log(level, "%-10s %s", name, line)


class Console(logging.StreamHandler):
    """A handler that writes to the current standard output, above a live progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stdout
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's text, wrapped at the terminal's width."""
        return as_shown(super().format(record), sys.stdout)


@contextmanager
def logging_to(path: Path, kept: Iterable[logging.LogRecord] = ()) -> Iterator[None]:
    """Log to the screen and to a file during the block, and restore the earlier handlers after the block.

    Lines for the file stay in memory until `begin_log_files`, which a refused run does not call. kept: the lines of the
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
    """Return the root logger's MemoryHandlers: the handler of `logging_to`, and handlers of the user's program."""
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, MemoryHandler)]


def begin_log_files() -> None:
    """Write the kept lines to the log file and, from now on, each new line. The run's folder must exist."""
    for memory in log_files():
        memory.flushLevel = logging.NOTSET
        memory.flush()


def take_lines() -> list[logging.LogRecord]:
    """Return the kept lines, for the process that will make the run's folder, and remove them from this process."""
    taken = []
    for memory in log_files():
        taken += memory.buffer
        memory.buffer = []
    for record in taken:
        record.msg, record.args = record.getMessage(), None  # text can be pickled, arguments perhaps not
    return taken
