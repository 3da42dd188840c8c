"""Every dataset that a configuration can use: its place, revision, rows and licence, from catalogue.yaml.

It is the only place for these facts; readers and `cse-data` take them from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter

from cse.sources import hub


@dataclass(frozen=True)
class Dataset:
    """An entry of catalogue.yaml, which explains the fields."""

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
        """Whether a file or a folder of the user's own can be the dataset, by its name and that of something in it. A
        reader checks what it reads of it."""
        found = [Path(place) / name for name in self.inside] or [Path(place)]
        return any(one.is_file() or any(one.glob("*")) for one in found)

    def named_copy(self, config: Mapping[str, Any]) -> str | None:
        """The copy that the settings, nested, name."""
        if self.setting is None:
            return None
        node: Any = config
        for name in self.setting.split("."):
            node = node.get(name) if isinstance(node, Mapping) else None
        return node

    def absent_copy(self, config: Mapping[str, Any]) -> str:
        """What names a copy that is not there, as SETTING=FOLDER, and that; "" if there is none."""
        place = self.named_copy(config)
        if place is None or self.is_copy(place):
            return ""
        if not Path(place).exists():
            return f"{self.setting}={place}: there is no such place"
        found = sorted(path for name in self.inside for path in Path(place).glob(f"*/{name}"))
        below = next((f", but in its {path.parent.name}/" for path in found), "")
        wanted = f"none of {', '.join(self.inside)}" if self.inside else "nothing"
        return f"{self.setting}={place}: there is {wanted} in it{below}"

    @property
    def file(self) -> str | None:
        """The dataset's only file; None for a dataset of several files or of a folder."""
        return self.files[0] if len(self.files) == 1 and not self.files[0].endswith("/") else None

    def hub_repo(self, asked: str, instead: str) -> hub.Repo:
        """The repository of a dataset that has one. asked, instead: see hub.Repo."""
        assert self.repo is not None
        return hub.Repo(self.repo, "dataset", asked, instead, self.revision)


DATASETS = TypeAdapter(dict[str, Dataset]).validate_python(
    yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
)


def where(name: str, paths: Mapping[str, str | None]) -> Path | str | None:
    """The dataset's place, or the package that holds it; None if it is not on this machine. paths: the config's.

    Only names are looked up: no file is read, and the hub is not asked.
    """
    about, cache = DATASETS[name], Path(str(paths["cache"]))
    own = paths.get((about.setting or "").removeprefix("paths."))
    if own:
        return Path(own) if about.is_copy(own) else None
    kept = sorted(cache.glob(about.kept)) if about.kept else []
    if found := next((place for place in (cache / "datasets" / name, *kept) if place.exists()), None):
        return found
    package = (about.package or "").partition("==")[0]
    if package and find_spec(package):
        comes = "; its data comes from the hub when it is first scored" if about.fetch == "later" else ""
        return f"in the package {package}{comes}"
    if not about.repo:
        return None
    repo = about.hub_repo(name, "")
    if about.file:
        return hub.cached(repo, about.file)
    folder = hub.cache_of(repo) / "snapshots" / (about.revision or "") / "".join(about.files)
    return folder if folder.exists() else None  # some of its files may be missing
