"""cse-doctor: what this machine has, and what every choice of every config group would need of it."""

import json
import os
import platform
import shutil
import sys
from pathlib import Path

from omegaconf import DictConfig

from cse.cli.choices import Finding, choices, composed, paths
from cse.cli.exits import exit_on_error
from cse.cli.help import DOCTOR
from cse.columns import printable
from cse.config.groups import adopted
from cse.config.spelling import spell, strip_dashes
from cse.errors import UserError
from cse.record.results import installed
from cse.run import startup

FOR_DEVELOPERS = ("dev", "docs")
SCARCE = 5e9  # bytes: one run of BERT base keeps 2.2 GB (best/ and last/), and for a moment the new ones beside the old


def main() -> None:
    """The console script. Exit codes: 0 whatever was found, 2 the user's mistake."""
    with exit_on_error():
        arguments = adopted(strip_dashes(sys.argv[1:]))
        if {"-h", "--help"} & set(arguments):
            print(DOCTOR)
            return
        overrides = [argument for argument in arguments if argument != "--json"]
        for argument in overrides:
            if not (argument.startswith("paths.") and "=" in argument):
                raise UserError(f"{argument} is neither paths.KEY=FOLDER nor --json")
        findings = examine(overrides)
    show_json(findings) if "--json" in arguments else show(findings)


def examine(overrides: list[str]) -> list[Finding]:
    """Everything. Asks the network for seconds only, downloads nothing."""
    online = startup.settle_hub()
    startup.quiet()
    cfg = composed(spell(overrides, "train"))
    return [*machine(cfg, online), *packages(), *paths(cfg), *choices(cfg, online)]


def machine(cfg: DictConfig, online: bool) -> list[Finding]:
    """Python, processors, disks, hub and W&B. online: whether the hub answers."""
    import torch
    from huggingface_hub import get_token
    from huggingface_hub.constants import HF_HUB_CACHE

    from cse.tracking.wandb import has_key

    def of(name: str, good: bool, note: str) -> Finding:
        return Finding("machine", name, "ok" if good else "missing", note)

    key = has_key()
    answers = f"{'answers' if online else 'does not answer'}; {'with' if get_token() else 'no'} token"
    return [
        of(
            "python", (3, 11) <= sys.version_info[:2] < (3, 14), f"{platform.python_version()} on {platform.platform()}"
        ),
        of("cpu", True, f"{os.cpu_count()} cores, {torch.get_num_threads()} threads for torch"),
        *gpus(),
        *(disk(name, Path(place)) for name, place in (("disk, runs", "."), ("disk, cache", cfg.paths.cache))),
        of("hub", online, f"{answers}; cache {HF_HUB_CACHE}"),
        of("W&B", key, "a key" if key else "no API key: `wandb login` stores one"),
    ]


def gpus() -> list[Finding]:
    """A finding for each GPU; without a GPU, one that says so."""
    import torch

    from cse.device import computes_bf16, count_gpus

    findings = []
    for index in range(count_gpus()):
        properties = torch.cuda.get_device_properties(index)
        with torch.cuda.device(index):
            precision = "bf16" if computes_bf16() else "no bf16: fp16 or fp32"
        note = f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, {precision}"
        findings.append(Finding("machine", f"gpu {index}", "ok", note))
    return findings or [Finding("machine", "gpu", "none", "everything runs on the CPU, in fp32")]


def disk(name: str, place: Path) -> Finding:
    """What is free on the disk of `place`, which need not exist yet."""
    folder = next(folder for folder in (place.resolve(), *place.resolve().parents) if folder.exists())
    free = shutil.disk_usage(folder).free
    return Finding("machine", name, "ok" if free > SCARCE else "missing", f"{free / 1e9:.0f} GB free in {place}")


def packages() -> list[Finding]:
    """Every requirement of cse-lab but those for developers: its version, or how to install one that fits."""
    from importlib.metadata import metadata, requires

    from packaging.requirements import Requirement

    extras = [one for one in metadata("cse-lab").get_all("Provides-Extra") or [] if one not in FOR_DEVELOPERS]
    findings = []
    for required in map(Requirement, requires("cse-lab") or []):
        brings = [extra for extra in extras if required.marker and required.marker.evaluate({"extra": extra})]
        if required.marker and not brings:
            continue
        version = installed(required.name)
        if version is not None and required.specifier.contains(version, prereleases=True):
            note = version + (f" (extra {', '.join(brings)})" if brings else "")
            findings.append(Finding("packages", required.name, "ok", note))
        else:
            advice = f"pip install -e '.[{brings[0]}]'" if brings else f"pip install '{required}'"
            findings.append(Finding("packages", required.name, "missing", f"{version or 'not installed'}; {advice}"))
    return findings


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
                print(printable(f"  {one.name:<20}  {one.state:<7}  {one.note}"))
    print("ok: works here; hub: downloaded when first used; missing: the line says what to do")


if __name__ == "__main__":
    main()
