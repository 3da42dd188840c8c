"""The place, revision, number of rows and licence of every dataset that a configuration can use.

These facts are only in catalogue.yaml. `cse-data` and the functions that read datasets use them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter

from cse.errors import MissingResource
from cse.files import not_found
from cse.needs import Place
from cse.sources import hub


@dataclass(frozen=True)
class Dataset:
    """An entry of catalogue.yaml. That file explains the fields."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    about: str
    licence: str
    bytes: int | None
    reads: tuple[str, ...]
    fetch: Literal["hub", "server", "part", "nltk", "package", "later"]
    setting: str | None = None
    person: str | None = None
    repo: str | None = None
    revision: str | None = None
    urls: str | None = None
    package: str | None = None
    files: tuple[str, ...] = ()
    kept: str | None = None
    inside: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()

    def is_copy(self, place: str) -> bool:
        """Return whether the user's own file or folder can be the dataset. Only checks that a name in `inside` exists
        there. The function that reads the dataset checks the content."""
        found = [Path(place) / name for name in self.inside] or [Path(place)]
        return any(one.is_file() or any(one.glob("*")) for one in found)

    def check_copy(self, place: str) -> None:
        """Raise MissingResource if the user's copy in `setting` does not exist, or has no file of the dataset."""
        if self.is_copy(place):
            return
        why, instead = not_found(Path(place)), "without this setting, the dataset is fetched"
        if self.fetch in ("server", "nltk"):  # most of these datasets are fetched only by cse-data
            instead = "cse-data list shows how to fetch the dataset"
        if Path(place).exists():
            why = f"it has none of {', '.join(self.inside)}" if self.inside else "it has no file"
            found = sorted(path for name in self.inside for path in Path(place).glob(f"*/{name}"))
            instead = f"name {found[0].parent}" if found else instead
        raise MissingResource(why, key="copy", value=place, instead=instead)

    @property
    def file(self) -> str | None:
        """Return the dataset's only file, or None for a dataset of several files or of a folder."""
        return self.files[0] if len(self.files) == 1 and not self.files[0].endswith("/") else None

    def hub_repo(self, asked: str, instead: str) -> hub.Repo:
        """Return the dataset's repository on the hub. asked, instead: see hub.Repo."""
        assert self.repo is not None
        if asked in self.reads and self.setting:  # a run reads the dataset
            instead = f"name your copy, {self.setting}=PLACE, or {instead}"
        return hub.Repo(self.repo, "dataset", asked, instead, self.revision)


DATASETS = TypeAdapter(dict[str, Dataset]).validate_python(
    yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
)


def find_dataset(name: str, cache: Path, copy: str | None = None) -> Place:
    """Return the dataset's place, or text that names a package with the dataset; None if it is not on this machine.

    cache: paths.cache. copy: the place in the dataset's setting. Reads no file, and does not ask the hub.
    """
    about = DATASETS[name]
    if copy:
        return Path(copy) if about.is_copy(copy) else None
    if about.fetch == "nltk":
        return next(packages_of_nltk(name, cache), None)
    kept = sorted(cache.glob(about.kept)) if about.kept else []
    if found := next((place for place in (cache / "datasets" / name, *kept) if place.exists()), None):
        return found
    package = (about.package or "").partition("==")[0]
    if package and find_spec(package):
        comes = "; a task's data comes from the hub when the task is first scored" if about.fetch == "later" else ""
        return f"in the package {package}{comes}"
    if not about.repo:
        return None
    repo = about.hub_repo(name, "")
    if about.file:
        return hub.find_file(repo, about.file)
    folder = hub.cache_of(repo) / "snapshots" / (about.revision or "") / "".join(about.files)
    return folder if folder.exists() else None  # some of its files may be missing


def packages_of_nltk(name: str, cache: Path) -> Iterator[Path]:
    """Yield the places of a package of NLTK's data, a folder or a zip: first the download of `cse-data fetch` in the
    cache, then the places in NLTK's own folders."""
    if find_spec("nltk") is None:
        return
    import nltk.data

    for folder in [cache / "datasets" / name, *map(Path, nltk.data.path)]:
        for place in (folder / "corpora" / name, folder / "corpora" / f"{name}.zip"):
            if place.exists():
                yield place.absolute()
