"""Every dataset that a configuration can use: where it is, its revision, rows and licence, as catalogue.yaml says.

Readers and `cse-data` take these facts from here, so that there is one place for them.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import TypeAdapter


@dataclass(frozen=True)
class Dataset:
    """One entry of catalogue.yaml, which explains the fields."""

    about: str
    licence: str
    bytes: int | None
    reads: tuple[str, ...]
    setting: str | None = None
    person: str | None = None
    repo: str | None = None
    revision: str | None = None
    files: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    urls: str | None = None
    package: str | None = None

    @property
    def file(self) -> str:
        """The one file, or folder of files, that is the dataset; "" for one without."""
        return self.files[0] if self.files else ""

    @property
    def on_hub(self) -> str:
        """The name of its repository. For datasets that have one."""
        assert self.repo is not None
        return self.repo


DATASETS = TypeAdapter(dict[str, Dataset]).validate_python(
    yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
)
