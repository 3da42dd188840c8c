"""Write files and folders atomically: under a temporary name beside the final name, then with one rename."""

import contextlib
import difflib
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

from cse.errors import RunError, UserError, did_you_mean

Json = dict[str, Any]
"""The content of JSON or YAML: an event, results.json, a score's provenance, a paper's published numbers."""

ADVICE = "free some space or name another folder, and run the command again (with resume=auto if the run had begun)"
NO_PLACE = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR),
    *(errno.ENAMETOOLONG, errno.ELOOP),
)
"""The values of errno that mean a user's mistake: the path cannot be written even if the disk has space."""


def make_folder(path: Path, key: str) -> None:
    """Make a folder and its parents. Raises UserError if the folder cannot be made, or if no file can be written in it.

    key: the setting that names the folder, for the message.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        reason = None if os.access(path, os.W_OK) else "it cannot be written"
    except OSError as error:
        reason = error.strerror
    if reason:
        raise UserError(f"{key}={path}: {reason}; name another folder")


def url_in(path: Path | str) -> str:
    """Return the URL that a path was meant to be, as typed; "" for none. A Path has only one slash after https:."""
    match = re.match(r"(https?|ftp|s3|gs|hf):/+", str(path), re.IGNORECASE)
    return f"{match[1]}://{str(path)[match.end() :]}" if match else ""


def hub_name_in(path: Path | str) -> str:
    """Return the OWNER/NAME in the URL of a model or a dataset on the hub; "" for any other text."""
    match = re.match(r"https?://(?:www\.)?(?:huggingface|hf)\.co/(?:datasets/)?([\w.-]+(?:/[\w.-]+)?)", url_in(path))
    return match[1] if match else ""


def not_found(path: Path) -> str:
    """Return the error for a path that does not exist, with the name in the same folder that is spelled alike."""
    if url_in(path):
        dataset = hub_name_in(path) or "OWNER/NAME"
        return f"a URL is not read: download the file; to train on a hub dataset, give data=text data.path={dataset}"
    named: dict[str, Path] = {}
    with contextlib.suppress(OSError):  # a folder that cannot be read, or a path that is too long
        named = {one.stem: one for one in sorted(path.parent.iterdir(), key=lambda one: one.suffix == path.suffix)}
    near = difflib.get_close_matches(path.stem, named, 1)
    return "there is no such file or folder" + did_you_mean([str(named[stem]) for stem in near])


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path with the ending of `path`. After the block, the temporary file replaces `path`.

    An error in the block leaves the old file unchanged, and removes the temporary file. Raises the errors of
    `cannot_write`.
    """
    with _written(path) as new:
        yield new
        _flush(new)
        new.replace(path)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Yield an empty temporary folder, which replaces the folder `path` after the block.

    Only one process may write `path`. The old folder is renamed first and removed last, so the old or the new folder
    is always complete. `recover` cleans up after a kill between the two renames. Raises the errors of `cannot_write`.
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
    """Return the folder `path`. If it does not exist, `write` first fills a temporary folder, which becomes `path`.

    The content must depend only on the name of `path`, as in a cache. If several processes write `path` at the same
    time, the first to finish makes the folder. Raises the errors of `write` and of `cannot_write`.
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
    """Clean up after a kill during a write of `path`: rename an old folder back to `path`, and remove temporary files.

    Only one process may write `path`.
    """
    for place, left in _leftovers(path.parent, ".cse-*"):
        if left == path:
            _finish(place, path)


def recover_folder(folder: Path) -> None:
    """Call `recover` for every path in a folder and its direct subfolders. Only one process may write these paths."""
    for place, left in [*_leftovers(folder, ".cse-*"), *_leftovers(folder, "*/.cse-*")]:
        _finish(place, left)


def _leftovers(folder: Path, pattern: str) -> list[tuple[Path, Path]]:
    """Return (temporary folder, the path to be written) for each unfinished write that `pattern` finds in `folder`."""
    found = [(place, re.fullmatch(r"\.cse-[0-9a-f]{16}\.(.+)", place.name)) for place in folder.glob(pattern)]
    return [(place, place.with_name(match[1])) for place, match in found if match]


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Let one process at a time enter a block that makes `path`. The block must first check whether `path` exists.

    Raises UserError if the folder of `path` belongs to another user, RunError if the disk has no locks.
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
                lock.unlink()  # while locked: a waiting process notices that the file is gone, and makes a new one


def checksum(path: Path) -> str:
    """Return the CRC-32 of a file's bytes in hex. A CRC detects damage (a flipped bit, a missing end), not forgery."""
    value = 0
    with open(path, "rb") as content:
        while block := content.read(1 << 20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def read_once(digest: Callable[[Path], str], path: Path) -> str:
    """Return digest(path). A later call with the same `digest` reads the file only if its mtime has changed."""
    return _digest_as_written(digest, path, path.stat().st_mtime_ns)


@cache
def _digest_as_written(digest: Callable[[Path], str], path: Path, written: int) -> str:
    return digest(path)


def write_text(path: Path, text: str) -> None:
    """Replace the content of `path` by `text` (UTF-8) in one step. Raises the errors of `cannot_write`."""
    with replaced_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Replace the content of `path` by `value` as indented JSON, in one step. NaN and infinity become null."""
    write_text(path, json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return the mapping in a JSON file; return {} if the file is missing, is unreadable, or holds no mapping."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def json_lines(path: Path) -> Iterator[Any]:
    """Yield the value of each line of a file of JSON lines; yield nothing if the file is missing.

    A line that is not JSON yields None: another process is writing the line, or was killed while it wrote.
    """
    if not path.exists():
        return
    with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:  # splitlines also splits at U+2028
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                yield None


def json_line(value: Mapping[str, object]) -> str:
    """Return the value as one line of JSON, newline included."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n"


def add_json_lines(path: Path, values: Iterable[Mapping[str, object]]) -> None:
    """Append the values to a file of JSON lines.

    A power cut may have left the last line of the file incomplete. The new lines then begin after a line break.
    """
    with open(path, "ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":
                file.write(b"\n")
        file.write("".join(map(json_line, values)).encode())


def plain(value: object) -> Any:
    """Return the value as JSON types: paths as text, tensor and numpy scalars as numbers, arrays and tuples as lists.

    Raises TypeError or AttributeError for other types.
    """
    return to_jsonable_python(value, inf_nan_mode="null", fallback=lambda array: array.tolist())


def cannot_write(path: Path | str, error: OSError | SafetensorError) -> RunError | UserError:
    """Return the error for a failed write: UserError for a path that cannot be written, else RunError (a full disk)."""
    reason, number = (error.strerror, error.errno) if isinstance(error, OSError) else (error, None)
    kind = UserError if number in NO_PLACE else RunError
    return kind(f"cannot write {path}: {reason or error}; {ADVICE}")


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """Yield a temporary path for the content of `path`, in a folder with a unique name beside `path`.

    Disk errors in the block become the errors of `cannot_write`. The folder is removed after the block.
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
    """End a write of `path`: if `path` is missing, rename the old folder in `place` back to `path`. Then remove the
    temporary folder `place`."""
    old = place / "old"
    if old.is_dir() and not path.exists():
        old.rename(path)
    shutil.rmtree(place, ignore_errors=True)


def _flush(path: Path) -> None:
    """Write the content of a file, or of all files of a folder, to the disk before the rename.

    Each file gets the mode of a new file under the umask. Otherwise only the owner could read a safetensors file.
    """
    mode = path.parent.stat().st_mode & 0o666
    for file in (path, *path.rglob("*")):
        if file.is_file():
            file.chmod(mode)
            with open(file, "rb") as written:
                os.fsync(written.fileno())
