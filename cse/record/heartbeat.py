"""heartbeat.json: shows that a run's process is alive, and is its lock on the folder. It is made by one process alone,
renewed every few seconds and removed at the end.

A run that is killed, or whose machine dies, leaves the file; the next start takes it over. On the same machine the
process itself shows whether it lives, of another machine's the file's age. Progress is in metrics.jsonl: a step or a
score may take longer than any limit on silence.
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
SILENCE = 90.0  # seconds without one after which a process of another machine counts as dead


@dataclass(frozen=True)
class Beat:
    """What the file holds, and when it was last written (`time`, which is the file's own).

    host, pid: of the process; steps: of the run, None if it has none. system, started: of the process, as the functions
    of these names say; since: when it took the folder. Times are in seconds since 1970; an older version's file ends
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
        """Whether the process lives at `now`: as this machine's system says, of another machine's by its last beat."""
        known = self.lives_here()
        return now - self.time < SILENCE if known is None else known

    def lives_here(self) -> bool | None:
        """Whether the process lives; None where this machine cannot say, as of another machine's or container's."""
        if (self.host, self.system) != (socket.gethostname(), system()):
            return None
        found = started(self.pid)
        if found and self.started:
            return found == self.started  # else the number is another's by now
        return False if found == "" else None

    def is_same(self, other: "Beat | None") -> bool:
        """Whether both are of one process that took the folder once."""
        return other is not None and replace(other, time=self.time, steps=self.steps) == self


BEAT = TypeAdapter(Beat)


class Heartbeat:
    """A context manager around a run's work, in which this process alone writes into its folder.

    folder: the run's; taken as the block begins if it is there, else by `take`. writes: False where nothing is written
    (on all processes but the first, for a look). Raises UserError where another process holds the folder.

    A beat that cannot be written does not end the run: the run's own files report a disk that refuses.
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
        """Make the folder, and this process the one that writes into it. Raises UserError where another one does, and
        for a link out of it."""
        if self.own is not None or not self.writes:
            return
        folder, pid, now = self.path.parent, os.getpid(), time.time()
        make_folder(folder, "hydra.run.dir")
        check_links(folder)
        dead = dead_holder(self.path)
        own = Beat(socket.gethostname(), pid, now, system=system(), started=started(pid), since=now)
        try:
            with one_at_a_time(folder):
                if (beat := held(self.path)) is not None:
                    if beat != dead:
                        raise in_use(folder, beat)
                    self.path.unlink()
                with open(self.path, "x", encoding="utf-8") as file:
                    file.write(json_line(content_of(own)))
        except FileExistsError as error:  # a disk without locks, and another start at that moment
            raise in_use(folder, held(self.path) or own) from error
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
                message = (
                    "process %d on %s took %s over while this one was silent: it ends, for two would spoil the run"
                )
                log.error(message, found.pid, found.host, folder)
                os._exit(1)
            with contextlib.suppress(OSError, RunError, UserError):
                if found is not None and found.steps == self.steps:
                    os.utime(self.path)
                elif folder.is_dir():  # one that is removed meanwhile is not made again
                    write_json(self.path, content_of(replace(self.own, steps=self.steps)))


def dead_holder(path: Path) -> Beat | None:
    """The beat that a dead process left, None where there is none. Raises UserError where the process lives.

    Of another machine's process that is known when it beats again, or has not for SILENCE; at least two beats are
    waited for, for two machines' clocks may differ.
    """
    beat = held(path)
    alive = beat is not None and beat.lives_here()
    if beat is None or alive is False:
        return beat
    if alive:
        raise in_use(path.parent, beat)
    silence = max(2 * INTERVAL, min(SILENCE, SILENCE - (time.time() - beat.time)))
    log.info("%s: used by process %d on %s; waiting %.0f s whether it lives", path.parent, beat.pid, beat.host, silence)
    end = time.monotonic() + silence
    while time.monotonic() < end:
        time.sleep(min(1.0, INTERVAL))
        if (now := held(path)) != beat:
            if now is None:
                return None
            raise in_use(path.parent, now)
    return beat


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """A block in which no other start makes or removes the folder's file, as far as the disk has locks."""
    place = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a disk without locks
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def check_free(folder: Path) -> None:
    """Raise UserError where a process of this machine writes into the folder; of another's only `take` knows."""
    beat = read_beat(folder)
    if beat is not None and beat.lives_here():
        raise in_use(folder, beat)


def in_use(folder: Path, beat: Beat) -> UserError:
    """The sentence for a second start."""
    return UserError(
        f"{folder} is in use: process {beat.pid} on {beat.host} writes into it since {clock(beat.since or beat.time)}; "
        "wait for its end or stop it, or name another folder (hydra.run.dir)"
    )


def held(path: Path) -> Beat | None:
    """The beat in the file, None where there is no file; of one that says nothing, of a process that nobody knows.

    Raises UserError for what is no file.
    """
    if path.is_symlink() or path.is_dir():
        raise UserError(f"{path} is no file: no run of cse leaves that, remove it")
    try:
        return read_beat(path.parent) or Beat("an unknown machine", 0, path.stat().st_mtime)
    except FileNotFoundError:
        return None


def system() -> str:
    """What a process's number counts in: this start of the machine, and its container, where the system tells them."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def started(pid: int) -> str | None:
    """When a process of this machine began, by a clock that nobody sets; "" for one that has ended, None if unknown."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        stat = Path(f"/proc/{pid}/stat")  # macOS has none, and keeps the moment as it was
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
    """What the file holds."""
    return {key: value for key, value in vars(beat).items() if key != "time"}


def read_beat(folder: Path) -> Beat | None:
    """The last beat of a run that has not ended by itself; None where there is none, or the file is not one."""
    path = folder / NAME
    try:
        return replace(checked(BEAT, path), time=path.stat().st_mtime)
    except (OSError, ValueError):
        return None


def clock(seconds: float) -> str:
    """A moment, in seconds since 1970, on this machine's clock."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
