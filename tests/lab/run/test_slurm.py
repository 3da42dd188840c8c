"""Tasks of srun become the processes of one run. The variables are set here as SLURM sets them."""

import os
import signal
import subprocess
import sys

import pytest

from cse.lab.run import slurm

TASK = {"SLURM_JOB_ID": "4711", "SLURM_STEP_NUM_TASKS": "16", "SLURM_STEP_NODELIST": "gpu[03-04]",
        "SLURM_PROCID": "13", "SLURM_LOCALID": "5", "SLURM_NTASKS": "16"}  # fmt: skip
TORCH = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture
def environment(monkeypatch):
    """A plain dict in place of os.environ, so that what `join` sets is gone after the test."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_") and name not in TORCH}
    monkeypatch.setattr(os, "environ", bare)
    return bare


@pytest.mark.parametrize(("nodes", "first"), [
    ("gpu1", "gpu1"), ("gpu[003-005,9]-ib,cpu1", "gpu003-ib"), ("a,b", "a"), ("n[7,9]", "n7"), ("10.0.0.3", "10.0.0.3"),
    ("rack-2-node[1-2]", "rack-2-node1"),
])  # fmt: skip
def test_first_host(nodes, first):
    assert slurm.first_host(nodes) == first


@pytest.mark.parametrize(("visible", "local"), [(8, "5"), (1, "0"), (0, "5")])
def test_a_task_of_srun_gets_its_rank_and_address(environment, monkeypatch, visible, local):
    monkeypatch.setattr("torch.cuda.device_count", lambda: visible)
    environment.update(TASK)
    slurm.join()
    assert [environment[name] for name in TORCH] == ["13", "16", local, "gpu03", "24711"]
    environment.pop("RANK")
    environment.pop("MASTER_PORT")
    environment["SLURM_JOB_ID"] = "987654321"
    slurm.join()
    assert int(environment["MASTER_PORT"]) < 32768  # from there on Linux gives them to whoever asks for any


@pytest.mark.parametrize("task", [{}, {**TASK, "SLURM_STEP_NUM_TASKS": "1"}, {**TASK, "RANK": "3"}])
def test_a_single_task_and_a_rank_of_torchrun_are_left_alone(environment, task):
    environment.update(task)
    before = dict(environment)
    slurm.join()
    assert environment == before


@pytest.fixture
def scontrol(tmp_path, environment, monkeypatch):
    """Takes what `scontrol show job` is to say of job 4711; writes the jobs that are requeued to tmp_path/requeued."""

    def answers(about: str) -> None:
        script = tmp_path / "scontrol"
        script.write_text(f'#!/bin/sh\nif [ $1 = show ]; then echo "{about}"; else echo $2 >>{tmp_path}/requeued; fi\n')
        script.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    environment.update(SLURM_JOB_ID="4711", PATH=os.environ["PATH"])
    before = signal.getsignal(signal.SIGTERM)
    yield answers
    signal.signal(signal.SIGTERM, before)


RUNNING = "JobId=4711 JobState=RUNNING Requeue=1 BatchFlag=1 PreemptEligibleTime=2026-01-01T00:00:00 PreemptTime=None"
TIMEOUT = RUNNING.replace("RUNNING", "COMPLETING Reason=TimeLimit")
PREEMPTED = RUNNING.replace("PreemptTime=None", "PreemptTime=2026-01-01T00:00:00")


@pytest.mark.parametrize(
    ("number", "about", "wanted"),
    [
        (signal.SIGUSR1, RUNNING, True),
        (signal.SIGUSR2, RUNNING, True),
        (signal.SIGTERM, PREEMPTED, True),
        (signal.SIGTERM, RUNNING, False),  # scancel
        (signal.SIGINT, PREEMPTED, False),
        (signal.SIGTERM, TIMEOUT, True),
        (signal.SIGTERM, TIMEOUT.replace("Requeue=1", "Requeue=0"), False),
        (signal.SIGUSR1, RUNNING.replace("Requeue=1", "Requeue=0"), False),
        (signal.SIGUSR1, RUNNING.replace("BatchFlag=1", "BatchFlag=0"), False),  # srun alone
        (signal.SIGTERM, RUNNING.replace("RUNNING", "COMPLETING"), False),  # scontrol requeue: SLURM does it
        (signal.SIGUSR2, f"{RUNNING}\nJobId=4712 ArrayJobId=4711 JobState=PENDING Requeue=1 BatchFlag=1", True),
    ],
)
def test_which_stopped_jobs_are_requeued(scontrol, tmp_path, number, about, wanted):
    scontrol(about)
    assert slurm.requeue(number) == wanted
    assert (tmp_path / "requeued").exists() == wanted


@pytest.mark.parametrize("where", [{"SUBMITIT_EXECUTOR": "slurm"}, {"SLURM_JOB_ID": ""}])
def test_jobs_of_submitit_and_other_machines_are_not_requeued(scontrol, environment, tmp_path, where):
    scontrol(RUNNING)
    environment.update(where)
    assert not slurm.requeue(signal.SIGUSR2)
    assert not (tmp_path / "requeued").exists()


HELD = """
import os, signal
from cse.lab.run import slurm

received = []
signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))
slurm.hold()
import numpy  # starts threads; the system may hand a signal to any of them
os.kill(os.getpid(), signal.SIGUSR1)
assert received == []
slurm.release()
assert received == [signal.SIGUSR1]
"""


def test_a_signal_waits_until_the_run_handles_it(environment):
    """Otherwise a job that is preempted while it starts would end as if it had failed."""
    environment = {**environment, "SLURM_JOB_ID": "4711", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", HELD], env=environment, check=True)
