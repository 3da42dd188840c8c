"""Files that a reader never sees half written: a temporary name in the same folder, fsync, then one rename."""

import contextlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cse.errors import RunError


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8) in one step. Raises RunError where the disk refuses."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise cannot_write(path, error) from error


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as indented JSON, in one step. NaN and infinity become null (JSON has neither)."""
    write_text(path, json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def json_line(value: dict[str, Any]) -> str:
    """One line of JSON, newline included."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """What JSON can hold: paths as text, tensor and numpy scalars as numbers, arrays and tuples as lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (str, bool, int, type(None))):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # numpy and torch, scalar or array
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no place in JSON: {value!r}")


def cannot_write(path: Path, error: OSError) -> RunError:
    """The one sentence for a full or read-only disk."""
    return RunError(f"cannot write {path}: {error.strerror}; make room or name another folder, and run it again")
