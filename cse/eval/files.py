"""Read data files, count their rows and keep their checksums, so that a score can say what it rests on."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterable, Sized
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from cse.errors import MissingResource, UserError
from cse.score import DataFile, Source
from cse.sources import fetch
from cse.sources.catalogue import DATASETS

MAX_UNPACKED = 2**28  # bytes of an unpacked .gz file; the largest, SNLI's sentences, has 40 million

T = TypeVar("T")
Raw = TypeVar("Raw")


class Problem(NamedTuple):
    """A fault in the data. split, task: of the scores that it affects; None: those of every split or task."""

    split: str | None
    task: str | None
    problem: str


class DataFolder:
    """A folder of data files. A missing or altered file is an error or, with allow_partial, a noted problem.

    path: the folder, and its name in the provenance. key: the setting that names it, and what: what it must hold (both
    for messages). allow_partial: None for an evaluator that can leave nothing out. find: returns the folder, where
    `path` is only a name.
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
        self.hint = " (allow_partial=true scores what is there, and marks it)" if allow_partial is False else ""
        self.files: dict[str, DataFile] = {}
        self.problems: list[Problem] = []
        self.scope: tuple[str | None, str | None] = (None, None)  # split and task of what is being read

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
        """read(self), or None with a noted problem if a file is missing and data may be partial.

        split, task: of the scores that need the data; None for any.
        """
        assert self.root  # a missing folder is always an error
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

    def require(self, data: Sized) -> None:
        """Raise MissingResource if `data` is empty: there is nothing to score."""
        if not data:
            why = f" ({self.problems[0].problem})" if self.problems else ""
            raise MissingResource(f"{self.key}={self.path}: none of the files to score exists{why}")

    def read_bytes(self, name: str) -> bytes:
        """The content of a file, whose sha256 goes into the provenance."""
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
        """The text of a file, unpacked if its name ends in .gz."""
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
        """convert(line) for every line of a file after its `header` lines; see `converted`.

        Lines end at newlines only: str.splitlines would also cut at characters inside sentences. Empty lines at the end
        do not count.
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
        """Raise, or note, that a file (or several, "a + b") holds no rows, or not the official number of them."""
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

    def altered(self, split: str, *tasks: str) -> bool:
        """Whether something is wrong with the data of these tasks, all by default, in a split."""
        return any(one.split in (None, split) and (not tasks or one.task in (None, *tasks)) for one in self.problems)

    def source(self, protocol: str) -> Source:
        """The place, the sha256 and rows of every file that was read, and the problems that were noted."""
        problems = [": ".join(filter(None, one)) for one in self.problems]
        return {"protocol": protocol, "place": self.path, "files": self.files, "problems": problems}

    def _note(self, problem: str) -> None:
        self.problems.append(Problem(*self.scope, problem))


def senteval_folder(path: str | None, allow_partial: bool = False) -> DataFolder:
    """SentEval's downstream/ folder at `path`, or the hub's copy of it if path is None.

    The text is as SentEval's download script leaves it: STS and SICK Moses-tokenised, the classification sets
    PTB-tokenised.
    """
    about, what = DATASETS["senteval"], "SentEval's downstream/ folder"
    find = None if path else partial(fetch.senteval, "SentEval's data")
    return DataFolder(path or f"{about.repo}/{about.files[0]}", "paths.senteval", what, allow_partial, find=find)
