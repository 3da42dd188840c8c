"""Where a run logs: on the screen, and in a file of its folder from the moment at which it has one."""

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Console(logging.StreamHandler):
    """Writes to the current standard output, which on a terminal with a live bar writes above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stdout
        super().emit(record)


class LogFile(logging.FileHandler):
    """A file in the run's folder. It keeps its lines in memory until the folder exists; a refused run's are dropped.

    kept: lines so far, also another process's; None once the file is written.
    """

    def __init__(self, path: Path, kept: Iterable[logging.LogRecord] = ()):
        super().__init__(path, encoding="utf-8", delay=True)
        self.setFormatter(logging.Formatter("[%(asctime)s][%(name)s][%(levelname)s] %(message)s"))
        self.kept: list[logging.LogRecord] | None = list(kept)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or keep it."""
        if self.kept is None:
            super().emit(record)
        else:
            self.kept.append(record)

    def begin(self) -> None:
        """Write the kept lines, and from now on each line as it comes."""
        kept, self.kept = self.kept or [], None
        for record in kept:
            super().emit(record)


@contextmanager
def logging_to(path: Path, command: list[str], kept: Iterable[logging.LogRecord] = ()) -> Iterator[None]:
    """Log in the block to the screen and to a LogFile, with `command` as sys.argv; restore both after it."""
    root, arguments = logging.getLogger(), sys.argv
    handlers, level, file = list(root.handlers), root.level, LogFile(path, kept)
    try:
        sys.argv = command
        root.handlers[:] = [Console(), file]
        root.setLevel(logging.INFO)
        yield
    finally:
        sys.argv = arguments
        file.close()
        root.handlers[:] = handlers
        root.setLevel(level)


def log_files() -> list[LogFile]:
    """The log file of this process, in a list; none outside `logging_to`."""
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, LogFile)]


def begin_log_files() -> None:
    """Start writing the log file, now that the run's folder exists."""
    for file in log_files():
        file.begin()


def take_lines() -> list[logging.LogRecord]:
    """Take the lines kept so far, for the process that will make the run's folder."""
    taken = []
    for file in log_files():
        taken, file.kept = file.kept or [], []
    for record in taken:
        record.msg, record.args = record.getMessage(), None  # as text, which can be pickled
    return taken
