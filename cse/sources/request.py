"""One dataset that `cse-data fetch` is asked for."""

from dataclasses import dataclass
from pathlib import Path

from cse.errors import UserError
from cse.sources.catalogue import DATASETS, Dataset


@dataclass(frozen=True)
class Request:
    """A dataset to fetch.

    folder: where a person wants it; None: where runs look. cache: paths.cache. variant: the language in wikipedia:de.
    """

    name: str
    folder: Path | None
    cache: Path
    variant: str | None = None

    @property
    def about(self) -> Dataset:
        """Its entry in the catalogue."""
        return DATASETS[self.name]

    @property
    def place(self) -> Path:
        """Where it goes if not into the hub's cache."""
        return (self.folder or self.cache / "datasets") / self.name


def parse(word: str, folder: Path | None, cache: Path) -> Request:
    """NAME or NAME:LANGUAGE. Raises UserError for a name that the catalogue lacks."""
    from cse.config.compose import nearest

    name, _, variant = word.partition(":")
    if name not in DATASETS:
        raise UserError(f"there is no dataset {name}{nearest(name, list(DATASETS))}; cse-data list shows them all")
    if variant and not DATASETS[name].languages:
        with_languages = " and ".join(one for one in DATASETS if DATASETS[one].languages)
        raise UserError(f"{word}: only {with_languages} have languages, as in wikipedia:de")
    if variant and DATASETS[name].languages != ("any",) and variant not in DATASETS[name].languages:
        raise UserError(f"{word}: {name} has {', '.join(DATASETS[name].languages)}")
    return Request(name, folder, cache, variant or None)
