"""Data files: read, counted, and remembered by checksum, so that a score can say what it rests on."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterable, Sized
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from cse.errors import MissingResource, UserError
from cse.provenance import DataFile, DataSources, Problem
from cse.sources import fetch
from cse.sources.catalogue import DATASETS

MAX_UNPACKED = 2**28  # bytes of a .gz file; the largest, SNLI's sentences, has 40 million

T = TypeVar("T")
Raw = TypeVar("Raw")


class DataFolder:
    """A folder of data files. A missing or altered file is an error; where data may be partial, it is noted instead.

    path: as the provenance names it. key: the setting that gives it; what: what must lie there (both for messages).
    allow_partial: None for an evaluator that can leave nothing out. find: gives the folder where path is none.
    """

    def __init__(
        self,
        path: str | None,
        key: str,
        what: str,
        allow_partial: bool | None = False,
        find: Callable[[], Path] | None = None,
    ):
        self.path, self.key, self.what, self.allow_partial, self.find = path, key, what, allow_partial, find
        self.hint = "" if allow_partial is None else " (allow_partial=true scores what is there, and marks it)"
        self.files: dict[str, DataFile] = {}
        self.problems: list[Problem] = []
        self.scope: tuple[str | None, str | None] = (None, None)  # split and task of what is read now

    @cached_property
    def root(self) -> Path:
        """The folder. Raises MissingResource if the setting is empty or the folder does not exist."""
        if self.find is not None:
            return self.find()
        if self.path is None:
            raise MissingResource(f"{self.key} is not set: it must be {self.what}, which no hub has.")
        if not Path(self.path).is_dir():
            raise MissingResource(f"{self.key}={self.path} is not a folder: it must be {self.what}.")
        return Path(self.path)

    def attempt(self, read: Callable[["DataFolder"], T], split: str | None = None, task: str | None = None) -> T | None:
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

    def need(self, data: Sized) -> None:
        """Raise MissingResource if there is nothing at all to score."""
        if not data:
            why = f" ({self.problems[0]['problem']})" if self.problems else ""
            raise MissingResource(f"{self.key}={self.path}: none of the files to score exists{why}")

    def read_bytes(self, name: str) -> bytes:
        """The whole file; its sha256 goes to the provenance."""
        path = self.root / name
        if not path.is_file():
            raise MissingResource(f"{path} is missing: {self.key} must be {self.what}{self.hint}.")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}") from error
        self.files[name] = {"sha256": hashlib.sha256(data).hexdigest()}
        return data

    def read(self, name: str, encoding: str) -> str:
        """The whole text of a file, unpacked if its name ends in .gz."""
        data = self.read_bytes(name)
        try:
            if name.endswith(".gz"):
                with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                    data = packed.read(MAX_UNPACKED + 1)
                if len(data) > MAX_UNPACKED:
                    raise EOFError(f"it has more than {MAX_UNPACKED:,} bytes")
            return data.decode(encoding)
        except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{self.root / name} is not {encoding} text ({error}): restore the file.") from error

    def rows(
        self, name: str, encoding: str, convert: Callable[[str], T], official: int | None, header: int = 0
    ) -> list[T]:
        """convert(line) of every line of a file after its header; see `converted`.

        Lines are cut at newlines alone: str.splitlines also cuts at characters that stand inside sentences. Empty lines
        at the end are none.
        """
        text = self.read(name, encoding).rstrip("\r\n")
        lines = (line.removesuffix("\r") for line in text.split("\n")[header:]) if text else ()
        return self.converted(name, lines, convert, official=official, first=header + 1)

    def converted(
        self, name: str, rows: Iterable[Raw], convert: Callable[[Raw], T], official: int | None, first: int = 1
    ) -> list[T]:
        """convert(row) of every row, counted; one that does not fit is an error that names the file and the line.

        first: the line of the first row.
        """
        found = []
        for number, row in enumerate(rows, first):
            try:
                found.append(convert(row))
            except (ValueError, LookupError) as error:
                raise UserError(
                    f"{self.root / name}, line {number}: {str(row)[:60]!r} is damaged ({error}); restore it."
                ) from error
        self.expect(name, len(found), official)
        return found

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
            raise UserError(f"{problem}: restore the file{self.hint}.")
        self._note(problem)

    def provenance(self) -> DataSources:
        """Source, sha256 and rows of every file that was read, and what is wrong with them."""
        return {
            "source": self.path,
            "files": self.files,
            "partial": bool(self.problems),
            "problems": self.problems,
        }

    def _note(self, problem: str) -> None:
        split, task = self.scope
        self.problems.append({"split": split, "task": task, "problem": problem})


def senteval_folder(path: str | None, allow_partial: bool = False) -> DataFolder:
    """SentEval's downstream/ folder at `path`, or the hub's copy of it where path is None.

    Text is what SentEval's download script makes: STS and SICK Moses-tokenised, the classification sets PTB-tokenised.
    """
    about, what = DATASETS["senteval"], "SentEval's downstream/ folder"
    find = None if path else partial(fetch.senteval, "SentEval's data")
    return DataFolder(path or f"{about.repo}/{about.files[0]}", "paths.senteval", what, allow_partial, find=find)
