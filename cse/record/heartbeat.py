"""heartbeat.json: shows that a run's process is alive, and locks its folder. One process creates the file, renews it
every few seconds and removes it at the end.

A run that is killed, or whose machine dies, leaves the file behind, and the next start takes it over. On the same
machine the process itself shows whether it is alive; for another machine's process, the file's age does. Progress is in
metrics.jsonl, as a step or a score may take longer than any limit on silence.
"""

import contextlib
import fcntl
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import psutil
from pydantic import Field, TypeAdapter

from cse.errors import RunError, UserError
from cse.files import cannot_write, check_links, json_line, make_folder, recover, write_json
from cse.record.results import Count, checked

log = logging.getLogger("cse")

NAME = "heartbeat.json"
INTERVAL = 15.0  # seconds between two beats
SILENCE = 90.0  # seconds without a beat after which another machine's process counts as dead


@dataclass(frozen=True)
class Beat:
    """What the file holds, and when it was last written (`time`, which the file system knows).

    host, pid: of the process; steps: of the run, None if it has none; system, started: of the process, as the functions
    of these names; since: when it took the folder. Times are in seconds since 1970. A file of an older version ends
    with `steps`.
    """

    host: str
    pid: Annotated[int, Field(gt=0, lt=2**31)]
    time: float = 0.0
    steps: Count | None = None
    system: str | None = None
    started: str | None = None
    since: Annotated[float, Field(ge=0, lt=2**35)] = 0.0

    def is_alive(self, now: float) -> bool:
        """Whether the process is alive at `now`: if it is another machine's, by its last beat."""
        known = self.lives_here()
        return now - self.time < SILENCE if known is None else known

    def lives_here(self) -> bool | None:
        """Whether the process is alive; None if this machine cannot tell: it is another machine's or container's."""
        if (self.host, self.system) != (socket.gethostname(), system()):
            return None
        found = started(self.pid)
        if found and self.started:
            return found == self.started  # else another process has the number by now
        return False if found == "" else None

    def is_same(self, other: "Beat | None") -> bool:
        """Whether both beats are of one process, since it took the folder."""
        return other is not None and replace(other, time=self.time, steps=self.steps) == self


BEAT = TypeAdapter(Beat)


class Heartbeat:
    """A context manager around a run's work, in which only this process writes into the run's folder.

    It takes the folder at once if it exists, else when `take` is called. writes: False if this process writes nothing
    (it is not the first of several, or only looks). Raises UserError if another process has the folder.

    A beat that cannot be written does not end the run: the run's own files will report a disk that refuses.
    """

    def __init__(self, folder: Path, writes: bool = True):
        self.path, self.writes = folder / NAME, writes
        self.steps: int | None = None  # of the run, once they are known
        self.own: Beat | None = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        if self.path.parent.is_dir():
            self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()
        if self.own is not None and self.own.is_same(read_beat(self.path.parent)):
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)

    def take(self) -> None:
        """Create the folder if need be, and take it for this process. Raises UserError if another process has it, or a
        link leads out of it."""
        if self.own is not None or not self.writes:
            return
        folder, pid, now = self.path.parent, os.getpid(), time.time()
        make_folder(folder, "hydra.run.dir")
        check_links(folder)
        dead = dead_holder(self.path)
        own = Beat(socket.gethostname(), pid, now, system=system(), started=started(pid), since=now)
        try:
            with one_at_a_time(folder):
                if (beat := read_holder(self.path)) is not None:
                    if beat != dead:
                        raise in_use(folder, beat)
                    self.path.unlink()
                with open(self.path, "x", encoding="utf-8") as file:
                    file.write(json_line(content_of(own)))
        except FileExistsError as error:  # a disk without locks, and another start at that moment
            raise in_use(folder, read_holder(self.path) or own) from error
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self.own = own
        recover(self.path)
        self.thread.start()

    def _beat(self) -> None:
        folder = self.path.parent
        while not self.ended.wait(INTERVAL):
            assert self.own is not None
            found = read_beat(folder)
            if found is not None and not self.own.is_same(found):
                message = "process %d on %s took %s while this one was silent: this one stops, as two would spoil it"
                log.error(message, found.pid, found.host, folder)
                os._exit(1)
            with contextlib.suppress(OSError, RunError, UserError):
                if found is not None and found.steps == self.steps:
                    os.utime(self.path)
                elif folder.is_dir():  # if it was removed meanwhile, it is not created again
                    write_json(self.path, content_of(replace(self.own, steps=self.steps)))


def dead_holder(path: Path) -> Beat | None:
    """The beat that a dead process left; None if there is none. Raises UserError if the process is alive.

    Another machine's process is alive if it beats again, and dead once it has been silent for SILENCE. As two machines'
    clocks may differ, this waits for at least two beats.
    """
    beat = read_holder(path)
    alive = beat is not None and beat.lives_here()
    if beat is None or alive is False:
        return beat
    if alive:
        raise in_use(path.parent, beat)
    silence = max(2 * INTERVAL, min(SILENCE, SILENCE - (time.time() - beat.time)))
    log.info("%s: process %d on %s has it; waiting %.0f s for a beat", path.parent, beat.pid, beat.host, silence)
    end = time.monotonic() + silence
    while time.monotonic() < end:
        time.sleep(min(1.0, INTERVAL))
        if (now := read_holder(path)) != beat:
            if now is None:
                return None
            raise in_use(path.parent, now)
    return beat


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """A block in which no other start creates or removes the folder's file, if the disk has locks."""
    place = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a disk without locks
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def check_free(folder: Path) -> None:
    """Raise UserError if a process of this machine writes into the folder; `take` finds another machine's."""
    beat = read_beat(folder)
    if beat is not None and beat.lives_here():
        raise in_use(folder, beat)


def in_use(folder: Path, beat: Beat) -> UserError:
    """The error for a second start."""
    return UserError(
        f"{folder} is in use: process {beat.pid} on {beat.host} writes into it since {clock(beat.since or beat.time)}; "
        "wait for its end or stop it, or name another folder (hydra.run.dir)"
    )


def read_holder(path: Path) -> Beat | None:
    """The beat in the file, None without a file; of a damaged file, a beat of an unknown machine.

    Raises UserError for a link or a folder in its place.
    """
    if path.is_symlink() or path.is_dir():
        raise UserError(f"{path} is a link or a folder, which no run of cse leaves there: remove it")
    try:
        return read_beat(path.parent) or Beat("an unknown machine", 0, path.stat().st_mtime)
    except FileNotFoundError:
        return None


def system() -> str:
    """Where a process's number is valid: this boot of the machine and this container; "" if that is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def started(pid: int) -> str | None:
    """When a process of this machine began, by a clock that cannot be set; "" if it has ended, None if unknown."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        stat = Path(f"/proc/{pid}/stat")  # macOS has none, but its create_time does not change with the clock
        return (
            stat.read_text(errors="replace").rpartition(")")[2].split()[19]
            if stat.exists()
            else str(process.create_time())
        )
    except psutil.NoSuchProcess:
        return ""
    except (OSError, psutil.Error):
        return None


def content_of(beat: Beat) -> dict[str, object]:
    """The file's content."""
    return {key: value for key, value in vars(beat).items() if key != "time"}


def read_beat(folder: Path) -> Beat | None:
    """The last beat of a run that did not end properly; None if there is none, or the file is damaged."""
    path = folder / NAME
    try:
        return replace(checked(BEAT, path), time=path.stat().st_mtime)
    except (OSError, ValueError):
        return None


def clock(seconds: float) -> str:
    """A time, in seconds since 1970, as this machine's local date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
