"""The data and weights that a part reads. `Part.needs` lists them, so they can be checked or fetched before any work.

    Need           the base class
    FileNeed       a file or folder of the user's own
    EncoderNeed    an encoder's weights, in cse.sources.encoder
    DatasetNeed    a dataset of the catalogue, in cse.sources.fetch

cse.lab.run.needs collects the needs of a config's parts. This module does not import torch: a wrong name must be
refused at once, and the import takes seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cse.errors import MissingResource
from cse.files import not_found

Settings = Mapping[str, Any]  # the keys and values of a part's YAML
Place = Path | str | None
"""The path of a resource, or text that names a package with the resource. None: the resource was not found."""


@dataclass(frozen=True)
class Need:
    """A resource that a part reads: a dataset, an encoder or a file.

    name: the name of the resource, with the language for a dataset of several languages: stsb_multi:de. key: the
    parameter that names the place of the resource, if any. cse.lab.run.needs replaces `key` by the full key of the
    user's setting, and sets `cache` to paths.cache.
    """

    name: str
    cache: Path = field(default=Path(), compare=False, kw_only=True)
    key: str = field(default="", compare=False, kw_only=True)

    def setting(self, part: str) -> str:
        """Return the full key of the setting that names the place; "" if there is none. part: the part's key."""
        return f"{part}.{self.key}".removeprefix(".") if self.key else ""

    def check(self) -> None:
        """Raise UserError if the place that a setting names is missing, or has the wrong content. Asks no hub."""

    def check_closely(self) -> None:
        """Check as `check` does. May also read the content, which can take seconds."""
        self.check()

    def find(self) -> Place:
        """Return the place of the resource. Inside hub.cache_only() nothing is downloaded."""
        raise NotImplementedError

    def fetch(self) -> Place:
        """Download the resource, and return the place where runs look for it. Raises MissingResource."""
        return self.find()


@dataclass(frozen=True)
class FileNeed(Need):
    """A file or folder of the user's own. The setting `key` names it. instead: what to do if it does not exist."""

    key: str = field(compare=False)
    instead: str = field(default="", compare=False)

    @property
    def path(self) -> Path:
        """Return the path that the setting gives, with ~ replaced by the home folder."""
        return Path(self.name).expanduser()

    def check(self) -> None:
        """See Need. Raises MissingResource if there is no such file or folder."""
        if not self.path.exists():
            raise MissingResource(not_found(self.path), key=self.key, value=self.name, instead=self.instead)

    def find(self) -> Place:
        """See Need."""
        return self.path if self.path.exists() else None


class Part:
    """The base class of parts: classes that a config can name by `_target_`."""

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return what a part with these settings (from its YAML) will read; by default nothing."""
        return []
