"""Where a run logs, as conf's hydra.job_logging says: to the screen, and to train.log once the run has a folder."""

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig, open_dict, read_write


class Console(logging.StreamHandler):
    """Writes to the current standard output, which on a terminal with a live bar writes above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stdout
        super().emit(record)


class LogFile(logging.FileHandler):
    """A file in the run's folder. It keeps its lines in memory until the folder exists; a refused run's are dropped.

    filename: in the run's folder. kept: lines so far, also another process's; None once the file is written.
    """

    def __init__(self, filename: str, kept: Iterable[logging.LogRecord] = ()):
        super().__init__(filename, encoding="utf-8", delay=True)
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


def log_files() -> list[LogFile]:
    """The log files of this process."""
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, LogFile)]


def begin_log_files() -> None:
    """Start writing the log files, now that the run's folder exists."""
    for file in log_files():
        file.begin()


Handed = list[tuple[str, logging.Formatter | None, list[logging.LogRecord]]]
"""For each log file its name, its formatter, and the lines kept so far."""


def hand_over_log_files() -> Handed:
    """Hand this process's log files, with the lines kept so far, to the process that will make the run's folder."""
    handed: Handed = []
    for file in log_files():
        kept, file.kept = file.kept or [], []
        for record in kept:
            record.msg, record.args = record.getMessage(), None  # as text, which can be pickled
        handed.append((file.baseFilename, file.formatter, kept))
    return handed


def take_over_log_files(handed: Handed) -> None:
    """Log into the files that another process handed over."""
    for filename, formatter, kept in handed:
        file = LogFile(filename, kept)
        file.setFormatter(formatter)
        logging.getLogger().addHandler(file)


@contextmanager
def logging_by(hydra: DictConfig, folder: Path, command: list[str]) -> Iterator[None]:
    """Log in the block as hydra.job_logging and hydra.verbose say, with `command` as sys.argv; restore both after it.

    hydra: a config of Hydra's own node alone.
    """
    from hydra.core.utils import configure_log

    with read_write(hydra), open_dict(hydra):
        hydra.hydra.runtime.output_dir = str(folder.absolute())
    root, arguments = logging.getLogger(), sys.argv
    handlers, level = list(root.handlers), root.level
    try:
        sys.argv = command
        configure_log(hydra.hydra.job_logging, hydra.hydra.verbose)
        yield
    finally:
        sys.argv = arguments
        for handler in set(root.handlers) - set(handlers):
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
