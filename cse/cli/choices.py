"""Every choice of the config groups that need weights or data, tried without a download or a model."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from cse.config import compose as composition
from cse.config import groups
from cse.errors import MissingResource, UserError
from cse.run.build import make
from cse.sources import hub

GROUPS = ("model", "data", "augmentation", "aux_modality", "eval")
STATES = ("ok", "hub", "none", "missing")
AT_ONCE = 8  # questions to the hub


@dataclass(frozen=True)
class Finding:
    """One line. group: machine, packages, paths or a config group. note: what there is, or what to do.

    state: ok, it works here | hub, it is downloaded when first used, and the hub has it | none, a path that is not
    given, a GPU that is not there | missing. repo: what is lacking of the hub, where that is known.
    """

    group: str
    name: str
    state: str
    note: str
    repo: hub.Repo | None = None


def composed(overrides: list[str]) -> DictConfig:
    """cse-train's config, and beside it every choice of every group here as doctor.<group>.<choice>.

    Raises UserError for overrides that cse-train would refuse.
    """
    from cse.config.check import validate

    beside = [f"+{group}@doctor.{group}.{choice}={choice}" for group in GROUPS for choice in groups.choices(group)]
    with composition.explaining(overrides, "train"):
        composition.refuse_words(overrides, "train")
        validate(composition.composed("train", overrides), "train")
        return composition.without_hydra(composition.composed("train", [*beside, *overrides]))


def choices(cfg: DictConfig, online: bool) -> list[Finding]:
    """A finding for each choice. online: the hub answers, and is asked about each repository that its cache lacks."""
    with hub.cache_only():
        found = [
            attempt(group, str(name), check)
            for group in GROUPS
            for name, node in cfg.doctor[group].items()
            for check in checks(group, node)
        ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(partial(settled, online=online), found))
    whole = []
    for (group, name), parts in groupby(found, lambda one: (one.group, one.name)):
        several = list(parts)
        state = max((one.state for one in several), key=STATES.index)
        whole.append(Finding(group, name, state, "; ".join(one.note for one in several)))
    return whole


def attempt(group: str, name: str, check: Callable[[], str]) -> Finding:
    """What a check says; "hub" where its error has a cause, which is that only the network failed."""
    try:
        return Finding(group, name, "ok", check())
    except UserError as error:
        return Finding(group, name, "hub" if error.__cause__ else "missing", str(error), hub.asked_for(error))
    except Exception as error:  # a broken file can make a library raise anything, and the other checks still count
        return Finding(group, name, "missing", f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}")


def settled(one: Finding, online: bool) -> Finding:
    """The finding with what the hub says of its repository; of a model, how large it is. online: the hub answers."""
    if one.state != "hub":
        return one
    if not online:
        return replace(one, state="missing")
    if one.repo is None:
        return one
    try:
        files = hub.listing(one.repo)
    except MissingResource as error:
        return replace(one, state="missing", note=str(error))
    size = sum(file.size or 0 for file in hub.files_of_model(files)) if one.repo.kind == "model" else 0
    return replace(one, note=f"{one.repo.name}{f', {hub.size_of(size)}' if size else ''}: downloaded when first used")


def checks(group: str, node: DictConfig) -> list[Callable[[], str]]:
    """What a choice needs. Each says what there is, or raises UserError, from a cause where only the network failed."""
    from hydra.utils import get_class

    from cse.model.load import local_folder

    if group == "model":
        return [partial(local_folder, node.name)]
    if group == "data":
        return [partial(text, node)]
    if group != "aux_modality":
        return [lambda: make(node).on_hand()]
    if "_target_" not in node:
        return [lambda: "needs nothing"]
    kind: Any = get_class(node._target_)
    stream: Any = get_class(node.data._target_)
    name = kind.weights_of(node)
    return [*([partial(weights, name)] if name else []), partial(stream.on_hand, node.data)]


def text(node: DictConfig) -> str:
    """Where training text is: in the hub's cache, read before, in a package."""
    if node.name == "text":
        return "any text of yours: data.path=FILE"
    if node.name in ("demo", "demo_documents"):
        if find_spec("gensim") is None:
            raise MissingResource("it travels in gensim's wheel: pip install -e '.[demo]'")
        return "in gensim's wheel"
    part = make(node)
    part.find()
    return (
        f"read before; kept in {part.cache}"
        if (part.cache / part.digest).exists()
        else part.copy or "in the hub's cache"
    )


def weights(name: str) -> str:
    """The folder of the weights that a second modality starts from."""
    instead = "aux_modality.weights=FOLDER, or aux_modality.init=random"
    folder = Path(name).expanduser()
    return str(
        folder if folder.is_dir() else hub.model(hub.Repo(name, "model", f"aux_modality.weights={name}", instead))
    )


def paths(cfg: DictConfig) -> list[Finding]:
    """Whether each of `paths` is given and there."""
    rows = []
    for key, place in cfg.paths.items():
        if place is None:
            rows.append(Finding("paths", str(key), "none", f"paths.{key}=FOLDER or CSE_{str(key).upper()}"))
        elif key == "cache" or Path(place).exists():
            rows.append(Finding("paths", str(key), "ok", place))
        else:
            rows.append(Finding("paths", str(key), "missing", f"{place}: there is no such folder"))
    return rows
