"""Run cse-train as a user does, in this process or in a new process, and read the results from the run's folder."""

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Run:
    """A finished run.

    results: the content of results.json. events: the events "metrics" of metrics.jsonl. peak_bytes: torch's peak memory
    on the GPU; 0 on a CPU.
    """

    results: dict[str, Any]
    events: list[dict[str, Any]]
    peak_bytes: int

    def values(self, name: str) -> list[float]:
        return [event[name] for event in self.events if name in event]


def train(arguments: list[str], folder: Path) -> Run:
    """Run cse-train in this process, and remove its folder. Raises RuntimeError unless it ends with 0."""
    from cse.lab.commands.train import main

    before = sys.argv
    torch._dynamo.reset()  # else the graphs of an earlier run keep its memory
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    sys.argv = ["cse-train", *arguments, f"hydra.run.dir={folder}"]
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            main()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"cse-train ended with {ended.code}: {said.getvalue()[-1000:]}") from ended
    finally:
        sys.argv = before
    run = read(folder, torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0)
    shutil.rmtree(folder)
    return run


def train_apart(arguments: list[str], folder: Path) -> Run:
    """Run cse-train in a new process, because some settings last as long as the process. The run's folder remains."""
    command = [sys.executable, "-m", "cse.lab.commands.train", *arguments, f"hydra.run.dir={folder}"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment())
    if ended.returncode:
        raise RuntimeError(f"cse-train ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return read(folder, 0)


def environment() -> dict[str, str]:
    """Return the environment of a subprocess that imports this checkout, even if the checkout is not installed."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def read(folder: Path, peak_bytes: int) -> Run:
    """Read a finished run's folder."""
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    results = json.loads((folder / "results.json").read_text())
    return Run(results, [line for line in lines if line["event"] == "metrics"], peak_bytes)
