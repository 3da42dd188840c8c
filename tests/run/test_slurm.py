"""Tasks of srun become processes of one group: its variables are set here as SLURM sets them."""

import os

import pytest

from cse.run import slurm

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
