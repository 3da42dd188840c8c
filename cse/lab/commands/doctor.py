"""The command cse-doctor, which shows what this machine has: processors, hub, packages and data.

cse-doctor downloads nothing and builds no model. It only tests whether the hub answers. The command cse-data shows
which data a command lacks. Start at `main`, then read `find_all`.
"""

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from cse.errors import UserError
from cse.lab.commands.exits import exit_on_error
from cse.lab.commands.help import arguments_or_exit
from cse.lab.run.from_arguments import config_of
from cse.lab.settings.command import read_command
from cse.lab.settings.lookup import settings_of_command
from cse.lab.settings.references import user_key
from cse.lab.text_columns import in_column, say, terminal_width
from cse.sources.hub import is_offline, use_hub_if_it_answers

HELP = """\
cse-doctor: what this machine has: Python, processors, disks, hub, W&B, packages, and folders of data.

  cse-doctor                              a table
  cse-doctor paths.senteval=FOLDER        the table with this folder set; also paths.images=, paths.audio=, ...
  cse-doctor --json                       the same facts as JSON, for programs
  cse-data list ARGUMENTS                 what cse-train with these arguments reads, and what is missing

Exit codes
  0    done, whatever it found
  2    a mistake in the command
"""

FOR_DEVELOPERS = {"dev", "docs"}
SCARCE = 5e9  # bytes: a run of BERT base has 1.8 GB in best/ and last/, and up to twice as much while it replaces them


class Finding(NamedTuple):
    """The result for one item, such as a package.

    state: "ok" if the item works here; "none" for a path that is not set, and for a missing GPU; else "missing". note:
    the version, size or place of the item, or what to do.
    """

    state: str
    note: str


Findings = dict[str, dict[str, Finding]]
"""{group: {item's name: its finding}}. The groups are machine, packages and paths."""


def main() -> None:
    """Run cse-doctor. Exit codes: 0 whatever was found, 2 the user's mistake."""
    with exit_on_error():
        folders = (setting for setting in settings_of_command("train") if setting.key.startswith("paths."))
        arguments = arguments_or_exit(HELP, settings=folders)
        findings = find_all([argument for argument in arguments if argument != "--json"])
        if "--json" in arguments:
            print(as_json(findings))
        else:
            say("\n".join(summary(findings)))


def find_all(folders: Sequence[str]) -> Findings:
    """Return what this machine has. folders: arguments paths.KEY=FOLDER, which set folders for this call.

    Raises UserError for any other argument.
    """
    for argument in folders:
        if not (argument.startswith("paths.") and "=" in argument):
            raise UserError(f"{argument} is neither paths.KEY=FOLDER nor --json; for a command's data: cse-data list")
    hub = ask_hub()
    cfg = config_of("train", read_command(folders, "train").arguments)
    return {
        "machine": dict(find_machine(cfg, hub)),
        "packages": dict(find_packages()),
        "paths": dict(find_folders(cfg)),
    }


def as_json(findings: Findings) -> str:
    """Return the findings as JSON."""
    plain = {group: {name: finding._asdict() for name, finding in named.items()} for group, named in findings.items()}
    return json.dumps(plain, indent=2)


def ask_hub() -> str:
    """Return in words whether the hub answers. If it does not, this process continues without the hub.

    Raises UserError if HF_ENDPOINT is not an address.
    """
    if is_offline():
        return "is not checked, because HF_HUB_OFFLINE is set (docs/offline.md)"
    return "answers" if use_hub_if_it_answers() else "does not answer (docs/offline.md)"


def summary(findings: Findings) -> Iterator[str]:
    """Yield the findings as lines: the machine, then the packages and folders (here, missing, not set), then hints."""
    for name, finding in findings["machine"].items():
        yield entry(name, finding.note)
    for group in ("packages", "paths"):
        named = findings[group]
        here = [name for name, finding in named.items() if finding.state == "ok"]
        unset = [name for name, finding in named.items() if finding.state == "none"]
        yield entry(group, f"all {len(here)} are here" if len(here) == len(named) else ", ".join(here) or "none")
        for name, finding in named.items():
            if finding.state == "missing":
                yield entry(name, finding.note)
        if unset:
            yield entry("not set", f"{', '.join(unset)}: a run fetches all but captions and wordnet")
    yield "cse-data list ARGUMENTS shows what a command reads and lacks; cse-data fetch ARGUMENTS fetches it."
    yield "paths.KEY=FOLDER or CSE_KEY=FOLDER names your own copy. cse-doctor --json shows where each copy is."
    yield "cse-train experiment=demo and smoke=true (synthetic data) need no hub and no folder of data."


def entry(name: str, text: str) -> str:
    """Return a name and, in a column beside the name, a text that is wrapped at the terminal's width."""
    return in_column(f"  {name:<16}  ", text, terminal_width())


def find_machine(cfg: DictConfig, hub: str) -> Iterator[tuple[str, Finding]]:
    """Yield the name and the finding of Python, processors, GPUs, disks, hub and W&B. hub: the text of `ask_hub`."""
    import torch
    from huggingface_hub import get_token
    from huggingface_hub.constants import HF_HUB_CACHE

    from cse.device import computes_bf16, count_gpus
    from cse.lab.tracking.wandb import has_key

    fits = (3, 11) <= sys.version_info[:2] < (3, 14)
    yield "python", ok_if(fits, f"{platform.python_version()} on {platform.platform()}")
    gpus = count_gpus()
    computes = ""
    if not gpus:
        computes = ", bf16" if computes_bf16() else ", no bf16: trains in fp32"
    yield "cpu", ok_if(True, f"cores: {os.cpu_count()}, threads of torch: {torch.get_num_threads()}{computes}")
    for index in range(gpus):
        gpu = torch.cuda.get_device_properties(index)
        with torch.cuda.device(index):
            precision = "bf16" if computes_bf16() else "no bf16: fp16 or fp32"
        yield f"gpu {index}", ok_if(True, f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, {precision}")
    if not gpus:
        yield "gpu", Finding("none", "none: everything runs on the CPU")
    for name, place in (("disk, runs", Path.cwd()), ("disk, cache", Path(cfg.paths.cache).absolute())):
        free = shutil.disk_usage(next(folder for folder in (place, *place.parents) if folder.exists())).free
        scarce = "" if free > SCARCE else ", too little for a run of BERT base"
        yield name, ok_if(not scarce, f"{free / 1e9:.0f} GB free in {place}{scarce}")
    token = "with" if get_token() else "no"
    yield "hub", ok_if(hub == "answers", f"{hub}; {token} token; cache {HF_HUB_CACHE}")
    key = has_key()
    yield "W&B", ok_if(key, "an API key" if key else "no API key, which tracker=wandb needs: `wandb login`")


def ok_if(good: bool, note: str) -> Finding:
    """Return a finding with the state "ok" or "missing"."""
    return Finding("ok" if good else "missing", note)


def find_packages() -> Iterator[tuple[str, Finding]]:
    """Yield each package that cse-lab needs, except developers' tools: its version, or the command to install it."""
    from importlib.metadata import metadata, requires

    from packaging.requirements import Requirement

    from cse.lab.run.commit import installed

    extras = [name for name in metadata("cse-lab").get_all("Provides-Extra") or [] if name not in FOR_DEVELOPERS]
    for requirement in map(Requirement, requires("cse-lab") or []):
        marker = requirement.marker
        brings = [extra for extra in extras if marker.evaluate({"extra": extra})] if marker else []
        if marker and not brings:
            continue
        wanted = f"-e '.[{brings[0]}]'" if brings else f"'{requirement}'"
        version = installed(requirement.name)
        if version is not None and requirement.specifier.contains(version, prereleases=True):
            yield requirement.name, ok_if(True, version)
        else:
            yield requirement.name, ok_if(False, f"{version or 'not here'}; pip install {wanted}")


def find_folders(cfg: DictConfig) -> Iterator[tuple[str, Finding]]:
    """Yield each key of `paths` with a finding: whether it is set, and whether its folder exists."""
    for key, place in cfg.paths.items():
        if place is None:
            yield str(key), Finding("none", f"paths.{key}=FOLDER or CSE_{str(key).upper()}")
        else:
            exists = key == "cache" or Path(place).exists()
            absent = f"{user_key(cfg, f'paths.{key}')}={place}: there is no such folder"
            yield str(key), ok_if(exists, place if exists else absent)


if __name__ == "__main__":
    main()
