"""The results of all parts as one Markdown section."""

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.check import FAILED, PASSED, SKIPPED
from benchmarks.results import commit, machine, table

CLOCKS = "clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw,power.limit"


def clocks() -> dict[str, str]:
    """The first GPU's current clocks, temperature and power, from nvidia-smi; empty without one."""
    try:
        ended = subprocess.run(["nvidia-smi", f"--query-gpu={CLOCKS}", "--format=csv,noheader"], capture_output=True,
                               text=True, timeout=30)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = ended.stdout.splitlines()
    return dict(zip(CLOCKS.split(","), lines[0].split(", "), strict=False)) if ended.returncode == 0 and lines else {}


def about() -> dict[str, Any]:
    """The machine, the libraries and the commit."""
    import transformers

    return {
        "machine": machine(), "python": platform.python_version(), "torch": torch.__version__,
        "transformers": transformers.__version__, "cuda": torch.version.cuda, "commit": commit() or "unknown",
    }  # fmt: skip


def collected(out: Path, parts: list[str]) -> list[dict[str, Any]]:
    """All rows written so far, in the order of `parts`."""
    files = [out / f"{part}.json" for part in parts]
    return [row for file in files if file.exists() for row in json.loads(file.read_text())]


def section(facts: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """A paragraph on the machine and a table for each part."""
    counts = {status: sum(row["status"] == status for row in rows) for status in (PASSED, FAILED, SKIPPED)}
    lines = [
        f"{facts['machine']}; Python {facts['python']}, CUDA {facts['cuda']}, commit {facts['commit']}. "
        f"{counts[PASSED]} checks passed, {counts[FAILED]} failed, {counts[SKIPPED]} were skipped.",
        f"Clocks before and after: {facts.get('clocks before')}, {facts.get('clocks after')}.",
    ]
    for part in dict.fromkeys(row["part"] for row in rows):
        cells = [[row["name"], row["status"], shown(row), f"{row['seconds']:g}"] for row in rows if row["part"] == part]
        lines += ["", f"### {part}", "", table(["check", "", "figures", "seconds in all"], cells)]
    return "\n".join(lines) + "\n"


def shown(row: dict[str, Any]) -> str:
    figures = {name: value for name, value in row["figures"].items() if name != "bounds"}
    text = ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value:,}"
                     for name, value in figures.items())  # fmt: skip
    bounds = ", ".join(f"{name} ≤ {most:g}" for name, most in row["figures"].get("bounds", {}).items())
    return "; ".join(
        filter(None, [text, bounds and f"allowed: {bounds}", row["why"].replace("|", "/").replace("\n", " ")])
    )
