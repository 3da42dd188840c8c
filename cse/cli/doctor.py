"""cse-doctor: what this machine has, and what every choice of every config group would need of it."""

import json
import os
import platform
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from cse.cli import exits, streams
from cse.cli.choices import Diagnosis, choices, composed, paths
from cse.config.groups import adopted
from cse.config.spelling import strip_dashes
from cse.errors import UserError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

FOR_DEVELOPERS = ("dev", "docs")
SCARCE = 5e9  # bytes: one run of BERT base keeps 2.2 GB (best/ and last/), and for a moment the new ones beside the old


def main() -> None:
    """The console script. Exit codes: 0 whatever was found, 2 the user's mistake."""
    streams.tolerate_broken_pipe()
    with exits.exit_on_user_error():
        sys.argv[1:] = adopted(strip_dashes(sys.argv[1:]))
    arguments = sys.argv[1:]
    if any(argument in ("-h", "--help") for argument in arguments):
        from cse.cli.help import DOCTOR

        print(DOCTOR)
        return
    overrides = [argument for argument in arguments if argument != "--json"]
    with exits.exit_on_user_error():
        for argument in overrides:
            if not (argument.startswith("paths.") and "=" in argument):
                raise UserError(f"{argument} is neither paths.KEY=FOLDER nor --json")
        findings = examine(overrides)
    show_json(findings) if "--json" in arguments else show(findings)


def examine(overrides: list[str]) -> list[Diagnosis]:
    """Everything. Asks the network for seconds only, downloads nothing."""
    from cse.run import startup

    online = startup.settle_hub()
    startup.quiet()
    cfg = composed(overrides)
    of_choices = choices(cfg, online)
    return [*machine(cfg, online), *packages(), *paths(cfg, of_choices), *of_choices]


def machine(cfg: DictConfig, online: bool) -> list[Diagnosis]:
    """Python, processors, disks, hub and W&B. online: whether the hub answers."""
    import torch
    from huggingface_hub import get_token
    from huggingface_hub.constants import HF_HUB_CACHE

    from cse.tracking.wandb import has_key

    def of(name: str, good: bool, note: str) -> Diagnosis:
        return Diagnosis("machine", name, "ok" if good else "missing", note)

    key = has_key()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        of("python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.platform()}"),
        of("cpu", True, f"{cores} cores, {torch.get_num_threads()} threads for torch"),
        *gpus(),
        *(disk(name, Path(place)) for name, place in (("disk, runs", "."), ("disk, cache", cfg.paths.cache))),
        of(
            "hub",
            online,
            f"{'answers' if online else 'does not answer'}; {'with' if get_token() else 'no'} token; "
            f"cache {HF_HUB_CACHE} ({num_cached(Path(HF_HUB_CACHE))} models and data sets)",
        ),
        of("W&B", key, "a key" if key else "no API key: `wandb login` stores one"),
    ]


def gpus() -> list[Diagnosis]:
    """One diagnosis for each GPU; without a GPU, one that says so."""
    import torch

    findings = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        with torch.cuda.device(index):
            precision = "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "no bf16: fp16 or fp32"
        note = f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, {precision}"
        findings.append(Diagnosis("machine", f"gpu {index}", "ok", note))
    return findings or [Diagnosis("machine", "gpu", "none", "everything runs on the CPU, in fp32")]


def disk(name: str, place: Path) -> Diagnosis:
    """What is free on the disk of `place`, which need not exist yet."""
    folder = next(folder for folder in (place.resolve(), *place.resolve().parents) if folder.exists())
    free = shutil.disk_usage(folder).free
    return Diagnosis("machine", name, "ok" if free > SCARCE else "missing", f"{free / 1e9:.0f} GB free in {place}")


def num_cached(cache: Path) -> int:
    """Models and data sets in the hub's cache."""
    return sum(1 for kind in ("models", "datasets") for _ in cache.glob(f"{kind}--*"))


def packages() -> list[Diagnosis]:
    """Every requirement of cse-lab, with the extra that brings it; those for developers are left out."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    return [
        package(requirement, extras)
        for requirement in map(Requirement, requires("cse-lab") or [])
        if (extras := extras_of(requirement)) or not requirement.marker
    ]


def extras_of(requirement: "Requirement") -> list[str]:
    """The extras of cse-lab that bring it, of those that a user may want."""
    if not requirement.marker:
        return []
    from importlib.metadata import metadata

    extras = metadata("cse-lab").get_all("Provides-Extra") or []
    return [one for one in extras if one not in FOR_DEVELOPERS and requirement.marker.evaluate({"extra": one})]


def package(requirement: "Requirement", extras: list[str]) -> Diagnosis:
    """The installed version, and how to install one that fits where it does not."""
    from cse.record.results import installed

    name, version = requirement.name, installed(requirement.name)
    advice = f"pip install -e '.[{extras[0]}]'" if extras else f"pip install '{requirement}'"
    brought = f" (extra {', '.join(extras)})" if extras else ""
    if version is not None and requirement.specifier.contains(version, prereleases=True):
        return Diagnosis("packages", name, "ok", version + brought)
    return Diagnosis("packages", name, "missing", f"{version or 'not installed'}; {advice}")


def show_json(findings: list[Diagnosis]) -> None:
    """Print {group: {name: {state, note}}}."""
    groups: dict[str, dict[str, dict[str, str]]] = {}
    for finding in findings:
        fields = asdict(finding)
        groups.setdefault(fields.pop("group"), {})[fields.pop("name")] = fields
    print(json.dumps(groups, indent=2))


def show(findings: list[Diagnosis]) -> None:
    """Print a table for each group."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"ok": "green", "hub": "yellow", "none": "dim", "missing": "red"}
    console = Console()
    for group in dict.fromkeys(finding.group for finding in findings):
        table = Table(
            box=None, show_header=False, title=group, title_style="bold", title_justify="left", padding=(0, 1)
        )
        table.add_column(no_wrap=True, min_width=14)
        table.add_column(no_wrap=True, min_width=7)
        table.add_column(overflow="fold")
        for finding in findings:
            if finding.group == group:
                table.add_row(finding.name, Text(finding.state, colours[finding.state]), Text(finding.note))
        console.print(table)
    console.print(Text("ok: works here; hub: downloaded when first used; missing: the line says what to do", "dim"))


if __name__ == "__main__":
    main()
