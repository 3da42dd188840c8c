"""Files and folders that a reader never sees half written: a temporary name beside the final one, then one rename."""

import contextlib
import csv
import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python
from safetensors import SafetensorError

from cse.errors import RunError, UserError

ADVICE = "make room or name another folder, and run it again (a run that had begun: with resume=auto)"
MAX_LINE = 2**20  # characters of a line of JSON lines: a table of thousands of scores
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


def check_links(folder: Path) -> None:
    """Raise UserError for a link in a folder that leads out of it: what is written there would change other files.

    Those deeper are not looked at: below a folder of a run whole files are replaced, and W&B leaves links of its own.
    """
    inside = folder.resolve()
    for one in folder.iterdir():
        if one.is_symlink() and not one.resolve().is_relative_to(inside):
            raise UserError(f"{one} is a link that leads out of the folder, and is not written through: remove it")


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A temporary path that ends as `path` does: the file that the block makes there replaces `path` when it ends.

    After an error the old file is as it was and the temporary one is gone. Raises RunError where the disk refuses.
    """
    with _written(path) as new:
        yield new
        _flush(new)
        new.replace(path)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """An empty temporary folder, which replaces the folder `path` when the block ends.

    The old folder is renamed first and removed last, so that one of the two is whole; see `recover` for a kill between
    the renames. For folders that one process writes. Raises RunError where the disk refuses.
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
    """The folder `path`, filled by write(temporary folder) unless it exists; the first of several processes wins.

    For caches, whose content depends on their name alone. Raises RunError where the disk refuses, and whatever `write`
    raises.
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
            if not path.exists():  # else another process finished first, with the same content
                raise
    return path


def recover(path: Path) -> None:
    """Undo what a kill inside a write of `path` left: an old folder gets its name back, leftovers are removed.

    For what one process writes.
    """
    ours = re.compile(rf"\.cse-[0-9a-f]{{16}}\.{re.escape(path.name)}")
    for place in path.parent.glob(".cse-*"):
        if ours.fullmatch(place.name) and not place.is_symlink():  # which no write of ours makes
            _finish(place, path)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """A block that makes `path`, for one process at a time. Who had to wait looks first whether `path` is there.

    Raises UserError or RunError where the folder is another's, or its disk has no locks.
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
                lock.unlink()  # while it is held: who waits for it sees that, and makes a new one


def within(folder: Path, name: str) -> Path:
    """The place in a folder that a file of it, or an archive, names. Raises UserError for one that lies outside."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise UserError(f"{folder} names a file that is not in it, {name!r}: take a copy from where you trust it")
    return folder / name


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
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def json_lines(path: Path) -> Iterator[Any]:
    """What each line of a file of JSON lines holds; nothing where the file is missing.

    None for a line that is no JSON: another process is just writing it, or was killed in it. No more is held than a
    line, nor of a line than MAX_LINE characters.
    """
    if not path.exists():
        return
    with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:  # not at U+2028, as splitlines would
        while line := lines.readline(MAX_LINE):
            is_whole = len(line) < MAX_LINE
            while len(line) == MAX_LINE and not line.endswith("\n"):
                line = lines.readline(MAX_LINE)
            try:
                yield json.loads(line) if is_whole else None
            except (ValueError, RecursionError):
                yield None


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV, with an apostrophe before text that a spreadsheet would run as a formula: =, +, -, @ first.

    Numbers stay numbers, also as text (-1.5).
    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerows([[csv_cell(cell) for cell in row] for row in [header, *rows]])
    return table.getvalue()


def csv_cell(cell: object) -> object:
    """The cell as `csv_text` has it."""
    if not isinstance(cell, str) or len(cell) < 2 or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def json_line(value: Mapping[str, object]) -> str:
    """One line of JSON, newline included."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: object) -> Any:
    """What JSON can hold: paths as text, tensor and numpy scalars as numbers, arrays and tuples as lists.

    Raises TypeError or AttributeError for anything else.
    """
    return to_jsonable_python(value, inf_nan_mode="null", fallback=lambda array: array.tolist())


def cannot_write(path: Path | str, error: OSError | SafetensorError) -> RunError | UserError:
    """The one sentence for a full disk (RunError), or a place where nothing can be written (UserError)."""
    reason, number = (error.strerror, error.errno) if isinstance(error, OSError) else (error, None)
    kind = UserError if number in NO_PLACE else RunError
    return kind(f"cannot write {path}: {reason or error}; {ADVICE}")


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """A place for what will be `path`, in a folder beside it whose name nobody else has, on any machine.

    What the disk refuses in the block is one sentence; what is left of the folder after it is removed.
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
    """End a write of `path` in `place`: an old folder gets its name back, or is removed with the rest.

    What else somebody put there stays, with the place.
    """
    old = place / "old"
    if old.is_dir() and not path.exists():
        old.rename(path)
    for one in (place / f"new.{path.name}", old):
        shutil.rmtree(one, ignore_errors=True)
        with contextlib.suppress(OSError):
            one.unlink()  # a file, or a link, whose target is not ours
    with contextlib.suppress(OSError):
        place.rmdir() if place.is_dir() else place.unlink()


def _flush(path: Path) -> None:
    """Put a file, or those of a folder, on the disk, so that the rename after it cannot outrun the content."""
    for file in (path, *path.rglob("*")):
        if file.is_file():
            with open(file, "rb") as written:
                os.fsync(written.fileno())
