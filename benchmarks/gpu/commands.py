"""cse-train as a user runs it, in this process or in one of its own, and what its folder tells afterwards."""

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
    """results: of results.json. events: the lines of metrics.jsonl that hold metrics. peak_bytes: what torch held on
    the GPU at most, 0 on a CPU. fast_path: what the run said of it."""

    results: dict[str, Any]
    events: list[dict[str, Any]]
    peak_bytes: int
    fast_path: str

    def values(self, name: str) -> list[float]:
        return [event[name] for event in self.events if name in event]


def train(arguments: list[str], folder: Path) -> Run:
    """cse-train in this process. Raises RuntimeError where it does not end with 0. Leaves no folder."""
    from cse.cli.train import main

    before = sys.argv
    torch._dynamo.reset()  # graphs of the run before would hold its memory
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
    run = read(folder, said.getvalue(), torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0)
    shutil.rmtree(folder)
    return run


def train_apart(arguments: list[str], folder: Path) -> Run:
    """The same in a process of its own, for settings that a process keeps. Its folder stays."""
    command = [sys.executable, "-m", "cse.cli.train", *arguments, f"hydra.run.dir={folder}"]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    if ended.returncode:
        raise RuntimeError(f"cse-train ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return read(folder, ended.stdout, 0)


def read(folder: Path, said: str, peak_bytes: int) -> Run:
    """What a finished run's folder tells. said: all that it printed."""
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    results = json.loads((folder / "results.json").read_text())
    fast_path = next((line.removeprefix("fast path").strip() for line in said.splitlines() if "fast path" in line), "")
    return Run(results, [line for line in lines if line["event"] == "metrics"], peak_bytes, fast_path)
