"""Every choice of the config groups that need weights or data, tried without a download or a model."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from cse.config import compose as composition
from cse.config import groups
from cse.errors import MissingResource, UserError
from cse.run.build import make
from cse.sources import hub

if TYPE_CHECKING:
    from cse.data.stream import Stream
    from cse.types import AuxModality

STATES = ("ok", "hub", "none", "missing")
AT_ONCE = 8  # questions to the hub

Check = Callable[[], str]
"""Says what there is. Raises UserError that says what to do, from a cause where it was only the network that failed."""


@dataclass(frozen=True)
class Availability:
    """What one check of a choice gave. repo: what it lacks of the hub, where that is known."""

    state: str
    note: str
    repo: hub.Repo | None = None


@dataclass(frozen=True)
class Diagnosis:
    """group: machine, packages, paths, or a config group. note: what there is, or what to do. state:

    ok: it works here | hub: it is downloaded when first used, and the hub has it | none: a path that is not given, a
    GPU that is not there | missing.
    """

    group: str
    name: str
    state: str
    note: str


def composed(overrides: list[str]) -> DictConfig:
    """cse-train's config, and beside it every choice of every group here as doctor.<group>.<choice>.

    Raises UserError for overrides that cse-train would refuse.
    """
    from cse.config.check import validate

    beside = [f"+{group}@doctor.{group}.{path.stem}={path.stem}" for group in CHECKS for path in files(group)]
    with composition.explaining(overrides, "train"):
        composition.refuse_words(overrides, "train")
        validate(composition.composed("train", overrides), "train")
        return composition.without_hydra(composition.composed("train", [*beside, *overrides]))


def files(group: str) -> list[Path]:
    """The YAML of each choice of a group."""
    return [groups.file_of(group, choice) for choice in groups.choices(group)]


def choices(cfg: DictConfig, online: bool) -> list[Diagnosis]:
    """One diagnosis for each choice. Nothing is downloaded; online: the hub answers, and is asked about each
    repository that is not in its cache."""
    with hub.cache_only():
        found = {
            (group, str(name)): [attempt(check) for check in checks(node)] or [Availability("ok", "needs nothing")]
            for group, checks in CHECKS.items()
            for name, node in cfg.doctor[group].items()
        }
    answers = asked({one.repo for several in found.values() for one in several if one.repo}) if online else {}
    diagnoses = []
    for (group, name), several in found.items():
        settled = [answers.get(one.repo, one) if one.repo else one for one in several]
        if not online:
            settled = [replace(one, state="missing") if one.state == "hub" else one for one in settled]
        state = max((one.state for one in settled), key=STATES.index)
        diagnoses.append(Diagnosis(group, name, state, "; ".join(dict.fromkeys(one.note for one in settled))))
    return diagnoses


def attempt(check: Check) -> Availability:
    """What a check says; "hub" where only the network failed it."""
    try:
        return Availability("ok", check())
    except UserError as error:
        if error.__cause__ is None:
            return Availability("missing", str(error))
        return Availability("hub", str(error), hub.asked_for(error))
    except Exception as error:  # a broken file can make a library raise anything, and the other checks still count
        return Availability("missing", f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}")


def asked(repos: set[hub.Repo]) -> dict[hub.Repo, Availability]:
    """What the hub says of each repository: that it has it (of a model, how large it is), or why it cannot be had."""

    def answer(repo: hub.Repo) -> Availability:
        try:
            files = hub.listing(repo)
        except MissingResource as error:
            return Availability("missing", str(error))
        size = sum(one.size or 0 for one in hub.files_of_model(files)) if repo.kind == "model" else 0
        return Availability("hub", f"{repo.name}{f', {hub.size_of(size)}' if size else ''}: downloaded when first used")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(repos, pool.map(answer, repos), strict=True))


def paths(cfg: DictConfig, diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """Each of `paths`, the choices for which what lies there is complete, and the others that read it."""
    rows = []
    for key, place in cfg.paths.items():
        if place is None:
            rows.append(Diagnosis("paths", str(key), "none", f"paths.{key}=FOLDER or CSE_{str(key).upper()}"))
        elif key != "cache" and not Path(place).exists():
            rows.append(Diagnosis("paths", str(key), "missing", f"{place}: there is no such folder"))
        else:
            note = place if key == "cache" else f"{place}{readers(f'${{paths.{key}}}', diagnoses)}"
            rows.append(Diagnosis("paths", str(key), "ok", note))
    return rows


def readers(reference: str, diagnoses: list[Diagnosis]) -> str:
    """The choices whose YAML names `reference`: those that are complete, and those to look at."""
    yamls = {
        (path.parent.name, path.stem) for group in CHECKS for path in files(group) if reference in path.read_text()
    }
    users = [one for one in diagnoses if (one.group, one.name) in yamls]
    complete = " ".join(f"{one.group}={one.name}" for one in users if one.state == "ok")
    others = " ".join(f"{one.group}={one.name}" for one in users if one.state != "ok")
    return (f"; complete for {complete}" if complete else "") + (f"; see {others}" if others else "")


def weights(name: str, key: str, instead: str) -> str:
    """Where a model's weights lie on this machine. key: the setting that names it."""
    from cse.model.load import locate

    source = locate(name)
    if Path(source).is_dir():
        return source
    repo = hub.Repo(name, "model", key, instead)
    for file in ("model.safetensors", "pytorch_model.bin"):
        if (known := hub.cached(repo, file)) is not None:
            return str(known.parent)
    raise hub.NotHere(f"{name} is not in the hub's cache, nor can be had: {instead}", repo) from LookupError(name)


def model(node: DictConfig) -> list[Check]:
    """The encoder's weights."""
    return [
        partial(weights, node.name, f"model.name={node.name}", "model=minilm, or model.name=FOLDER for a local copy")
    ]


def data(node: DictConfig) -> list[Check]:
    """The text, in a package, in the hub's cache, or read before."""

    def corpus() -> str:
        from cse.data.corpora import check_available, instead_of, is_published, repo_of

        if node.name == "text":
            return "any text of yours: data.path=FILE"
        if not is_published(node.name):
            if find_spec("gensim") is None:
                raise MissingResource("it travels in gensim's wheel: pip install -e '.[demo]'")
            return "in gensim's wheel"
        try:
            check_available(node.name)
            return "in the hub's cache"
        except MissingResource:
            pass
        try:
            make(node).prepare()  # raises the same, unless it was read before
            return f"read before; kept in {node.cache_dir}"
        except MissingResource as error:
            repo, instead = repo_of(node.name).name, instead_of(node.name)
            raise MissingResource(f"{repo} is not in the hub's cache, nor can be had: {instead}") from error

    return [corpus]


def augmentation(node: DictConfig) -> list[Check]:
    """What it reads (EDA: WordNet), as the part itself says."""
    return [lambda: make(node).on_hand()]


def evaluator(node: DictConfig) -> list[Check]:
    """Its data, as the part itself looks for it."""
    return [lambda: make(node).on_hand()]


def aux_modality(node: DictConfig) -> list[Check]:
    """The weights that it starts from, and its images or sound; nothing where there is no second modality."""
    from hydra.utils import get_class

    if "_target_" not in node:
        return []
    kind: type[AuxModality] = get_class(node._target_)
    stream: type[Stream] = get_class(node.data._target_)
    name = kind.weights_of(node)
    instead = "aux_modality.weights=FOLDER, or aux_modality.init=random"
    start = [partial(weights, name, f"aux_modality.weights={name}", instead)] if name else []
    return [*start, partial(stream.on_hand, node.data)]


CHECKS: dict[str, Callable[[DictConfig], list[Check]]] = {
    "model": model,
    "data": data,
    "augmentation": augmentation,
    "aux_modality": aux_modality,
    "eval": evaluator,
}
