"""A sweep whose launcher, worker or both are killed: the same line goes on, and its job ends as if nothing had been."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from killed import arguments, assert_same_run, logged

pytestmark = pytest.mark.slow


def sweep(small_run: list[str], folder: Path) -> list[str]:
    program, *words = arguments(small_run, folder)
    return [program, "-m", "seed=1", *words[:-1], f"hydra.sweep.dir={folder}"]


def children(parent: int) -> list[int]:
    """The processes that this one started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
        except OSError:  # it has ended
            continue
    return found


def job_of(folder: Path) -> Path:
    return next(path.parent for path in folder.glob("*/.lock"))


def wait_for_steps(folder: Path, steps: int) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if list(folder.glob("*/.lock")) and sum("train/loss" in event for event in logged(job_of(folder))) >= steps:
            return
        time.sleep(0.02)
    raise AssertionError("the job never came so far")


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    """Where the first test puts the sweep that nothing happened to."""
    return tmp_path_factory.mktemp("straight") / "sweep"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("dies", ["launcher", "worker", "both"])
def test_the_same_line_goes_on(small_run, tmp_path, straight, dies):
    if not straight.exists():
        subprocess.run(sweep(small_run, straight), check=True, capture_output=True)
    command = sweep(small_run, tmp_path / "sweep")
    launcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_for_steps(tmp_path / "sweep", 5)
    workers = children(launcher.pid)
    assert len(workers) == 1
    for process in {"launcher": [launcher.pid], "worker": workers, "both": [launcher.pid, *workers]}[dies]:
        os.kill(process, signal.SIGKILL)
    assert launcher.wait() == (1 if dies == "worker" else -signal.SIGKILL)
    for _ in range(60):  # a worker that outlived its launcher is not joined by a second: it is "running"
        again = subprocess.run(command, check=True, capture_output=True, text=True)
        if "1 of 1 done" in again.stdout:
            break
        assert "0 of 1 done, 1 running" in again.stdout
        time.sleep(0.5)
    assert_same_run(job_of(straight), job_of(tmp_path / "sweep"))
