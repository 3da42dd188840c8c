"""Every choice of the config groups that need weights or data, tried without a download or a model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from cse.errors import MissingResource, UserError
from cse.run import composition, groups
from cse.run.build import make

if TYPE_CHECKING:
    from cse.data.stream import Stream
    from cse.types import AuxModality

STATES = ("ok", "hub", "none", "missing")

Check = Callable[[], str]
"""Says what there is. Raises UserError that says what to do, from a cause where it was only the network that failed."""


@dataclass(frozen=True)
class Diagnosis:
    """group: machine, packages, paths, or a config group. note: what there is, or what to do. state:

    ok: it works here | hub: it is downloaded when first used, and the hub answers | none: a path that is not given, a
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
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from cse.run.settings import settle

    beside = [f"+{group}@doctor.{group}.{path.stem}={path.stem}" for group in CHECKS for path in files(group)]
    try:
        composition.refuse_additions(overrides, "train")
        settle(composition.composed("train", overrides), "train")
        with hydra.initialize_config_dir(groups.CONF_DIR, version_base="1.3"):
            return hydra.compose("train", [*beside, *overrides])
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(composition.explain(error, overrides, "train")) from error


def files(group: str) -> list[Path]:
    """The YAML of each choice of a group."""
    return [groups.file_of(group, choice) for choice in groups.choices(group)]


def choices(cfg: DictConfig, hub: bool) -> list[Diagnosis]:
    """One diagnosis for each choice. Does not use the network; hub: whether it answers."""
    findings = []
    for group, checks in CHECKS.items():
        for name, node in cfg.doctor[group].items():
            results = [attempt(check, hub) for check in checks(node)] or [("ok", "needs nothing")]
            state = max((state for state, _ in results), key=STATES.index)
            findings.append(Diagnosis(group, str(name), state, "; ".join(dict.fromkeys(note for _, note in results))))
    return findings


def attempt(check: Check, hub: bool) -> tuple[str, str]:
    """(state, note)"""
    try:
        return "ok", check()
    except UserError as error:
        if hub and error.__cause__ is not None:
            return "hub", "not here yet: it is downloaded when first used"
        return "missing", str(error)
    except Exception as error:  # a broken file can make a library raise anything, and the other checks still count
        return "missing", f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def paths(cfg: DictConfig, findings: list[Diagnosis]) -> list[Diagnosis]:
    """Each of `paths`, the choices for which what lies there is complete, and the others that read it."""
    rows = []
    for key, place in cfg.paths.items():
        if place is None:
            rows.append(Diagnosis("paths", str(key), "none", f"paths.{key}=FOLDER or CSE_{str(key).upper()}"))
        elif key != "cache" and not Path(place).exists():
            rows.append(Diagnosis("paths", str(key), "missing", f"{place}: there is no such folder"))
        else:
            note = place if key == "cache" else f"{place}{readers(f'${{paths.{key}}}', findings)}"
            rows.append(Diagnosis("paths", str(key), "ok", note))
    return rows


def readers(reference: str, findings: list[Diagnosis]) -> str:
    """The choices whose YAML names `reference`: those that are complete, and those to look at."""
    yamls = {
        (path.parent.name, path.stem) for group in CHECKS for path in files(group) if reference in path.read_text()
    }
    users = [one for one in findings if (one.group, one.name) in yamls]
    complete = " ".join(f"{one.group}={one.name}" for one in users if one.state == "ok")
    others = " ".join(f"{one.group}={one.name}" for one in users if one.state != "ok")
    return (f"; complete for {complete}" if complete else "") + (f"; see {others}" if others else "")


def weights(name: str, instead: str) -> str:
    """Where a model's weights lie on this machine."""
    from huggingface_hub import hf_hub_download

    from cse.model.load import locate

    source = locate(name)
    if Path(source).is_dir():
        return source
    for file in ("model.safetensors", "pytorch_model.bin"):
        try:
            return str(Path(hf_hub_download(name, file)).parent)
        except Exception as error:  # nothing but the cache is asked, and it has several ways to say no
            cause = error
    raise MissingResource(f"{name} is not in the hub's cache, nor can be had: {instead}") from cause


def model(node: DictConfig) -> list[Check]:
    """The encoder's weights."""
    return [partial(weights, node.name, "model=minilm, or model.name=FOLDER for a local copy")]


def data(node: DictConfig) -> list[Check]:
    """The text, in a package, in the hub's cache, or read before."""

    def corpus() -> str:
        from cse.data.corpora import HUB, available

        if node.name == "text":
            return "any text of yours: data.path=FILE"
        if node.name not in HUB:
            if find_spec("gensim") is None:
                raise MissingResource("it travels in gensim's wheel: pip install -e '.[demo]'")
            return "in gensim's wheel"
        try:
            available(node.name)
            return "in the hub's cache"
        except MissingResource:
            pass
        try:
            make(node).prepare()  # raises the same, unless it was read before
            return f"read before; kept in {node.cache_dir}"
        except MissingResource as error:
            repo, instead = HUB[node.name].repo, HUB[node.name].instead
            raise MissingResource(f"{repo} is not in the hub's cache, nor can be had: {instead}") from error

    return [corpus]


def augmentation(node: DictConfig) -> list[Check]:
    """What it reads, WordNet for one; the part itself says so."""
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
    start = [partial(weights, name, "aux_modality.weights=FOLDER, or aux_modality.init=random")] if name else []
    return [*start, partial(stream.on_hand, node.data)]


CHECKS: dict[str, Callable[[DictConfig], list[Check]]] = {
    "model": model,
    "data": data,
    "augmentation": augmentation,
    "aux_modality": aux_modality,
    "eval": evaluator,
}
