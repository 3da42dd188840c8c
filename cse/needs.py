"""The data and weights that a part reads. `needs` of a part lists them, so they are checked or fetched before any work.

    Need           the base; also `FileNeed`, a file or folder of the user's own
    EncoderNeed    weights, in cse.sources.encoder
    DatasetNeed    a dataset of the catalogue, in cse.sources.fetch

cse.lab.run.needs asks the parts of a config. This module does not import torch, so that a wrong name is refused at
once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cse.errors import MissingResource

Settings = Mapping[str, Any]  # the keys and values of one part's YAML
Place = Path | str | None
"""The place on this machine, or the package with the data; None if it is not here."""


@dataclass(frozen=True)
class Need:
    """One thing that a part reads.

    name: the name of the dataset (with its language, if it has several: stsb_multi:de), of the encoder or of the file.
    key: the parameter that names its place, if any. cse.lab.run.needs replaces it by the full key, as the user gives
    it, and sets `cache` to paths.cache.
    """

    name: str
    cache: Path = field(default=Path(), compare=False, kw_only=True)
    key: str = field(default="", compare=False, kw_only=True)

    def setting(self, part: str) -> str:
        """The full key of the setting that names its place; "" if there is none. part: the key of the part."""
        return f"{part}.{self.key}".removeprefix(".") if self.key else ""

    def check(self) -> None:
        """Raise UserError if the place in a setting does not exist, or has other content. The hub is not asked."""

    def check_closely(self) -> None:
        """Like `check`, but it may also read the content, for seconds."""
        self.check()

    def find(self) -> Place:
        """Its place. Downloads nothing if the hub's clients use only the cache."""
        raise NotImplementedError

    def fetch(self) -> Place:
        """Its place after a download. Runs look there. Raises MissingResource."""
        return self.find()


@dataclass(frozen=True)
class FileNeed(Need):
    """The user's own file or folder, from the setting `key`."""

    key: str = field(compare=False)

    @property
    def path(self) -> Path:
        """Its place, as given."""
        return Path(self.name).expanduser()

    def check(self) -> None:
        """See Need. Raises MissingResource if there is no such file or folder."""
        if not self.path.exists():
            raise MissingResource("there is no such file or folder", key=self.key, value=self.name)

    def find(self) -> Place:
        """See Need."""
        return self.path if self.path.exists() else None


class Part:
    """A class that a config can name by `_target_`, and that may read something."""

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """The needs of the part with these settings (from its YAML), before it is made; by default none."""
        return []
