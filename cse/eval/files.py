"""Read an evaluator's data files, check their numbers of rows, and keep their checksums for the source of a score."""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterable, Sized
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from cse.errors import MissingResource, UserError
from cse.needs import Need, Settings
from cse.score import DataFile, Source
from cse.sources import fetch
from cse.sources.catalogue import DATASETS
from cse.sources.fetch import DatasetNeed

T = TypeVar("T")
Raw = TypeVar("Raw")


class DataFolder:
    """A folder of data files. A missing or modified file is an error; with allow_partial it is listed in `problems`.

    path: the folder, or a name for the folder; `source` returns it as the place. key: the parameter that names the
    folder. what: what the folder must hold, for messages. allow_partial: None for an evaluator that needs all of its
    data. find: returns the folder, if `path` is only a name.
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
        self.hint = " (allow_partial=true scores partial data, and marks it)" if allow_partial is False else ""
        self.files: dict[str, DataFile] = {}
        self.problems: list[str] = []  # missing or modified files, if they are allowed

    @cached_property
    def root(self) -> Path:
        """The folder. Raises MissingResource if `path` is None or the folder does not exist."""
        if self.find is not None:
            return self.find()
        if self.path is None:
            raise MissingResource(f"`{self.key}` is not set: give {self.what}")
        if not Path(self.path).is_dir():
            wrong = "this is not a folder" if Path(self.path).exists() else "there is no such folder"
            raise MissingResource(f"{wrong}: give {self.what}", key=self.key, value=self.path)
        return Path(self.path)

    def attempt(self, read: Callable[["DataFolder"], T]) -> T | None:
        """Return read(self). If a file is missing and allow_partial is true, add a message to `problems` and return
        None."""
        assert self.root  # a missing folder is always an error
        try:
            return read(self)
        except MissingResource as error:
            if not self.allow_partial:
                raise
            self.problems.append(str(error))
            return None

    def require(self, data: Sized) -> None:
        """Raise MissingResource if `data` is empty, because there is nothing to score."""
        if not data:
            why = f" ({self.problems[0]})" if self.problems else ""
            raise MissingResource(f"none of the files to score exists{why}", key=self.key, value=self.path)

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a file, and keep the sha256 of the content for `source`."""
        path = self.root / name
        if not path.is_file():
            raise MissingResource(f"{path} is missing: `{self.key}` must be {self.what}{self.hint}")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}") from error
        self.files[name] = {"sha256": hashlib.sha256(data).hexdigest()}
        return data

    def read(self, name: str, encoding: str) -> str:
        """Return the text of a file. A file whose name ends in .gz is decompressed."""
        data = self.read_bytes(name)
        try:
            return (gzip.decompress(data) if name.endswith(".gz") else data).decode(encoding)
        except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{self.root / name} is not {encoding} text ({error}): restore the file") from error

    def rows(
        self, name: str, encoding: str, convert: Callable[[str], T], official: int | None, header: int = 0
    ) -> list[T]:
        """Return convert(line) for every line of a file except the first `header` lines; see `converted`.

        Lines end at newlines only: str.splitlines would also split at characters inside sentences. Empty lines at the
        end are ignored.
        """
        text = self.read(name, encoding).rstrip("\r\n")
        lines = (line.removesuffix("\r") for line in text.split("\n")[header:]) if text else ()
        return self.converted(name, lines, convert, official=official, first=header + 1)

    def converted(
        self, name: str, rows: Iterable[Raw], convert: Callable[[Raw], T], official: int | None, first: int = 1
    ) -> list[T]:
        """Return convert(row) for every row, and check the number of rows with `expect`.

        Raises UserError with the file and the line if `convert` refuses a row. first: the line number of the first row.
        """
        found = []
        for number, row in enumerate(rows, first):
            try:
                found.append(convert(row))
            except (ValueError, LookupError) as error:
                raise UserError(
                    f"{self.root / name}, line {number}: {str(row)[:60]!r} is damaged ({error}): restore the file"
                ) from error
        self.expect(name, len(found), official)
        return found

    def expect(self, name: str, rows: int, official: int | None) -> None:
        """Keep the number of rows of a file, or of several files ("a + b"). Raise MissingResource for 0 rows. For a
        number that is not `official`, raise UserError or, with allow_partial, add a message to `problems`."""
        self.files.setdefault(name, {})["rows"] = rows
        if rows and official in (rows, None):
            return
        problem = f"{self.root / name} holds {rows} usable rows"
        if official is not None:
            problem += f", not the official {official}"
        if not rows:
            raise MissingResource(f"{problem}: there is nothing to score in it")
        if not self.allow_partial:
            raise UserError(f"{problem}: restore the file{self.hint}")
        self.problems.append(problem)

    @property
    def modified(self) -> bool:
        """Whether data is missing or modified. If so, every score from this folder is marked."""
        return bool(self.problems)

    def source(self, protocol: str) -> Source:
        """Return the protocol, the place, the sha256 and number of rows of every file read so far, and the problems."""
        return {"protocol": protocol, "place": self.path, "files": self.files, "problems": self.problems}


def senteval_needs(settings: Settings) -> list[Need]:
    """Return SentEval's data as a Need: the folder in the setting `senteval`, or the hub's copy."""
    return [DatasetNeed("senteval", settings.get("senteval"))]


def senteval_folder(path: str | None, allow_partial: bool = False) -> DataFolder:
    """Return SentEval's downstream/ folder: `path`, or the hub's copy if `path` is None.

    SentEval's download script has tokenized STS and SICK with Moses, and the other sets in the Penn Treebank's style.
    """
    about, what = DATASETS["senteval"], "SentEval's downstream/ folder"
    find = None if path else partial(fetch.senteval, "SentEval's data")
    return DataFolder(path or f"{about.repo}/{about.files[0]}", "senteval", what, allow_partial, find=find)
