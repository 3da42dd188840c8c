"""The file heartbeat.json: the lock of the process that works in a run's folder.

The file names the process. The process touches the file every 30 seconds and removes it at the end. If a process is
killed, the file remains, and the next start takes the lock. A machine can test whether its own processes are alive. A
process of another machine counts as alive if the file is less than 90 seconds old.
"""

import contextlib
import logging
import os
import socket
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from pydantic import PositiveInt, TypeAdapter

from cse.errors import UserError
from cse.files import file_lock, make_folder, recover_folder, write_json

log = logging.getLogger("cse")

NAME = "heartbeat.json"
INTERVAL = 30.0  # seconds between two beats
SILENCE = 90.0  # seconds: after this time without a beat, another machine's process counts as dead


@dataclass(frozen=True)
class Beat:
    """The process that works in a folder.

    host, pid: the process's machine and number. since: the time at which the process took the lock. time: the time of
    the process's last beat, by the clock of the file system. Both times are in seconds since 1970.
    """

    host: str
    pid: PositiveInt
    since: float
    time: float = field(default=0.0, compare=False)

    def is_alive(self, now: float) -> bool:
        """Return whether the process is alive at `now`.

        On this machine, a later process may have the same number by chance. So a process with this number counts only
        if it began before `since` (by this machine's clock) or before the last beat (by the file system's clock).
        """
        if self.host != socket.gethostname():
            return now - self.time < SILENCE
        try:
            process = psutil.Process(self.pid)
            return process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= max(self.since, self.time)
        except psutil.NoSuchProcess:
            return False


BEAT = TypeAdapter(Beat)


class Heartbeat:
    """A context manager for a run's work. In its block, only this process writes into the run's folder.

    If the folder exists, the block starts by taking the lock; else `take` takes the lock. writes: False for a process
    that writes nothing, because it is not the first of several, or because the job makes no folder. Raises UserError if
    another process has the lock.
    """

    def __init__(self, folder: Path, writes: bool = True):
        self.folder, self.writes = folder, writes
        self.own: Beat | None = None
        self.ended = threading.Event()

    def __enter__(self) -> "Heartbeat":
        if self.folder.is_dir():
            self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        if self.own is not None and read_beat(self.folder) == self.own:
            with contextlib.suppress(OSError):
                (self.folder / NAME).unlink()

    def take(self) -> None:
        """Make the folder if it does not exist, and take its lock. Raises UserError if another process has the lock."""
        if self.own is not None or not self.writes:
            return
        make_folder(self.folder, "hydra.run.dir")
        own = Beat(socket.gethostname(), os.getpid(), time.time())
        with file_lock(self.folder / NAME):  # several processes may start at once
            check_free(self.folder)
            write_json(self.folder / NAME, {"host": own.host, "pid": own.pid, "since": own.since})
        self.own = own
        recover_folder(self.folder)
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def _beat(self) -> None:
        while not self.ended.wait(INTERVAL):
            if (beat := read_beat(self.folder)) is None:
                continue
            if beat != self.own:
                message = "this process stops: it wrote no heartbeat in time, and process %d on %s took its folder %s"
                log.error(message, beat.pid, beat.host, self.folder)
                os._exit(1)
            with contextlib.suppress(OSError):  # if the disk refuses, the next write of a run's file raises an error
                os.utime(self.folder / NAME)


def check_free(folder: Path) -> None:
    """Raise UserError if a living process works in the folder."""
    beat = read_beat(folder)
    if beat is not None and beat.is_alive(time.time()):
        raise UserError(
            f"{folder} is in use: process {beat.pid} on {beat.host} has worked in it since {clock(beat.since)}; "
            "wait for this process, stop it, or name another folder (hydra.run.dir)"
        )


def read_beat(folder: Path) -> Beat | None:
    """Return the last beat of the process that works, or was killed, in a folder; None without a readable file."""
    path = folder / NAME
    try:
        return replace(BEAT.validate_json(path.read_bytes()), time=path.stat().st_mtime)
    except (OSError, ValueError):
        return None


def clock(seconds: float) -> str:
    """Return a time, in seconds since 1970, as this machine's local date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
