"""Where a dataset lies on this machine, found by looking at names alone: nothing is read or asked of the hub."""

from importlib.util import find_spec
from pathlib import Path

from omegaconf import DictConfig

from cse.augmentation.wordnet import find_wordnet
from cse.errors import MissingResource
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.request import Request


def where(name: str, paths: DictConfig) -> str | None:
    """A place, as cse-data shows it; None where it is not here. paths: the config's."""
    about, cache = DATASETS[name], Path(paths.cache)
    key = (about.setting or "").removeprefix("paths.")
    given = paths.get(key) if (about.setting or "").startswith("paths.") else None
    if given and Path(given).exists():
        return f"{given} (paths.{key})"
    if name in ("demo", "mteb"):
        package = str(about.package).partition("==")[0]
        return f"in the package {package}" if find_spec(package) else None
    if name == "wordnet":
        return wordnet(cache)
    own = [Request(name, None, cache).place, *sorted(cache.glob(about.kept or "datasets/" + name))]
    return next((str(place) for place in own if place.exists()), None) or on_hub(name)


def on_hub(name: str) -> str | None:
    """The place in the hub's cache."""
    about = DATASETS[name]
    if about.repo is None:
        return None
    repo = about.hub_repo(name, "")
    if about.file:
        local = hub.cached(repo, about.file)
        return None if local is None else str(local)
    folders = [hub.cache_of(repo) / "snapshots" / (about.revision or "") / "".join(about.files)]
    return next((f"{folder}, in part or whole" for folder in folders if folder.exists()), None)


def wordnet(cache: Path) -> str | None:
    """The first of WordNet's places."""
    fetched = Request("wordnet", None, cache).place
    try:
        return str(fetched if fetched.exists() else find_wordnet(None))
    except MissingResource:
        return None
