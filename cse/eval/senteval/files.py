"""Data files: read, counted, and remembered by checksum, so that a score can say what it rests on."""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sized
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

from cse.errors import MissingResource, UserError
from cse.provenance import DataFile, DataSources, Problem

T = TypeVar("T")


class DataFolder:
    """A folder of data files. A missing or altered file is an error; where data may be partial, it is noted instead.

    key: the setting that gives the path; what: what must lie there (both for messages).
    """

    def __init__(self, path: str | None, key: str, what: str, allow_partial: bool = False):
        self.path, self.key, self.what, self.allow_partial = path, key, what, allow_partial
        self.files: dict[str, DataFile] = {}
        self.problems: list[Problem] = []
        self.scope: tuple[str | None, str | None] = (None, None)  # split and task of what is read now

    @cached_property
    def root(self) -> Path:
        """The folder. Raises MissingResource if the setting is empty or the folder does not exist."""
        if self.path is None:
            raise MissingResource(f"{self.key} is not set: it must be {self.what}, which no hub has.")
        if not Path(self.path).is_dir():
            raise MissingResource(f"{self.key}={self.path} is not a folder: it must be {self.what}.")
        return Path(self.path)

    def attempt(self, read: Callable[[Self], T], split: str | None = None, task: str | None = None) -> T | None:
        """read(self); where data may be partial, a missing file is noted and gives None.

        split, task: the scores that it is for; None: of any.
        """
        assert self.root  # no folder at all is an error in any case
        self.scope = split, task
        try:
            return read(self)
        except MissingResource as error:
            if not self.allow_partial:
                raise
            self._note(str(error))
            return None
        finally:
            self.scope = None, None

    def present(self, reads: Mapping[str, Callable[[Self], T]], split: str | None = None) -> dict[str, T]:
        """The data of several tasks, read(self) of each, without those that are missing; see attempt."""
        data = {task: self.attempt(read, split, task) for task, read in reads.items()}
        return {task: one for task, one in data.items() if one is not None}

    def _note(self, problem: str) -> None:
        split, task = self.scope
        self.problems.append({"split": split, "task": task, "problem": problem})

    def need(self, data: Sized) -> None:
        """Raise MissingResource if there is nothing at all to score."""
        if not data:
            why = f" ({self.problems[0]['problem']})" if self.problems else ""
            raise MissingResource(f"{self.key}={self.path}: none of the files to score exists{why}")

    def read(self, name: str, encoding: str) -> str:
        """The whole text of a file, unpacked if its name ends in .gz; its sha256 goes to the provenance."""
        path = self.root / name
        if not path.is_file():
            raise MissingResource(
                f"{path} is missing: {self.key} must be {self.what} "
                "(allow_partial=true scores what is there and marks it)."
            )
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}") from error
        self.files[name] = {"sha256": hashlib.sha256(data).hexdigest()}
        try:
            return (gzip.decompress(data) if name.endswith(".gz") else data).decode(encoding)
        except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{path} is not {encoding} text ({error}): restore the file.") from error

    def expect(self, name: str, rows: int, official: int | None) -> None:
        """Raise, or note, that a file (or several, "a + b") holds no rows or, where it is known, not their number."""
        self.files.setdefault(name, {})["rows"] = rows
        if rows and official in (rows, None):
            return
        problem = f"{self.root / name} holds {rows} usable rows"
        if official is not None:
            problem += f", not the official {official}"
        if not rows:
            raise MissingResource(f"{problem}: restore the file.")
        if not self.allow_partial:
            raise UserError(f"{problem}: restore the file (allow_partial=true scores it anyway and marks it).")
        self._note(problem)

    def provenance(self) -> DataSources:
        """Source, sha256 and rows of every file that was read, and what is wrong with them."""
        return {
            "source": self.path,
            "files": self.files,
            "partial": bool(self.problems),
            "problems": self.problems,
        }
