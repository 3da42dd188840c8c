"""heartbeat.json: shows that a run's process is alive. It is renewed every few seconds and removed at the end.

A run that is killed, or whose machine dies, leaves the file, and its age shows it. Progress is in metrics.jsonl: a step
or a score may take longer than any limit on silence.
"""

import contextlib
import os
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Required

import psutil
from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from cse.errors import RunError, UserError
from cse.files import write_json
from cse.record.results import Count, checked

NAME = "heartbeat.json"
INTERVAL = 15.0  # seconds between two beats
SILENCE = 90.0  # seconds without one after which a process counts as dead


class Written(TypedDict, total=False):
    """What the file holds, as far as it is read; see Beat."""

    host: Required[str]
    pid: Required[Annotated[int, Field(ge=0, lt=2**31)]]
    steps: Count | None


WRITTEN = TypeAdapter(Written)


@dataclass(frozen=True)
class Beat:
    """host, pid: of the process; time: when the file was last written, in seconds since 1970; steps: of the run, None
    if it has none."""

    host: str
    pid: int
    time: float
    steps: int | None = None

    def is_alive(self, now: float) -> bool:
        """Whether the process lives at `now`, by its last beat's age; one of this machine that is gone does not."""
        is_gone = self.host == socket.gethostname() and not psutil.pid_exists(self.pid)
        return not is_gone and now - self.time < SILENCE


class Heartbeat:
    """A context manager around a run's work. folder: the run's; writes: False on all processes but the first.

    A beat that cannot be written does not end the run: the run's own files report a disk that refuses.
    """

    def __init__(self, folder: Path, writes: bool = True):
        self.path, self.writes = folder / NAME, writes
        self.steps: int | None = None  # of the run, once they are known
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        if self.writes:
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.writes:
            self.ended.set()
            self.thread.join()
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _beat(self) -> None:
        beating = True
        while beating:
            if self.path.parent.is_dir():  # one that is removed meanwhile is not made again
                with contextlib.suppress(RunError, UserError):
                    write_json(self.path, {"host": socket.gethostname(), "pid": os.getpid(), "steps": self.steps})
            beating = not self.ended.wait(INTERVAL)


def read_beat(folder: Path) -> Beat | None:
    """The last beat of a run that has not ended by itself; None where there is none, or the file is not one."""
    path = folder / NAME
    try:
        return Beat(**checked(WRITTEN, path), time=path.stat().st_mtime)
    except (OSError, ValueError):
        return None
