"""Folders of runs as cse-train leaves them, without the training, and the same read back."""

import json
import shlex

import pytest
import yaml
from omegaconf import OmegaConf

from cse.lab.folder.runs import read_runs
from cse.lab.report.chosen import with_origin
from cse.lab.report.comparison import compare_runs

LOWER = ("alignment", "uniformity", "median_rank", "loss")  # names of scores that are better when lower


@pytest.fixture
def leave(tmp_path):
    """leave(name, {dotted config key: value}, {metric: score}) -> the folder of a run, tmp_path/runs/NAME.

    altered: the evaluator with incomplete data (in a split: "dev/stsb"); overrides: its command line, by default its
    whole config; more: keys of results.json.
    """

    def make(name, config, metrics=None, status="done", choices=None, events=(), cosines=None, altered=None,
             overrides=None, **more):  # fmt: skip
        folder = tmp_path / "runs" / name
        (folder / "plots").mkdir(parents=True)
        tree = OmegaConf.create()
        for key, value in config.items():
            OmegaConf.update(tree, key, value)
        tree = OmegaConf.to_container(tree)
        overrides = [f"{key}={value}" for key, value in config.items()] if overrides is None else overrides
        told = tree | ({"choices": choices} if choices else {})
        words = shlex.join(["cse-train", *overrides])
        (folder / "run.yaml").write_text(yaml.safe_dump({"words": list(overrides), "config": told}))
        if status != "killed":
            results = {"status": status, "config": told, "seed": config.get("seed"), "command": words,
                       "git_commit": "0123456789abcdef", "device": "cpu", "versions": {"torch": "2.11.0"},
                       "metrics": metrics or {}}  # fmt: skip
            results["scores"] = {name: {"lower_is_better": name.rpartition("/")[2] in LOWER,
                                        "altered": bool(altered) and f"{altered}/" in name, "unit": "points"}
                                 for name in metrics or {}}  # fmt: skip
            if altered:
                results["data"] = {altered.rpartition("/")[2]: {"problems": ["12 of 1,500 rows"]}}
            (folder / "results.json").write_text(json.dumps(results | more))
        lines = [json.dumps({"event": "metrics", "step": step, **event}) for step, event in enumerate(events)]
        (folder / "metrics.jsonl").write_text("\n".join(lines))
        if cosines:
            (folder / "plots" / "cosines_after.json").write_text(json.dumps(cosines))
        return folder

    return make


@pytest.fixture
def runs(tmp_path):
    """runs() -> all that was left so far."""
    return lambda: read_runs([tmp_path / "runs"])


@pytest.fixture
def compared(tmp_path):
    """compared(*folders, metrics=[...]) -> the comparison of the runs in them, or of all that was left so far."""

    def make(*folders, metrics=()):
        folders = folders or [tmp_path / "runs"]
        runs = with_origin(read_runs(folders), {str(folder): [folder] for folder in folders})
        return compare_runs(runs, folders, metrics, "seed")

    return make
