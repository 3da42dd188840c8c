"""trainer.deterministic=true: two runs on one machine have the same bits, with or without data workers."""

import subprocess
from pathlib import Path

import pytest
from killed import CSE_TRAIN, assert_same_run, logged


def trained(small_run: list[str], folder: Path, *more: str) -> Path:
    """A run in its own process, since the setting is process-wide."""
    command = [CSE_TRAIN, *small_run, "trainer.deterministic=true", "trainer.lr=1e-3", *more, f"hydra.run.dir={folder}"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.mark.nightly
def test_two_runs_have_the_same_bits(small_run, tmp_path):
    one = trained(small_run, tmp_path / "one")
    assert_same_run(one, trained(small_run, tmp_path / "two"))
    assert_same_run(one, trained(small_run, tmp_path / "ahead", "trainer.workers=2"))
    other = trained(small_run, tmp_path / "other", "seed=43")
    losses = [[event.get("train/loss") for event in logged(folder)] for folder in (one, other)]
    assert losses[0] != losses[1], "nothing in these runs is random"
