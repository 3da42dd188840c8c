"""heartbeat.json: shows that a run's process is alive. It is renewed every few seconds and removed at the end.

A run that is killed, or whose machine dies, leaves the file, and its age shows it. Progress is in metrics.jsonl: a step
or a score may take longer than any limit on silence.
"""

import contextlib
import json
import os
import socket
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from cse.errors import RunError, UserError
from cse.files import write_json

NAME = "heartbeat.json"
INTERVAL = 15.0  # seconds between two beats
TICK = 2.0  # seconds, by which the moment at which a machine started is uncertain
SILENCE = 90.0  # seconds without one after which a process on another machine counts as dead


@dataclass(frozen=True)
class Beat:
    """host, pid: of the process; time: of the beat, in seconds since 1970; steps: of the run, None if it has none;
    started: of the process, as `started` gives it."""

    host: str
    pid: int
    time: float
    steps: int | None = None
    started: float | None = None

    def is_alive(self, now: float) -> bool:
        """Whether the process lives at `now`. On this machine the system is asked, else the beat's age decides."""
        if self.host != socket.gethostname():
            return now - self.time < SILENCE
        here = started(self.pid)
        return here is not None and self.started is not None and abs(here - self.started) < TICK


class Heartbeat:
    """A context manager around a run's work. folder: the run's; writes: False on all processes but the first.

    A beat that cannot be written does not end the run: the run's own files report a disk that refuses.
    """

    def __init__(self, folder: Path, writes: bool = True):
        self.path, self.writes = folder / NAME, writes
        self.steps: int | None = None  # of the run, once they are known
        self.started = started(os.getpid())
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
            if self.path.parent.is_dir():  # a run that is refused leaves no folder
                with contextlib.suppress(RunError, UserError):
                    beat = Beat(socket.gethostname(), os.getpid(), time.time(), self.steps, self.started)
                    write_json(self.path, asdict(beat))
            beating = not self.ended.wait(INTERVAL)


def read_beat(folder: Path) -> Beat | None:
    """The last beat of a run that has not ended by itself; None where there is none, or the file is not one."""
    try:
        content = json.loads((folder / NAME).read_text(encoding="utf-8"))
        host, pid, at = str(content["host"]), int(content["pid"]), float(content["time"])
        began = content.get("started")
        return Beat(host, pid, at, content.get("steps"), None if began is None else float(began))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def started(pid: int) -> float | None:
    """When a process of this machine started, in seconds since the machine did, which no change of its clock moves.

    None where there is none, and for one that has ended and that nobody has waited for.
    """
    try:
        process = psutil.Process(pid)
        ended = process.status() == psutil.STATUS_ZOMBIE
        return None if ended else round(process.create_time() - psutil.boot_time(), 2)
    except psutil.NoSuchProcess:
        return None
