"""Data files: read, counted, and remembered by checksum, so that a score can say what it rests on."""

import gzip
import hashlib
import zlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cse.errors import MissingResource, UserError

T = TypeVar("T")


class DataFolder:
    """A folder of data files. A missing or altered file is an error; where data may be partial, it is noted instead.

    key: the setting that gives the path; what: what must lie there (both for messages).
    """

    def __init__(self, path: str | None, key: str, what: str, allow_partial: bool = False):
        self.path, self.key, self.what, self.allow_partial = path, key, what, allow_partial
        self.files: dict[str, dict[str, Any]] = {}
        self.problems: list[str] = []

    @cached_property
    def root(self) -> Path:
        if self.path is None:
            raise MissingResource(f"{self.key} is not set: it must be {self.what}, which no hub has.")
        if not Path(self.path).is_dir():
            raise MissingResource(f"{self.key}={self.path} is no folder: it must be {self.what}.")
        return Path(self.path)

    def attempt(self, read: Callable[[Any], T]) -> T | None:
        """read(self); where data may be partial, a missing file is noted and gives None."""
        assert self.root  # no folder at all is an error in any case
        try:
            return read(self)
        except MissingResource as error:
            if not self.allow_partial:
                raise
            self.problems.append(str(error))
            return None

    def read(self, name: str, encoding: str) -> str:
        """The whole text of a file, unpacked if its name ends in .gz; its sha256 goes to the provenance."""
        path = self.root / name
        if not path.is_file():
            raise MissingResource(
                f"{path} is missing: {self.key} must be {self.what} "
                "(allow_partial=true scores what is there and marks it)."
            )
        data = path.read_bytes()
        self.files[name] = {"sha256": hashlib.sha256(data).hexdigest()}
        try:
            return (gzip.decompress(data) if name.endswith(".gz") else data).decode(encoding)
        except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{path} is not {encoding} text ({error}): restore the file.") from error

    def expect(self, name: str, rows: int, official: int) -> None:
        """Raise, or note, that a file (or several, "a + b") does not hold its official number of rows."""
        self.files.setdefault(name, {})["rows"] = rows
        if rows == official:
            return
        problem = f"{self.root / name} holds {rows} usable rows, not the official {official}"
        if not self.allow_partial:
            raise UserError(f"{problem}: restore the file (allow_partial=true scores it anyway and marks it).")
        self.problems.append(problem)

    def provenance(self) -> dict[str, Any]:
        """Source, sha256 and rows of every file that was read, and what is wrong with them."""
        return {
            "source": self.path,
            "files": self.files,
            "partial": bool(self.problems),
            "problems": self.problems,
        }
