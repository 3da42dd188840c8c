"""Sweeps of jobs that train nothing: a program of a few lines writes results.json into each job's folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typed import command_typed

from cse.lab.settings.mistakes import explaining
from cse.lab.sweep import engine, process, show
from cse.lab.sweep.outcomes import Start

FAKE = """
import json, os, signal, sys
folder, mood = sys.argv[1:]
open(os.path.join(folder, "starts"), "a").write(os.environ.get("CUDA_VISIBLE_DEVICES", "-"))
what, _, name = mood.partition(" ")
if name and os.path.basename(folder).startswith(name):
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "wait":
        signal.signal(signal.SIGUSR1, lambda *_: sys.exit(138))
        open(os.path.join(folder, "waits"), "w")
        signal.pause()
    sys.exit(None if what == "skip" else "cse-train: told to fail")
results = {"status": "done", "config": {}, "metrics": {"average": 70.0}}
json.dump(results, open(os.path.join(folder, "results.json"), "w"))
"""

Many = Callable[..., tuple[int, dict[str, str]]]


@pytest.fixture
def own_sweep(tmp_path, monkeypatch) -> str:
    """The name of a sweep of the user's own with two cases, of which one scores the run of the other."""
    file = tmp_path / "own" / "sweep" / "mine" / "one.yaml"
    file.parent.mkdir(parents=True)
    cases = "{scored: {program: cse-eval, of: mine/one/trained, set: ['eval=[stsb]']}, trained: [model=minilm]}"
    file.write_text(f"# @package _global_\ncases: {cases}\n")
    monkeypatch.setenv("CSE_CONF", str(tmp_path / "own"))
    return "mine/one"


@pytest.fixture
def many(tmp_path, monkeypatch) -> Many:
    """A function that starts the jobs of a line in tmp_path and returns the exit code and each job's state by name.

    mood: "fail NAME", "kill NAME", "wait NAME" or "skip NAME" (exit with 0 but without results), for the jobs whose
    folders' names begin with NAME.
    """
    starts = []
    monkeypatch.setattr(show, "hub_answers", lambda: True)  # or the missing data of the jobs would be refused

    class Kept(Start):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            starts.append(self)

    def run(line: str, mood: str = "", program: str = "cse-train") -> tuple[int, dict[str, str]]:
        def command(job, folder: Path) -> list[str]:
            run.jobs.append(job)
            return [sys.executable, "-IS", "-c", FAKE, str(folder), mood]

        monkeypatch.setattr(process, "command_of", command)
        with explaining(line.split(), "train"):
            code = engine.run_sweep(command_typed(line.split(), program))
        outcomes = sorted(starts[-1].outcomes.items())
        return code, {name.rpartition("-")[0]: outcome.state for name, outcome in outcomes}

    run.jobs = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cse-train", "THE", "LINE"])
    monkeypatch.setattr(engine, "Start", Kept)
    monkeypatch.setattr(process, "differences", lambda job, results: [])
    return run
