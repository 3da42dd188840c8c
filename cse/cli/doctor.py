"""cse-doctor: what this machine has, and what every choice of every config group would need.

Downloads nothing, builds no model, and asks the hub only whether it answers.
"""

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

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
FOR_DEVELOPERS = ("dev", "docs")
SCARCE = 5e9  # bytes: a run of BERT base keeps 2.2 GB in best/ and last/, twice that while they are replaced


class Finding(NamedTuple):
    """One line. group: machine, packages, paths or a config group. note: what there is, or what to do.

    state: ok (works here), hub (is downloaded when first used), none (a path that is not set, or no GPU), missing.
    """

    group: str
    name: str
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
        findings = [*machine(cfg, online), *packages(), *paths(cfg), *parts(cfg, online)]
    show_json(findings) if "--json" in arguments else show(findings)


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


def machine(cfg: DictConfig, online: bool) -> Iterator[Finding]:
    """Python, processors, GPUs, disks, hub and W&B. online: whether the hub answers."""
    import torch
    from huggingface_hub import get_token
    from huggingface_hub.constants import HF_HUB_CACHE

    from cse.device import computes_bf16, count_gpus
    from cse.tracking.wandb import has_key

    def found(name: str, good: bool, note: str) -> Finding:
        return Finding("machine", name, "ok" if good else "missing", note)

    version, key = platform.python_version(), has_key()
    yield found("python", (3, 11) <= sys.version_info[:2] < (3, 14), f"{version} on {platform.platform()}")
    yield found("cpu", True, f"{os.cpu_count()} cores, {torch.get_num_threads()} threads for torch")
    for index in range(count_gpus()):
        properties = torch.cuda.get_device_properties(index)
        with torch.cuda.device(index):
            precision = "bf16" if computes_bf16() else "no bf16: fp16 or fp32"
        memory = f"{properties.total_memory / 2**30:.0f} GiB"
        yield found(f"gpu {index}", True, f"{properties.name}, {memory}, {precision}")
    if not count_gpus():
        yield Finding("machine", "gpu", "none", "everything runs on the CPU, in fp32")
    for name, place in (("disk, runs", Path.cwd()), ("disk, cache", Path(cfg.paths.cache).absolute())):
        free = shutil.disk_usage(next(folder for folder in (place, *place.parents) if folder.exists())).free
        yield found(name, free > SCARCE, f"{free / 1e9:.0f} GB free in {place}")
    answers = f"{'answers' if online else 'does not answer'}; {'with' if get_token() else 'no'} token"
    yield found("hub", online, f"{answers}; cache {HF_HUB_CACHE}")
    yield found("W&B", key, "a key" if key else "no API key: `wandb login` stores one")


def packages() -> Iterator[Finding]:
    """Every requirement of cse-lab but developers': its version, or how to install one that fits."""
    from importlib.metadata import metadata, requires

    from packaging.requirements import Requirement

    from cse.record.results import installed

    extras = [one for one in metadata("cse-lab").get_all("Provides-Extra") or [] if one not in FOR_DEVELOPERS]
    for required in map(Requirement, requires("cse-lab") or []):
        brings = [extra for extra in extras if required.marker and required.marker.evaluate({"extra": extra})]
        if required.marker and not brings:
            continue
        version, wanted = installed(required.name), f"-e '.[{brings[0]}]'" if brings else f"'{required}'"
        if version is not None and required.specifier.contains(version, prereleases=True):
            yield Finding("packages", required.name, "ok", version)
        else:
            yield Finding("packages", required.name, "missing", f"{version or 'not here'}; pip install {wanted}")


def paths(cfg: DictConfig) -> Iterator[Finding]:
    """Whether each of `paths` is set and exists."""
    for key, place in cfg.paths.items():
        if place is None:
            yield Finding("paths", str(key), "none", f"paths.{key}=FOLDER or CSE_{str(key).upper()}")
        elif key == "cache" or Path(place).exists():
            yield Finding("paths", str(key), "ok", place)
        else:
            yield Finding("paths", str(key), "missing", f"{place}: there is no such folder")


def parts(cfg: DictConfig, online: bool) -> list[Finding]:
    """A finding for each choice, as bad as the worst of its needs. online: the hub answers."""
    findings = []
    with hub.cache_only():
        for group in GROUPS:
            for name, node in cfg.doctor[group].items():
                found = [attempt(group, str(name), needed, online) for needed in needs(group, node)]
                state = max((one.state for one in found), key=STATES.index)
                findings.append(Finding(group, str(name), state, "; ".join(one.note for one in found)))
    return findings


def attempt(group: str, name: str, needed: Callable[[], str], online: bool) -> Finding:
    """A finding for one need. An error with a cause means that only the network failed, so the state is "hub"."""
    try:
        return Finding(group, name, "ok", needed())
    except UserError as error:
        return Finding(group, name, "hub" if error.__cause__ and online else "missing", str(error))
    except Exception as error:  # a broken file can make a library raise anything; go on with the others
        return Finding(group, name, "missing", f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}")


def needs(group: str, node: DictConfig) -> list[Callable[[], str]]:
    """A choice's needs. Each returns a note, or raises UserError, with a cause if only the network failed."""
    from hydra.utils import get_class

    from cse.model.load import local_folder
    from cse.run.build import make

    if group == "model":
        return [partial(local_folder, node.name)]
    if group == "data":
        return [partial(text, node)]
    if group != "aux_modality":
        return [lambda: make(node).local_status()]
    if "_target_" not in node:
        return [lambda: "needs nothing"]
    kind: Any = get_class(node._target_)
    stream: Any = get_class(node.data._target_)
    name = kind.weights_of(node)
    return [*([partial(weights, name)] if name else []), partial(stream.local_status, node.data)]


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


def weights(name: str) -> str:
    """The folder of the weights that a second modality starts from."""
    instead = "aux_modality.weights=FOLDER, or aux_modality.init=random"
    folder = Path(name).expanduser()
    return str(
        folder if folder.is_dir() else hub.model(hub.Repo(name, "model", f"aux_modality.weights={name}", instead))
    )


def show_json(findings: list[Finding]) -> None:
    """Print {group: {name: {state, note}}}."""
    groups: dict[str, dict[str, dict[str, str]]] = {}
    for one in findings:
        groups.setdefault(one.group, {})[one.name] = {"state": one.state, "note": one.note}
    print(json.dumps(groups, indent=2))


def show(findings: list[Finding]) -> None:
    """Print a line for each, under its group."""
    for group in dict.fromkeys(one.group for one in findings):
        print(group)
        for one in findings:
            if one.group == group:
                print(f"  {one.name:<20}  {one.state:<7}  {one.note}")
    print("ok: works here; hub: downloaded when first used; missing: the line says what to do")


if __name__ == "__main__":
    main()
