"""Where a dataset lies on this machine, found by looking at names alone: nothing is read or asked of the hub."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from cse.sources import hub
from cse.sources.catalogue import DATASETS, Dataset


def where(name: str, paths: Mapping[str, str | None]) -> Path | str | None:
    """The dataset's place, or the package that holds it; None where it is not here. paths: the config's."""
    about, cache = DATASETS[name], Path(str(paths["cache"]))
    own = paths.get((about.setting or "").removeprefix("paths."))
    kept = sorted(cache.glob(about.kept)) if about.kept else []
    places = [Path(own)] if own else []
    found = next((place for place in [*places, cache / "datasets" / name, *kept] if place.exists()), None)
    return found or in_package(about) or in_hub_cache(name, about)


def in_package(about: Dataset) -> str | None:
    """The package that carries the dataset, if it is installed."""
    package = (about.package or "").partition("==")[0]
    return f"in the package {package}" if package and find_spec(package) else None


def in_hub_cache(name: str, about: Dataset) -> Path | None:
    """The place in the hub's cache; of a dataset of several files, some may be missing there."""
    if about.repo is None:
        return None
    repo = about.hub_repo(name, "")
    if about.file:
        return hub.cached(repo, about.file)
    folder = hub.cache_of(repo) / "snapshots" / (about.revision or "") / "".join(about.files)
    return folder if folder.exists() else None
