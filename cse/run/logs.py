"""Where a run's lines go, as conf's hydra.job_logging says: the screen, and train.log once there is a folder for it."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from omegaconf import DictConfig


class Console(logging.StreamHandler):
    """Writes to what is standard output at the time: on a terminal with a live bar, above that bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stdout
        super().emit(record)


class LogFile(logging.FileHandler):
    """A file that begins with the run's folder: what is logged before is kept until then, or lost with what is refused.

    filename: in the run's folder.
    """

    def __init__(self, filename: str):
        super().__init__(filename, encoding="utf-8", delay=True)
        self.kept: list[logging.LogRecord] | None = []

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, or keep it until `begin`."""
        if self.kept is None:
            super().emit(record)
        else:
            self.kept.append(record)

    def begin(self) -> None:
        """Write what was kept, and from here on each line as it comes."""
        kept, self.kept = self.kept or [], None
        for record in kept:
            super().emit(record)


def begin_log_files() -> None:
    """The run's folder is there: let its log begin."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogFile):
            handler.begin()


@contextmanager
def logging_by(job_logging: DictConfig, verbose: bool | str | list[str] = False) -> Iterator[None]:
    """Log in the block as Hydra's keys job_logging and verbose say, and afterwards as before."""
    from hydra.core.utils import configure_log

    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        configure_log(job_logging, verbose)
        yield
    finally:
        for handler in root.handlers:
            if handler not in handlers:
                handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
