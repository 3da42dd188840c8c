"""Several processes: spawned by cse-train itself, or joined under torchrun. The same run either way."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BIN = Path(sys.executable).parent


def losses(folder: Path) -> list[float]:
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [event["train/loss"] for event in events if "train/loss" in event]


def succeed(command: list) -> None:
    """Run a command; where it fails, its own words are the test's message."""
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
def test_two_processes_are_one(small_run, cse_train, tmp_path):
    """Without dropout (each process draws its own) two processes repeat one process's run."""
    still = [*small_run, "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train(still) == 0
    two = [*still, "trainer.devices=2", f"hydra.run.dir={tmp_path}/two"]
    succeed([BIN / "cse-train", *two])
    np.testing.assert_allclose(losses(tmp_path / "two"), losses(tmp_path / "run"), rtol=1e-5)
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("run", "two")]
    assert results[1]["status"] == "done"
    assert results[0]["best_step"] == results[1]["best_step"]
    for name, value in results[0]["metrics"].items():
        assert results[1]["metrics"][name] == pytest.approx(value, abs=0.05)

    joined = [*still, f"hydra.run.dir={tmp_path}/joined"]
    succeed([BIN / "torchrun", "--standalone", "--nproc-per-node=2", "-m", "cse.cli.train", *joined])
    np.testing.assert_allclose(losses(tmp_path / "joined"), losses(tmp_path / "two"), rtol=1e-6)


@pytest.mark.slow
def test_a_mistake_on_two_processes_is_one_sentence(small_run, tmp_path):
    bad = [*small_run, "trainer.devices=2", "trainer.batch_size=500"]
    ended = subprocess.run([BIN / "cse-train", *bad], capture_output=True, text=True)
    assert ended.returncode == 2
    assert "larger than the data" in ended.stderr.splitlines()[-1]
