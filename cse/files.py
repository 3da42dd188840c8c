"""Files and folders that a reader never sees half written: a temporary name beside the final one, then one rename."""

import contextlib
import csv
import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python
from safetensors import SafetensorError

from cse.errors import RunError, UserError

ADVICE = "make room or name another folder, and run it again"
NO_PLACE = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR),
    *(errno.ENAMETOOLONG, errno.ELOOP),
)
"""Errors of a name at which nothing can be written, however much room there is: a user's mistake."""


def make_folder(path: Path, key: str) -> None:
    """Make a folder that a setting names, and those above it. Raises UserError where it cannot be, or not be written.

    key: the setting, for the message.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        reason = None if os.access(path, os.W_OK) else "it cannot be written"
    except OSError as error:
        reason = error.strerror
    if reason:
        raise UserError(f"{key}={path}: {reason}; name a folder of yours")


def replaced_file(path: Path, advice: str = ADVICE) -> contextlib.AbstractContextManager[Path]:
    """A temporary path with the suffix of `path`: what the block writes there replaces `path` when the block ends.

    After an error the old file is as it was and the temporary one is gone. Raises RunError, which ends with `advice`,
    where the disk refuses.
    """
    return _renamed(_own_name(path), path, advice, os.replace)


def remove_leftovers(path: Path) -> None:
    """Remove what kills inside `replaced_file` left beside `path`; for files that one process writes."""
    for leftover in path.parent.glob(f".[0-9]*.{path.name}"):
        leftover.unlink(missing_ok=True)


@contextmanager
def replaced_folder(path: Path, advice: str = ADVICE) -> Iterator[Path]:
    """An empty temporary folder, which replaces the folder `path` when the block ends.

    The old folder is renamed to `path`.old first and removed last, so that one of the two is whole; see
    `recover_folder` for a kill between the renames. For folders that one process writes. Raises RunError, which ends
    with `advice`, where the disk refuses.
    """
    temporary, old = _beside(path)

    def swap(temporary: Path, path: Path) -> None:
        if path.exists():
            path.rename(old)
        temporary.rename(path)

    with _renamed(temporary, path, advice, swap):
        recover_folder(path)
        temporary.mkdir()
        yield temporary
    shutil.rmtree(old, ignore_errors=True)


def recover_folder(path: Path) -> None:
    """Undo what a kill inside `replaced_folder` left: the old folder gets its name back, leftovers are removed."""
    temporary, old = _beside(path)
    if old.exists() and not path.exists():
        old.rename(path)
    for leftover in (temporary, old):
        shutil.rmtree(leftover, ignore_errors=True)


def written_once(path: Path, write: Callable[[Path], object], advice: str = ADVICE) -> Path:
    """The folder `path`, filled by write(temporary folder) unless it exists; the first of several processes wins.

    For caches, whose content depends on their name alone. Raises RunError, which ends with `advice`, where the disk
    refuses, and whatever `write` raises.
    """

    def rename(temporary: Path, path: Path) -> None:
        try:
            temporary.rename(path)
        except OSError:
            if not path.exists():  # else another process finished first, with the same content
                raise

    if not path.exists():
        with _renamed(_own_name(path), path, advice, rename) as temporary:
            temporary.mkdir()
            write(temporary)
    return path


def discard(folder: Path) -> None:
    """Remove a folder that others may read, or be removing: it is renamed in one step, and then deleted."""
    aside = _own_name(folder)
    with contextlib.suppress(FileNotFoundError):
        folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """A block that makes `path`, for one process at a time. Who had to wait looks first whether `path` is there.

    Raises RunError or UserError (see cannot_write) where the lock file beside `path` cannot be made.
    """
    from huggingface_hub.utils import WeakFileLock

    lock = path.with_name(f".{path.name}.lock")
    with contextlib.ExitStack() as held:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(WeakFileLock(lock))
        except OSError as error:
            raise cannot_write(lock.parent, error) from error
        held.callback(lock.unlink, missing_ok=True)  # while it is held: who waits for it sees that, and makes a new one
        yield


def checksum(path: Path) -> str:
    """The CRC-32 of a file's bytes, as hex: finds damage (a flipped bit, a lost end), not forgery."""
    value = 0
    with open(path, "rb") as content:
        while block := content.read(1 << 20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, as hex."""
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8) in one step. Raises RunError where the disk refuses."""
    with replaced_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Replace `path` by `value` as indented JSON, in one step. NaN and infinity become null (JSON has neither)."""
    write_text(path, json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file; {} where it is missing or cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def json_lines(path: Path) -> Iterator[Any]:
    """What each line of a file of JSON lines holds; nothing where the file is missing.

    None for a line that is no JSON: another process is just writing it, or was killed in it.
    """
    if not path.exists():
        return
    with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:  # not at U+2028, as splitlines would
        for line in lines:
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The mappings in a file of JSON lines; what else stands there is left out without a word."""
    return [one for one in json_lines(path) if isinstance(one, dict)]


def json_line(value: Mapping[str, object]) -> str:
    """One line of JSON, newline included."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """CSV with a header. Numbers are unrounded; None, and what is no finite number, is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([plain(cell) for cell in row] for row in rows)
    return out.getvalue()


def plain(value: object) -> Any:
    """What JSON can hold: paths as text, tensor and numpy scalars as numbers, arrays and tuples as lists.

    Raises TypeError for anything else.
    """
    return to_jsonable_python(value, inf_nan_mode="null", fallback=_numbers)


def cannot_write(path: Path, error: OSError | SafetensorError, advice: str = ADVICE) -> RunError | UserError:
    """The one sentence for a full disk (RunError), or a place where nothing can be written (UserError)."""
    reason, number = (error.strerror, error.errno) if isinstance(error, OSError) else (error, None)
    kind = UserError if number in NO_PLACE else RunError
    return kind(f"cannot write {path}: {reason or error}; {advice}")


def _numbers(array: Any) -> object:
    """The numbers in a tensor or a numpy array."""
    try:
        return array.tolist()
    except AttributeError:
        raise TypeError(f"{type(array).__name__} has no place in JSON: {array!r}") from None


@contextmanager
def _renamed(temporary: Path, path: Path, advice: str, rename: Callable[[Path, Path], None]) -> Iterator[Path]:
    """A block that makes `temporary`: it is put on the disk, then renamed to `path`; after an error it is removed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        for file in (temporary, *temporary.rglob("*")):
            _flush(file)
        rename(temporary, path)
    except (OSError, SafetensorError) as error:
        raise cannot_write(path, error, advice) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _own_name(path: Path) -> Path:
    """A temporary name beside `path` that no other process has, nor had.

    The process's number alone would not do: on two machines, or in two containers, it is often the same, and in a
    container that starts again it is the one that was killed.
    """
    return path.with_name(f".{os.getpid()}.{secrets.token_hex(4)}.{path.name}")


def _beside(path: Path) -> tuple[Path, Path]:
    """The names of a folder's successor and predecessor while it is replaced."""
    return path.with_name(f"{path.name}.tmp"), path.with_name(f"{path.name}.old")


def _flush(path: Path) -> None:
    """Put a file on the disk, so that the rename after it cannot outrun its content; folders need none."""
    if path.is_file():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
