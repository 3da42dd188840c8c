"""What a part reads, so that it is looked for before any work, listed and fetched: a part says it in `needs`.

    Need           the base; also `FileNeed`, a file or folder of the user's own
    EncoderNeed    weights, in cse.sources.encoder
    DatasetNeed    a dataset of the catalogue, in cse.sources.fetch

cse.lab.run.needs asks the parts of a config. Imports no torch, so that a wrong name is refused at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cse.errors import MissingResource

Settings = Mapping[str, Any]  # the values of one part's YAML
Place = Path | str | None
"""Where something is on this machine, or the package that has it; None if it is not here."""


@dataclass(frozen=True)
class Need:
    """One thing that a part reads.

    name: of the dataset (with its language, if it has several: stsb_multi:de), the encoder or the file. key: the
    parameter that names its place, if any. Whoever asks the parts replaces it by the whole key, as the user types it,
    and fills in cache, which is paths.cache.
    """

    name: str
    cache: Path = field(default=Path(), compare=False, kw_only=True)
    key: str = field(default="", compare=False, kw_only=True)

    def setting(self, part: str) -> str:
        """The whole key that names its place, for the part at a key; "" if none does."""
        return f"{part}.{self.key}".removeprefix(".") if self.key else ""

    def check(self) -> None:
        """Raise UserError if a setting names a place that is not there, or holds something else. Asks no hub."""

    def check_closely(self) -> None:
        """Like `check`, but what is there may be read, for seconds."""
        self.check()

    def find(self) -> Place:
        """Its place. Downloads nothing where the hub's clients use only the cache."""
        raise NotImplementedError

    def fetch(self) -> Place:
        """Its place, where runs look for it, after a download. Raises MissingResource."""
        return self.find()


@dataclass(frozen=True)
class FileNeed(Need):
    """A file or folder of the user's own, which the setting `key` names."""

    key: str = field(compare=False)

    @property
    def path(self) -> Path:
        """Its place, as it was typed."""
        return Path(self.name).expanduser()

    def check(self) -> None:
        """See Need. Raises MissingResource if there is nothing of that name."""
        if not self.path.exists():
            raise MissingResource("there is no such file or folder", key=self.key, value=self.name)

    def find(self) -> Place:
        """See Need."""
        return self.path if self.path.exists() else None


class Part:
    """A class that a config can name by `_target_`, and that may read something."""

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """What it reads with these settings, its YAML's, before it is made; nothing by default."""
        return []
