"""Where a run's lines go, as conf's hydra.job_logging says: the screen, and train.log once there is a folder for it."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig, open_dict, read_write


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
def logging_by(config: DictConfig, folder: Path, command: list[str]) -> Iterator[None]:
    """Log in the block as hydra.job_logging and hydra.verbose say, and record this command; then all is as before.

    config: with Hydra's own node.
    """
    from hydra.core.utils import configure_log

    with read_write(config), open_dict(config):
        config.hydra.runtime.output_dir = str(folder.absolute())
    root, arguments = logging.getLogger(), sys.argv
    handlers, level = list(root.handlers), root.level
    try:
        sys.argv = command
        configure_log(config.hydra.job_logging, config.hydra.verbose)
        yield
    finally:
        sys.argv = arguments
        for handler in root.handlers:
            if handler not in handlers:
                handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
