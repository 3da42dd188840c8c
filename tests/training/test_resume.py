"""A run that is killed and resumed ends bit for bit like one that was not."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from toys import toy_of

CSE_TRAIN = str(Path(sys.executable).parent / "cse-train")
TIMES = ("time", "train/tokens_per_second", "train/aux/waiting_share")


def arguments(small_run: list[str], folder: Path, *more: str) -> list[str]:
    kept = [a for a in small_run if not a.startswith(("hydra.run.dir", "trainer.max_steps", "trainer.eval_every"))]
    return [CSE_TRAIN, *kept, "trainer.epochs=3", "trainer.eval_every=4", "trainer.save_every=2", "trainer.lr=1e-3",
            *more, f"hydra.run.dir={folder}"]  # fmt: skip


def logged(folder: Path) -> list[dict]:
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def kill_at(step: int, command: list[str], folder: Path) -> int:
    """Start the command, send SIGKILL once the run has logged `step`. Returns the last step that it logged."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and max((e["step"] for e in logged(folder)), default=-1) < step:
        time.sleep(0.001)
    assert process.poll() is None, process.stderr.read().decode()
    process.send_signal(signal.SIGKILL)
    process.wait()
    return max(event["step"] for event in logged(folder))


def assert_same_run(one: Path, two: Path) -> None:
    tensors = load_file(one / "last/state.safetensors"), load_file(two / "last/state.safetensors")
    assert tensors[0].keys() == tensors[1].keys()
    for name, tensor in tensors[0].items():
        assert torch.equal(tensor, tensors[1][name]), name
    assert (one / "best/model.safetensors").read_bytes() == (two / "best/model.safetensors").read_bytes()
    events = [
        [{key: value for key, value in event.items() if key not in TIMES} for event in logged(folder)
         if event["event"] == "metrics"]
        for folder in (one, two)
    ]  # fmt: skip
    assert events[0] == events[1]
    results = [json.loads((folder / "results.json").read_text()) for folder in (one, two)]
    for key in ("status", "metrics", "best_step", "steps"):
        assert results[0][key] == results[1][key]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["simcse", "barlow"])
def test_killed_four_times_ends_the_same(small_run, tmp_path, objective):
    """75 steps, checkpoints every 2, killed in four places and each time resumed."""
    extra = [f"objective={objective}", *toy_of("objective", objective, 32)]
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    subprocess.run(arguments(small_run, straight, *extra), check=True, capture_output=True)
    command = arguments(small_run, killed, *extra, "resume=auto")
    stops = [kill_at(step, command, killed) for step in (1, 9, 26, 53)]
    assert stops == sorted(stops)
    assert stops[-1] < 75
    subprocess.run([CSE_TRAIN, f"resume={killed}"], check=True, capture_output=True)
    assert_same_run(straight, killed)


def test_resumed_after_a_pause_ends_the_same(small_run, tmp_path, cse_train):
    """Stopped by max_steps and resumed with more: the schedule has its full length throughout."""
    folders = [tmp_path / "straight", tmp_path / "paused"]
    common = [a for a in small_run if not a.startswith(("hydra.run.dir", "trainer.max_steps"))]
    common += ["trainer.lr=1e-3", "trainer.eval_every=3"]
    assert cse_train([*common, f"hydra.run.dir={folders[0]}", "trainer.max_steps=12"]) == 0
    assert cse_train([*common, f"hydra.run.dir={folders[1]}", "trainer.max_steps=6"]) == 0
    assert cse_train([*common, f"hydra.run.dir={folders[1]}", "trainer.max_steps=12", "resume=auto"]) == 0
    assert_same_run(*folders)
