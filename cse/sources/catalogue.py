"""Every dataset that a configuration can use: where it is, its revision, rows and licence, as catalogue.yaml says.

Readers and `cse-data` take these facts from here, so that there is one place for them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter

from cse.sources.hub import Repo

ANY_LANGUAGE = "any"


@dataclass(frozen=True)
class Dataset:
    """One entry of catalogue.yaml, which explains the fields."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    about: str
    licence: str
    bytes: int | None
    reads: tuple[str, ...]
    fetch: Literal["hub", "server", "part", "package"]
    setting: str | None = None
    person: str | None = None
    repo: str | None = None
    revision: str | None = None
    urls: str | None = None
    package: str | None = None
    files: tuple[str, ...] = ()
    kept: str | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()

    @property
    def file(self) -> str | None:
        """The one file that is the dataset; None for one of several files or of a folder."""
        return self.files[0] if len(self.files) == 1 and not self.files[0].endswith("/") else None

    def hub_repo(self, asked: str, instead: str) -> Repo:
        """Its repository, for a dataset that has one. asked, instead: see Repo."""
        assert self.repo is not None
        return Repo(self.repo, "dataset", asked, instead, self.revision)


DATASETS = TypeAdapter(dict[str, Dataset]).validate_python(
    yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
)
