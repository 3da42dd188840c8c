"""Folders of runs: left as cse-train leaves them, without the training, and read back."""

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

LOWER = ("alignment", "uniformity", "median_rank", "loss")  # names of scores that are better when lower


def leave_run(folder: Path, config: Mapping, metrics: Mapping[str, float | None] | None = None, status: str = "done",
              choices: Mapping | None = None, events: Sequence[Mapping] = (), cosines: Mapping | None = None,
              modified: str | None = None, overrides: Sequence[str] | None = None, **more: object) -> Path:  # fmt: skip
    """Leave a run of these settings (dotted keys or nested) and scores in the folder, which is returned.

    status: one that was "killed" has no results.json. modified: the evaluator with incomplete data (in a split:
    "dev/stsb"). overrides: its command line, by default its whole config. more: keys of results.json.
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
    """Leave the heartbeat of a process of this host, whose last beat was `age` seconds ago. Returns its file."""
    file = folder / heartbeat.NAME
    file.write_text(json.dumps({"host": host, "pid": pid, "since": since}))
    os.utime(file, (time.time() - age,) * 2)
    return file


def results_of(folder: Path) -> dict:
    """The content of a run's results.json."""
    return json.loads((folder / "results.json").read_text())


def logged(folder: Path) -> list[dict]:
    """The events of a run's metrics.jsonl, without a last line that was cut off."""
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def logged_of(folder: Path, name: str = "train/loss") -> list[tuple[int, float]]:
    """(step, value) of each event with this name that a run logged."""
    return [(event["step"], event[name]) for event in logged(folder) if name in event]


@pytest.fixture
def leave(tmp_path):
    """leave(name, {dotted config key: value}, {metric: score}, ...) -> tmp_path/runs/NAME; see leave_run."""
    return lambda name, *arguments, **more: leave_run(tmp_path / "runs" / name, *arguments, **more)


@pytest.fixture
def runs(tmp_path):
    """runs() -> all that was left so far."""
    return lambda: read_runs([tmp_path / "runs"])


@pytest.fixture
def compared(tmp_path):
    """compared(*folders, metrics=[...], seed=KEY) -> the comparison of the runs in them, or of all that was left."""

    def make(*folders, metrics=(), seed="seed"):
        folders = folders or [tmp_path / "runs"]
        runs = with_origin(read_runs(folders), {str(folder): [folder] for folder in folders})
        return compare_runs(runs, folders, metrics, seed)

    return make
