"""cse-doctor: what this machine has, and what every choice of every config group would need.

Downloads nothing, builds no model, and asks the hub only whether it answers.
"""

import json
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from cse.cli.exits import exit_on_error
from cse.cli.help import DOCTOR
from cse.config.groups import adopt_folders, choices
from cse.config.spelling import spell, strip_dashes
from cse.errors import MissingResource, UserError
from cse.run import startup
from cse.sources import hub

GROUPS = ("model", "data", "augmentation", "aux_modality", "eval")
STATES = ("ok", "hub", "none", "missing")
FOR_DEVELOPERS = {"dev", "docs"}
SCARCE = 5e9  # bytes: a run of BERT base keeps 2.2 GB in best/ and last/, twice that while they are replaced


class Finding(NamedTuple):
    """state: ok (works here), hub (the hub has it), none (a path that is not set, or no GPU), missing.

    note: what there is, or what to do.
    """

    state: str
    note: str


def main() -> None:
    """The console script. Exit codes: 0 whatever was found, 2 the user's mistake."""
    with exit_on_error():
        arguments = adopt_folders(strip_dashes(sys.argv[1:]))
        if {"-h", "--help"} & set(arguments):
            print(DOCTOR)
            return
        overrides = [argument for argument in arguments if argument != "--json"]
        for argument in overrides:
            if not (argument.startswith("paths.") and "=" in argument):
                raise UserError(f"{argument} is neither paths.KEY=FOLDER nor --json")
        online = startup.settle_hub()
        startup.quiet()
        cfg = composed(spell(overrides, "train"))
        found = {"machine": dict(machine(cfg, online)), "packages": dict(packages()), "paths": dict(paths(cfg))}
        with hub.cache_only():
            for group in GROUPS:
                found[group] = {str(name): choice(group, node) for name, node in cfg.doctor[group].items()}
    if "--json" in arguments:
        findings = {group: {name: one._asdict() for name, one in of.items()} for group, of in found.items()}
        print(json.dumps(findings, indent=2))
        return
    for group, findings_of in found.items():
        print("\n".join([group, *(lines if group in ("machine", "paths") else summary)(findings_of)]))


def lines(found: Mapping[str, Finding]) -> Iterator[str]:
    """A line for each thing."""
    return (entry(name, f"{one.state:<7}  {one.note}") for name, one in found.items())


def summary(found: Mapping[str, Finding]) -> Iterator[str]:
    """What works here, what the hub has, then each thing that is missing, and what to do."""
    for state, title in (("ok", "works here"), ("hub", "from the hub")):
        if names := [name for name, one in found.items() if one.state == state]:
            yield entry(title, ", ".join(names))
    for name, one in found.items():
        if one.state == "missing":
            yield entry(name, f"missing: {one.note}")


def entry(name: str, text: str) -> str:
    """A name and, in a column that is as wide as the terminal leaves it, a text."""
    width = max(60, shutil.get_terminal_size().columns)
    start = f"  {name:<16}  "
    return textwrap.fill(text, width, initial_indent=start, subsequent_indent=" " * 20, break_on_hyphens=False)


def composed(overrides: list[str]) -> DictConfig:
    """cse-train's config, with every choice of every group in GROUPS beside it as doctor.<group>.<choice>.

    Raises UserError for overrides that cse-train would refuse.
    """
    from cse.config import compose
    from cse.config.check import validate

    beside = [f"+{group}@doctor.{group}.{choice}={choice}" for group in GROUPS for choice in choices(group)]
    with compose.explaining(overrides, "train"):
        validate(compose.composed("train", overrides), "train")
        return compose.without_hydra(compose.composed("train", [*beside, *overrides]))


def machine(cfg: DictConfig, online: bool) -> Iterator[tuple[str, Finding]]:
    """Python, processors, GPUs, disks, hub and W&B. online: whether the hub answers."""
    import torch
    from huggingface_hub import get_token
    from huggingface_hub.constants import HF_HUB_CACHE

    from cse.device import computes_bf16, count_gpus
    from cse.tracking.wandb import has_key

    fits = (3, 11) <= sys.version_info[:2] < (3, 14)
    yield "python", have(fits, f"{platform.python_version()} on {platform.platform()}")
    gpus = count_gpus()
    computes = "" if gpus else ", bf16" if computes_bf16() else ", no bf16: trains in fp32"
    yield "cpu", have(True, f"{os.cpu_count()} cores, {torch.get_num_threads()} threads for torch{computes}")
    for index in range(gpus):
        gpu = torch.cuda.get_device_properties(index)
        with torch.cuda.device(index):
            precision = "bf16" if computes_bf16() else "no bf16: fp16 or fp32"
        yield f"gpu {index}", have(True, f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, {precision}")
    if not gpus:
        yield "gpu", Finding("none", "everything runs on the CPU")
    for name, place in (("disk, runs", Path.cwd()), ("disk, cache", Path(cfg.paths.cache).absolute())):
        free = shutil.disk_usage(next(folder for folder in (place, *place.parents) if folder.exists())).free
        yield name, have(free > SCARCE, f"{free / 1e9:.0f} GB free in {place}")
    answers = f"{'answers' if online else 'does not answer'}; {'with' if get_token() else 'no'} token"
    yield "hub", have(online, f"{answers}; cache {HF_HUB_CACHE}")
    yield "W&B", have(key := has_key(), "a key" if key else "no API key: `wandb login` stores one")


def have(good: bool, note: str) -> Finding:
    """A finding that is ok or missing."""
    return Finding("ok" if good else "missing", note)


def packages() -> Iterator[tuple[str, Finding]]:
    """Every requirement of cse-lab but developers': its version, or how to install one that fits."""
    from importlib.metadata import metadata, requires

    from packaging.requirements import Requirement

    from cse.record.results import installed

    extras = [name for name in metadata("cse-lab").get_all("Provides-Extra") or [] if name not in FOR_DEVELOPERS]
    for one in map(Requirement, requires("cse-lab") or []):
        brings = [extra for extra in extras if one.marker and one.marker.evaluate({"extra": extra})]
        if one.marker and not brings:
            continue
        version, wanted = installed(one.name), f"-e '.[{brings[0]}]'" if brings else f"'{one}'"
        fits = version is not None and one.specifier.contains(version, prereleases=True)
        yield one.name, have(fits, f"{version or 'not here'}{'' if fits else f'; pip install {wanted}'}")


def paths(cfg: DictConfig) -> Iterator[tuple[str, Finding]]:
    """Whether each of `paths` is set and exists."""
    for key, place in cfg.paths.items():
        if place is None:
            yield str(key), Finding("none", f"paths.{key}=FOLDER or CSE_{str(key).upper()}")
        else:
            exists = key == "cache" or Path(place).exists()
            yield str(key), have(exists, place if exists else f"{place}: there is no such folder")


def choice(group: str, node: DictConfig) -> Finding:
    """A choice of a group, as bad as the worst of its needs."""
    found = list(map(attempt, needs(group, node)))
    return Finding(max((one.state for one in found), key=STATES.index), "; ".join(one.note for one in found))


def attempt(needed: Callable[[], str]) -> Finding:
    """A finding for one need. An error with a cause means that only the network failed, so the state is "hub"."""
    try:
        return Finding("ok", needed())
    except UserError as error:
        return Finding("hub" if error.__cause__ else "missing", str(error))
    except Exception as error:  # a broken file can make a library raise anything; go on with the others
        return Finding("missing", f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}")


def needs(group: str, node: DictConfig) -> list[Callable[[], str]]:
    """A choice's needs. Each returns a note, or raises UserError, with a cause if only the network failed."""
    from hydra.utils import get_class

    from cse.data.stream import Stream
    from cse.model.load import local_folder
    from cse.run.build import make
    from cse.types import AuxModality

    match group:
        case "model":
            return [partial(local_folder, node.name)]
        case "data":
            return [partial(text, node)]
        case "aux_modality" if "_target_" not in node:
            return [lambda: "needs nothing"]
        case "aux_modality":
            kind: type[AuxModality] = get_class(node._target_)
            stream: type[Stream] = get_class(node.data._target_)
            weights = kind.weights_of(node)
            return [*([partial(local_weights, weights)] if weights else []), partial(stream.local_status, node.data)]
    return [lambda: make(node).local_status()]


def text(node: DictConfig) -> str:
    """Where training text is: in a package, in cse's cache, or in the hub's."""
    from cse.run.build import make

    if node.name == "text":
        return "your own text: data.path=FILE"
    if node.name in ("demo", "demo_documents"):
        if find_spec("gensim") is None:
            raise MissingResource("it is in gensim's wheel: pip install -e '.[demo]'")
        return "in gensim's wheel"
    part = make(node)
    part.find()
    is_read = (part.cache / part.digest).exists()
    return f"read before; kept in {part.cache}" if is_read else part.copy or "in the hub's cache"


def local_weights(name: str) -> str:
    """The folder of the weights that a second modality starts from."""
    if Path(name).expanduser().is_dir():
        return name
    instead = "aux_modality.weights=FOLDER, or aux_modality.init=random"
    return str(hub.model(hub.Repo(name, "model", f"aux_modality.weights={name}", instead)))


if __name__ == "__main__":
    main()
