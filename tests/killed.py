"""The command of a run that is stopped or killed and resumed, and its comparison with an undisturbed run."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from run_folders import logged, results_of
from safetensors.torch import load_file

from cse.training import checkpoint

CSE_TRAIN = str(Path(sys.executable).parent / "cse-train")
TIMES = ("time", "train/tokens_per_second", "train/seconds_per_step", "train/aux/waiting_share")


def arguments(small_run: list[str], folder: Path, *more: str) -> list[str]:
    """Return the command of a run of three epochs, or 75 steps, with a checkpoint every second step."""
    changed = ("hydra.run.dir", "trainer.max_steps", "trainer.eval_every")
    same = [argument for argument in small_run if not argument.startswith(changed)]
    longer = ["trainer.epochs=3", "trainer.eval_every=4", "trainer.save_every=2", "trainer.lr=1e-3"]
    return [CSE_TRAIN, *same, *longer, *more, f"hydra.run.dir={folder}"]


def wait_until(condition: Callable[[], object]) -> None:
    """Poll a condition for at most ten minutes."""
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def train_to(cse_train: Callable[[list[str]], int], line: list[str], folder: Path, *stops: int) -> Path:
    """Train up to the first of these steps, and resume the run up to each further step. Return the folder."""
    for steps in stops:
        assert cse_train([*line, f"hydra.run.dir={folder}", f"trainer.max_steps={steps}", "resume=auto"]) == 0
    return folder


def assert_same_tensors(one: Path, two: Path, file: str = "last/state.safetensors") -> dict[str, torch.Tensor]:
    """Compare a file of two runs, bit for bit. Returns its tensors."""
    here, there = load_file(one / file), load_file(two / file)
    assert here.keys() == there.keys() != set()
    assert [name for name in here if not torch.equal(here[name], there[name])] == []
    return here


def assert_same_run(one: Path, two: Path) -> None:
    """Compare the checkpoint, the export, every logged number and the results of two runs, bit for bit."""
    assert_same_tensors(one, two)
    # counters, watch, random states
    abouts = [checkpoint.read_last(folder)[1] | {"seconds": 0.0} for folder in (one, two)]
    assert abouts[0] == abouts[1]
    assert (one / "best/model.safetensors").read_bytes() == (two / "best/model.safetensors").read_bytes()
    events = [
        [
            {key: value for key, value in event.items() if key not in TIMES}
            for event in logged(folder)
            if event["event"] == "metrics"
        ]
        for folder in (one, two)
    ]
    assert events[0] == events[1]
    results = [results_of(folder) for folder in (one, two)]
    for key in ("status", "metrics", "best_step", "steps"):
        assert results[0][key] == results[1][key]
