"""The needs (cse.needs) of the text that settings name: files, the user's own text, or a published corpus.

SampleNeed in cse.data.text is the need for rows that are drawn from a corpus.
"""

from dataclasses import dataclass, field

from cse.data.corpora import check_copy
from cse.data.listing import files_of
from cse.data.readers import read_rows
from cse.errors import UserError, naming, within
from cse.needs import FileNeed, Place
from cse.ranges import text_encoding
from cse.sources import hub
from cse.sources.fetch import DatasetNeed


class FilesNeed(FileNeed):
    """A file of text, or a folder of such files."""

    def check(self) -> None:
        """See Need. Raises UserError for a folder without files of text, an empty file, and an unknown ending."""
        with naming(path=self.key):
            files_of(self.path, tell=False)


@dataclass(frozen=True)
class TextNeed(FilesNeed):
    """The user's own text: a file, a folder of files or, if `repo` is set, a dataset on the hub.

    columns: the names of columns that the source must have; None: unknown. subset, split: see hub.fetch_split.
    """

    columns: list[str] | None = field(default=None, compare=False, kw_only=True)
    encoding: str = field(default="utf-8", compare=False, kw_only=True)
    repo: hub.Repo | None = field(default=None, compare=False, kw_only=True)
    subset: str | None = field(default=None, compare=False, kw_only=True)
    split: str = field(default="train", compare=False, kw_only=True)

    def check(self) -> None:
        """See Need. Reads only the first row of the first file. Raises the errors of read_rows for this file."""
        if self.repo is not None:
            return
        with naming(path=self.key):
            first = files_of(self.path, tell=False)[0]
        with within(self.key.rpartition(".")[0]):
            try:
                text_encoding(self.encoding)
            except ValueError as error:
                raise UserError(str(error), key="encoding", value=self.encoding) from error
            next(read_rows(first, self.columns, self.encoding), None)

    def find(self) -> Place:
        """See Need."""
        return super().find() if self.repo is None else hub.find_prepared(self.name, self.subset or "default")

    def fetch(self) -> Place:
        """See Need."""
        if self.repo is not None:
            hub.fetch_split(self.repo, self.subset, self.split)
        return self.find()


class CorpusNeed(DatasetNeed):
    """A published corpus."""

    def check_closely(self) -> None:
        """See Need. Raises UserError for a local copy that does not have the published number of rows."""
        self.check()
        if self.copy:
            try:
                with naming(path=self.key):
                    check_copy(self.dataset, self.copy)
            except UserError as error:
                own = "repair this copy, or read it as your own text: data=text data.path=FILE"
                error.instead = error.instead or own
                raise


def names_typed(columns: object) -> list[str] | None:
    """Return the column names in a setting that is perhaps not checked yet; None for None."""
    if columns is None:
        return None
    return [*map(str, columns)] if isinstance(columns, list) else [str(columns)]
