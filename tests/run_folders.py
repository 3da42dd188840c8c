"""Folders of synthetic runs, with the files that cse-train writes; and functions that read the files."""

import json
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from cse.lab.folder import heartbeat
from cse.lab.folder.runs import read_runs
from cse.lab.report.any_runs.comparison import compare_runs
from cse.lab.report.any_runs.which_runs import with_origin

LOWER = ("alignment", "uniformity", "median_rank", "loss")  # the metrics whose lower values are better


def leave_run(folder: Path, config: Mapping, metrics: Mapping[str, float | None] | None = None, status: str = "done",
              choices: Mapping | None = None, events: Sequence[Mapping] = (), cosines: Mapping | None = None,
              modified: str | None = None, overrides: Sequence[str] | None = None, **more: object) -> Path:  # fmt: skip
    """Write the files of a run with these settings (by dotted key, or nested) and scores. Return the folder.

    status: the status in results.json; "killed": without results.json. modified: the evaluator with incomplete data;
    for one split "dev/stsb". overrides: the run's arguments; by default its whole config. more: keys of results.json.
    """
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    tree = OmegaConf.create()
    for key, value in config.items():
        OmegaConf.update(tree, key, value)
    told = OmegaConf.to_container(tree) | ({"choices": choices} if choices else {})
    words = [f"{key}={value}" for key, value in config.items()] if overrides is None else list(overrides)
    (folder / "run.yaml").write_text(yaml.safe_dump({"words": words, "config": told}))
    if status != "killed":
        results = {"status": status, "config": told, "seed": config.get("seed"),
                   "command": shlex.join(["cse-train", *words]), "git_commit": "0123456789abcdef", "device": "cpu",
                   "versions": {"torch": "2.11.0"}, "metrics": metrics or {}}  # fmt: skip
        results["scores"] = {name: {"lower_is_better": name.rpartition("/")[2] in LOWER,
                                    "modified": bool(modified) and f"{modified}/" in name, "unit": "points"}
                             for name in metrics or {}}  # fmt: skip
        if modified:
            results["data"] = {modified.rpartition("/")[2]: {"problems": ["12 of 1,500 rows"]}}
        (folder / "results.json").write_text(json.dumps(results | more))
    lines = [json.dumps({"event": "metrics", "step": step, **event}) for step, event in enumerate(events)]
    (folder / "metrics.jsonl").write_text("\n".join(lines))
    if cosines:
        (folder / "plots" / "cosines_after.json").write_text(json.dumps(cosines))
    return folder


def change_results(folder: Path, **changes: object) -> None:
    """Merge the changes into a run's results.json."""
    (folder / "results.json").write_text(json.dumps(results_of(folder) | changes))


def leave_heartbeat(folder: Path, pid: int = 7, host: str = "elsewhere", since: float = 0.0, age: float = 0.0) -> Path:
    """Write the heartbeat of a process, whose last beat was `age` seconds ago. Return the file.

    host: the process's machine, by default not this machine.
    """
    file = folder / heartbeat.NAME
    file.write_text(json.dumps({"host": host, "pid": pid, "since": since}))
    os.utime(file, (time.time() - age,) * 2)
    return file


def results_of(folder: Path) -> dict:
    """The content of a run's results.json."""
    return json.loads((folder / "results.json").read_text())


def logged(folder: Path) -> list[dict]:
    """Return the events of a run's metrics.jsonl, without an incomplete last line."""
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def logged_of(folder: Path, name: str = "train/loss") -> list[tuple[int, float]]:
    """Return (step, value) of each event of a run that has a metric of this name."""
    return [(event["step"], event[name]) for event in logged(folder) if name in event]


@pytest.fixture
def leave(tmp_path):
    """leave(name, {dotted key: value}, {metric: score}, ...) writes a run in tmp_path/runs/NAME; see leave_run."""
    return lambda name, *arguments, **more: leave_run(tmp_path / "runs" / name, *arguments, **more)


@pytest.fixture
def runs(tmp_path):
    """runs() -> all runs that `leave` has written so far."""
    return lambda: read_runs([tmp_path / "runs"])


@pytest.fixture
def compared(tmp_path):
    """compared(*folders, metrics=[...], seed=KEY) -> the comparison of the runs in these folders; without folders, of
    all runs of `leave`.
    """

    def make(*folders, metrics=(), seed="seed"):
        folders = folders or [tmp_path / "runs"]
        runs = with_origin(read_runs(folders), {str(folder): [folder] for folder in folders})
        return compare_runs(runs, folders, metrics, seed)

    return make
