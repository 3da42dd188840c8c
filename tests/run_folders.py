"""Folders of runs as cse-train leaves them, without the training."""

import json

import pytest
import yaml


def nest(flat):
    out = {}
    for key, value in flat.items():
        node = out
        *path, last = key.split(".")
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return out


@pytest.fixture
def leave(tmp_path):
    """leave(name, {dotted config key: value}, {metric: score}, status, choices) -> the run's folder. altered: the
    evaluator whose data was incomplete."""

    def make(name, config, metrics=None, status="done", choices=None, events=(), cosines=None, altered=None):
        folder = tmp_path / "runs" / name
        (folder / ".hydra").mkdir(parents=True)
        (folder / "plots").mkdir()
        tree = nest(config)
        (folder / ".hydra" / "overrides.yaml").write_text("[]")
        (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump(tree))
        hydra = {"hydra": {"runtime": {"choices": choices or {}}}}
        (folder / ".hydra" / "hydra.yaml").write_text(yaml.safe_dump(hydra))
        if status != "killed":
            results = {"status": status, "config": tree, "seed": config.get("seed"), "command": f"cse-train {name}",
                       "git_commit": "0123456789abcdef", "device": "cpu", "versions": {"torch": "2.11.0"},
                       "metrics": metrics or {}}  # fmt: skip
            if altered:
                results["data"] = {altered: {"problems": [{"problem": "12 of 1,500 rows"}]}}
            (folder / "results.json").write_text(json.dumps(results))
        lines = [json.dumps({"event": "metrics", "step": step, **event}) for step, event in enumerate(events)]
        (folder / "metrics.jsonl").write_text("\n".join(lines))
        if cosines:
            (folder / "plots" / "cosines_after.json").write_text(json.dumps(cosines))
        return folder

    return make
