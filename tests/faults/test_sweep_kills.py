"""A sweep whose launcher, job or both are killed, or that is told to stop: the same line resumes it."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from killed import arguments, assert_same_run, wait_until
from run_folders import logged_of

pytestmark = pytest.mark.nightly


def sweep(small_run: list[str], folder: Path, seeds: str = "1") -> list[str]:
    program, *words = arguments(small_run, folder)
    return [program, "-m", f"seed={seeds}", *words[:-1], f"hydra.sweep.dir={folder}"]


def job_of(folder: Path) -> Path:
    return next(path.parent for path in folder.glob("*/job.log"))


def has_steps(folder: Path, steps: int) -> bool:
    return len(logged_of(folder)) >= steps


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    """Where the first test puts an undisturbed sweep."""
    return tmp_path_factory.mktemp("straight") / "sweep"


@pytest.mark.parametrize("dies", ["launcher", "job", "both"])
def test_the_same_line_resumes_a_killed_sweep(small_run, tmp_path, straight, dies):
    if not straight.exists():
        subprocess.run(sweep(small_run, straight), check=True, capture_output=True)
    command, folder = sweep(small_run, tmp_path / "sweep"), tmp_path / "sweep"
    launcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: list(folder.glob("*/job.log")) and has_steps(job_of(folder), 5))
    (job,) = psutil.Process(launcher.pid).children()
    for process in {"launcher": [launcher], "job": [job], "both": [launcher, job]}[dies]:
        process.kill()
    assert launcher.wait() == (1 if dies == "job" else -signal.SIGKILL)
    for _ in range(60):  # a job that outlived its launcher is "running", and not started twice
        again = subprocess.run(command, check=True, capture_output=True, text=True)
        if "1 of 1 done" in again.stdout:
            break
        assert "0 of 1 done, 1 running" in again.stdout
        time.sleep(0.5)
    assert_same_run(job_of(straight), job_of(folder))


@pytest.mark.parametrize(("number", "whole_group"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_parallel_jobs_all_save_when_stopped(small_run, tmp_path, number, whole_group):
    """Ctrl-C signals every process, `kill` the launcher alone."""
    folder = tmp_path / "sweep"
    line = subprocess.Popen(
        [*sweep(small_run, folder, "1,2,3"), "trainer.epochs=100", "jobs.parallel=2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_until(lambda: sum(has_steps(log.parent, 2) for log in folder.glob("*/job.log")) == 2)
    (os.killpg if whole_group else os.kill)(line.pid, number)
    out, err = line.communicate(timeout=600)
    assert line.returncode == 128 + number, out + err
    assert f"stopped by {number.name}; to continue: cse-train -m " in err.splitlines()[-1]
    assert "Traceback" not in err
    results = [json.loads(path.read_text()) for path in folder.glob("seed_*/results.json")]
    assert [result["status"] for result in results] == ["interrupted"] * 2
    assert len(list(folder.glob("seed_*/last/state.safetensors"))) == 2
