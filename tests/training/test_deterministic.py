"""trainer.deterministic=true: two runs on one machine end bit for bit alike, whatever makes their batches."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

CSE_TRAIN = str(Path(sys.executable).parent / "cse-train")
CLOCK = ("time", "train/tokens_per_second", "train/aux/waiting_share")


def trained(small_run: list[str], folder: Path, *more: str) -> Path:
    """A run in a process of its own: the setting is the whole process's."""
    command = [CSE_TRAIN, *small_run, "trainer.deterministic=true", "trainer.lr=1e-3", *more, f"hydra.run.dir={folder}"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    """The exported encoder, and the last step's weights, moments and random states."""
    files = ("best/model.safetensors", "last/state.safetensors")
    return {f"{file} {name}": tensor for file in files for name, tensor in load_file(folder / file).items()}


def metrics(folder: Path) -> list[dict]:
    events = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [{key: value for key, value in event.items() if key not in CLOCK} for event in events
            if event["event"] == "metrics"]  # fmt: skip


@pytest.mark.nightly
def test_two_runs_are_one(small_run, tmp_path):
    one = trained(small_run, tmp_path / "one")
    weights, scores = tensors(one), json.loads((one / "results.json").read_text())["metrics"]
    assert len(metrics(one)) > 6
    for again in (trained(small_run, tmp_path / "two"), trained(small_run, tmp_path / "ahead", "trainer.workers=2")):
        others = tensors(again)
        assert weights.keys() == others.keys()
        assert [name for name in weights if not torch.equal(weights[name], others[name])] == []
        assert metrics(one) == metrics(again)
        assert scores == json.loads((again / "results.json").read_text())["metrics"]
    assert metrics(one) != metrics(trained(small_run, tmp_path / "other", "seed=43")), "these runs have nothing random"
