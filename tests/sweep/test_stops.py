"""A signal to a line of many jobs: every job saves, no other is started, and the line that goes on is said."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cse.sweep import plan, stops


def test_between_jobs_it_ends_the_line(tmp_path):
    path = tmp_path / "plan.json"
    before = signal.getsignal(signal.SIGUSR1)
    with pytest.raises(KeyboardInterrupt), stops.listening(path, several=False):
        signal.raise_signal(signal.SIGUSR1)
    assert plan.stopped(path) == signal.SIGUSR1
    assert signal.getsignal(signal.SIGUSR1) == before


def test_processes_that_run_jobs_are_told_and_waited_for(tmp_path):
    path = tmp_path / "plan.json"
    stub = "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3)); print('.', flush=True); "
    with stops.listening(path, several=True):
        child = subprocess.Popen([sys.executable, "-c", f"{stub}signal.pause()"], stdout=subprocess.PIPE)
        child.stdout.readline()  # it listens
        os.kill(os.getpid(), signal.SIGUSR1)
        assert child.wait(timeout=30) == 3
    assert plan.stopped(path) == signal.SIGUSR1


def test_a_child_that_has_ended_keeps_no_other_from_being_told():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # ended, and not waited for: a zombie
    other = subprocess.Popen(["sleep", "60"])
    stops.tell_children(signal.SIGTERM)
    assert other.wait(timeout=30) == -signal.SIGTERM
    ended.wait()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "whole_group"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_jobs_at_the_same_time_all_save(small_run, tmp_path, number, whole_group):
    """Ctrl-C goes to every process, `kill` to the line's alone."""
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="needs cse-lab[launchers]")
    words = [word for word in small_run if not word.startswith(("hydra.run.dir=", "trainer.max_steps="))]
    line = ["-m", *words, "seed=1,2,3", "trainer.epochs=100", "jobs.parallel=2"]
    process = subprocess.Popen(
        [Path(sys.executable).parent / "cse-train", *line],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 600
    while sum("step 2/" in log.read_text() for log in tmp_path.glob("multirun/*/seed_*/job.log")) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.5)
    (os.killpg if whole_group else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 128 + number, out + err
    assert f"stopped by {number.name}; this goes on: cse-train -m " in err.splitlines()[-1]
    assert "Traceback" not in err
    results = [json.loads(path.read_text()) for path in tmp_path.glob("multirun/*/seed_*/results.json")]
    assert [result["status"] for result in results] == ["interrupted"] * 2
    assert len(list(tmp_path.glob("multirun/*/seed_*/last/state.safetensors"))) == 2
