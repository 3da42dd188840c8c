"""Read data files, check their number of rows, and keep their checksums. So a score can state its data."""

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
    """A folder of data files. A missing or modified file is an error or, with allow_partial, a noted problem.

    path: the folder, and its name in the provenance. key: the parameter that names the folder. what: what the folder
    must hold, for messages. allow_partial: None for an evaluator that cannot leave anything out. find: returns the
    folder, if `path` is only a name.
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
        """The folder. Raises MissingResource if the setting is empty or the folder does not exist."""
        if self.find is not None:
            return self.find()
        if self.path is None:
            raise MissingResource(f"`{self.key}` is not set: it must be {self.what}. It is not on the hub.")
        if not Path(self.path).is_dir():
            wrong = "is not a folder" if Path(self.path).exists() else "does not exist"
            raise MissingResource(f"it {wrong}: it must be {self.what}.", key=self.key, value=self.path)
        return Path(self.path)

    def attempt(self, read: Callable[["DataFolder"], T]) -> T | None:
        """read(self). If a file is missing and data may be partial, returns None and notes the problem."""
        assert self.root  # a missing folder is always an error
        try:
            return read(self)
        except MissingResource as error:
            if not self.allow_partial:
                raise
            self.problems.append(str(error))
            return None

    def require(self, data: Sized) -> None:
        """Raise MissingResource if `data` is empty: there is nothing to score."""
        if not data:
            why = f" ({self.problems[0]})" if self.problems else ""
            raise MissingResource(f"none of the files to score exists{why}", key=self.key, value=self.path)

    def read_bytes(self, name: str) -> bytes:
        """The content of a file. Its sha256 goes into the provenance."""
        path = self.root / name
        if not path.is_file():
            raise MissingResource(f"{path} is missing: `{self.key}` must be {self.what}{self.hint}.")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}") from error
        self.files[name] = {"sha256": hashlib.sha256(data).hexdigest()}
        return data

    def read(self, name: str, encoding: str) -> str:
        """The text of a file, unpacked if its name ends in .gz."""
        data = self.read_bytes(name)
        try:
            return (gzip.decompress(data) if name.endswith(".gz") else data).decode(encoding)
        except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UserError(f"{self.root / name} is not {encoding} text ({error}): restore the file.") from error

    def rows(
        self, name: str, encoding: str, convert: Callable[[str], T], official: int | None, header: int = 0
    ) -> list[T]:
        """convert(line) for every line of a file after its `header` lines; see `converted`.

        Lines end at newlines only: str.splitlines would also split at characters inside sentences. Empty lines at the
        end are ignored.
        """
        text = self.read(name, encoding).rstrip("\r\n")
        lines = (line.removesuffix("\r") for line in text.split("\n")[header:]) if text else ()
        return self.converted(name, lines, convert, official=official, first=header + 1)

    def converted(
        self, name: str, rows: Iterable[Raw], convert: Callable[[Raw], T], official: int | None, first: int = 1
    ) -> list[T]:
        """convert(row) for every row, checked against the official number of rows.

        Raises UserError with the file and the line for a row that `convert` refuses. first: the line of the first row.
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
        """Raise or note a problem if a file (or several, "a + b") has no rows, or not the official number of rows."""
        self.files.setdefault(name, {})["rows"] = rows
        if rows and official in (rows, None):
            return
        problem = f"{self.root / name} holds {rows} usable rows"
        if official is not None:
            problem += f", not the official {official}"
        if not rows:
            raise MissingResource(f"{problem}: there is nothing to score in it.")
        if not self.allow_partial:
            raise UserError(f"{problem}: restore the file{self.hint}.")
        self.problems.append(problem)

    @property
    def modified(self) -> bool:
        """Whether data is missing or modified. Then every score from this folder is marked."""
        return bool(self.problems)

    def source(self, protocol: str) -> Source:
        """The place, the sha256 and the rows of every file read so far, and the noted problems."""
        return {"protocol": protocol, "place": self.path, "files": self.files, "problems": self.problems}


def senteval_needs(settings: Settings) -> list[Need]:
    """SentEval's data: the folder in the setting `senteval`, or the hub's copy."""
    return [DatasetNeed("senteval", settings.get("senteval"))]


def senteval_folder(path: str | None, allow_partial: bool = False) -> DataFolder:
    """SentEval's downstream/ folder at `path`, or the hub's copy if path is None.

    The text is as SentEval's download script writes it. STS and SICK have Moses tokens, the classification sets have
    PTB tokens.
    """
    about, what = DATASETS["senteval"], "SentEval's downstream/ folder"
    find = None if path else partial(fetch.senteval, "SentEval's data")
    return DataFolder(path or f"{about.repo}/{about.files[0]}", "senteval", what, allow_partial, find=find)
