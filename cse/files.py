"""Atomic writes of files and folders: under a temporary name beside the final name, then one rename."""

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python
from safetensors import SafetensorError

from cse.errors import RunError, UserError

Json = dict[str, Any]
"""The content of JSON or YAML: an event, results.json, a score's provenance, a paper's published numbers."""

ADVICE = "free some space or name another folder, and run it again (with resume=auto if the run had begun)"
NO_PLACE = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR),
    *(errno.ENAMETOOLONG, errno.ELOOP),
)
"""Errors of a path that cannot be written even if the disk has room: a user's mistake."""


def make_folder(path: Path, key: str) -> None:
    """Make a folder and its parents. Raises UserError if that is impossible, or if the folder cannot be written.

    key: the setting that names the folder, for the message.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        reason = None if os.access(path, os.W_OK) else "it cannot be written"
    except OSError as error:
        reason = error.strerror
    if reason:
        raise UserError(f"{key}={path}: {reason}; name a folder of yours")


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A temporary path with the ending of `path`. When the block ends, the file written there replaces `path`.

    After an error the old file is unchanged, and the temporary file is gone. Raises as cannot_write says.
    """
    with _written(path) as new:
        yield new
        _flush(new)
        new.replace(path)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """An empty temporary folder. It replaces the folder `path` when the block ends. Only one process may write `path`.

    The old folder is renamed first and removed last, so one of the two is always complete. `recover` handles a kill
    between the renames. Raises as cannot_write says.
    """
    recover(path)
    with _written(path) as new:
        new.mkdir()
        yield new
        _flush(new)
        if path.is_dir():
            path.rename(new.parent / "old")
        new.rename(path)


def written_once(path: Path, write: Callable[[Path], object]) -> Path:
    """The folder `path`, filled by write(temporary folder) unless it exists. The first of several processes wins.

    For caches: their content depends only on their name. Raises the errors of `write`, and as cannot_write says.
    """
    if path.exists():
        return path
    with _written(path) as new:
        new.mkdir()
        write(new)
        _flush(new)
        try:
            new.rename(path)
        except OSError:
            if not path.exists():  # otherwise another process was first, with the same content
                raise
    return path


def recover(path: Path) -> None:
    """Clean up after a kill during a write of `path`: an old folder gets its name back, temporary files are removed.

    Only one process may write `path`.
    """
    for place, left in _leftovers(path.parent, ".cse-*"):
        if left == path:
            _finish(place, path)


def recover_folder(folder: Path) -> None:
    """`recover` for every path in a folder and in its subfolders. Only one process may write these paths."""
    for place, left in [*_leftovers(folder, ".cse-*"), *_leftovers(folder, "*/.cse-*")]:
        _finish(place, left)


def _leftovers(folder: Path, pattern: str) -> list[tuple[Path, Path]]:
    """(the temporary folder of a write, what was written)."""
    found = [(place, re.fullmatch(r"\.cse-[0-9a-f]{16}\.(.+)", place.name)) for place in folder.glob(pattern)]
    return [(place, place.with_name(match[1])) for place, match in found if match]


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """A block that makes `path`. Only one process at a time enters it. In the block, first check whether `path` exists.

    Raises UserError if the folder belongs to another user, RunError if its disk has no locks.
    """
    from huggingface_hub.utils import WeakFileLock

    lock = path.with_name(f".{path.name}.lock")
    with contextlib.ExitStack() as held:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(WeakFileLock(lock))
        except OSError as error:
            raise cannot_write(lock, error) from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()  # while it is held: a waiting process notices this, and makes a new lock


def checksum(path: Path) -> str:
    """The CRC-32 of a file's bytes in hex. It detects damage (a flipped bit, a missing end), but not forgery."""
    value = 0
    with open(path, "rb") as content:
        while block := content.read(1 << 20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes in hex."""
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def read_once(digest: Callable[[Path], str], path: Path) -> str:
    """`checksum` or `sha256` of a file. The file is read again only if it was written again."""
    return _digest_as_written(digest, path, path.stat().st_mtime_ns)


@cache
def _digest_as_written(digest: Callable[[Path], str], path: Path, written: int) -> str:
    return digest(path)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8) in one step. Raises as cannot_write says."""
    with replaced_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Replace `path` by `value` as indented JSON, in one step. JSON has no NaN and no infinity: they become null."""
    write_text(path, json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file; {} if the file is missing, unreadable, or not a mapping."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def json_lines(path: Path) -> Iterator[Any]:
    """The value of each line of a file of JSON lines; nothing if the file is missing.

    A line that is not JSON gives None: another process is writing it, or was killed while writing.
    """
    if not path.exists():
        return
    with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:  # not at U+2028, as splitlines would
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                yield None


def json_line(value: Mapping[str, object]) -> str:
    """One line of JSON, newline included."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n"


def add_json_lines(path: Path, values: Iterable[Mapping[str, object]]) -> None:
    """Add lines to a file of JSON lines.

    A power cut may have left the last line incomplete. The new lines then begin on a line of their own.
    """
    with open(path, "ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":
                file.write(b"\n")
        file.write("".join(map(json_line, values)).encode())


def plain(value: object) -> Any:
    """The value as JSON types: paths as text, tensor and numpy scalars as numbers, arrays and tuples as lists.

    Raises TypeError or AttributeError for other types.
    """
    return to_jsonable_python(value, inf_nan_mode="null", fallback=lambda array: array.tolist())


def cannot_write(path: Path | str, error: OSError | SafetensorError) -> RunError | UserError:
    """The error for a full disk (RunError), or for a path at which nothing can be written (UserError)."""
    reason, number = (error.strerror, error.errno) if isinstance(error, OSError) else (error, None)
    kind = UserError if number in NO_PLACE else RunError
    return kind(f"cannot write {path}: {reason or error}; {ADVICE}")


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """A temporary path for the future `path`, in a folder beside it with a unique name.

    Errors of the disk in the block are raised as cannot_write says. Afterwards the folder is removed.
    """
    place = path.with_name(f".cse-{secrets.token_hex(8)}.{path.name}")
    try:
        place.mkdir(parents=True)
        yield place / f"new.{path.name}"
    except (OSError, SafetensorError) as error:
        raise cannot_write(path, error) from error
    finally:
        _finish(place, path)


def _finish(place: Path, path: Path) -> None:
    """End a write of `path` in the folder `place`: the old folder gets its name back if `path` is missing; the rest is
    removed."""
    old = place / "old"
    if old.is_dir() and not path.exists():
        old.rename(path)
    shutil.rmtree(place, ignore_errors=True)


def _flush(path: Path) -> None:
    """Flush a file, or all files of a folder, to the disk, so that the content is there before the rename.

    Each file gets the mode of a new file under the umask: safetensors would let only the owner read it.
    """
    mode = path.parent.stat().st_mode & 0o666
    for file in (path, *path.rglob("*")):
        if file.is_file():
            file.chmod(mode)
            with open(file, "rb") as written:
                os.fsync(written.fileno())
