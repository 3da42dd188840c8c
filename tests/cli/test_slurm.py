"""Tasks of srun become processes of one group. There is no SLURM here: its variables are set as it sets them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cse.cli import slurm

TASK = {"SLURM_JOB_ID": "4711", "SLURM_STEP_NUM_TASKS": "16", "SLURM_STEP_NODELIST": "gpu[03-04]",
        "SLURM_PROCID": "13", "SLURM_LOCALID": "5", "SLURM_NTASKS": "16"}  # fmt: skip
TORCH = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture
def environment(monkeypatch):
    """This process's own, as a plain dict: what `join` sets is gone with the test."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_") and name not in TORCH}
    monkeypatch.setattr(os, "environ", bare)
    return bare


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu1", "gpu1"),
        ("gpu[003-005,9]-ib,cpu1", "gpu003-ib"),
        ("a,b", "a"),
        ("n[7,9]", "n7"),
        ("10.0.0.3", "10.0.0.3"),
        ("rack-2-node[1-2]", "rack-2-node1"),
    ],
)
def test_first_host(nodes, first):
    assert slurm.first_host(nodes) == first


@pytest.mark.parametrize(("visible", "local"), [(8, "5"), (1, "0"), (0, "5")])
def test_a_task_joins(environment, monkeypatch, visible, local):
    monkeypatch.setattr("torch.cuda.device_count", lambda: visible)
    environment.update(TASK)
    slurm.join()
    assert [environment[name] for name in TORCH] == ["13", "16", local, "gpu03", "24711"]


@pytest.mark.parametrize(
    "task",
    [
        {},
        {name: value for name, value in TASK.items() if name != "SLURM_STEP_NUM_TASKS"},  # a batch script
        {**TASK, "SLURM_STEP_NUM_TASKS": "1"},
        {**TASK, "RANK": "3"},  # torchrun inside srun
    ],
)
def test_what_is_no_group_of_srun_stays_as_it_is(environment, task):
    environment.update(task)
    before = dict(environment)
    slurm.join()
    assert environment == before


@pytest.mark.slow
def test_two_tasks_are_one_process_and_leave_one_folder(small_run, cse_train, tmp_path):
    still = [*small_run, "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train(still) == 0
    unnamed = [argument for argument in still if not argument.startswith("hydra.run.dir=")]
    command = [Path(sys.executable).parent / "cse-train", *unnamed]
    job = str(os.getpid())  # its port
    tasks = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path, env={
            **os.environ, **TASK, "SLURM_JOB_ID": job, "SLURM_STEP_NUM_TASKS": "2",
            "SLURM_STEP_NODELIST": "localhost", "SLURM_PROCID": str(task), "SLURM_LOCALID": str(task)})
        for task in range(2)
    ]  # fmt: skip
    words = [task.communicate(timeout=300)[0] for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], words
    assert "step 6" in words[0]
    assert words[1] == ""
    (folder,) = (tmp_path / "outputs").glob("*/*")  # not one of each process

    def losses(folder: Path) -> list[float]:
        events = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
        return [event["train/loss"] for event in events if "train/loss" in event]

    np.testing.assert_allclose(losses(folder), losses(tmp_path / "run"), rtol=1e-5)
