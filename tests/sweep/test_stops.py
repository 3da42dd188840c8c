"""A signal to a line of many jobs: every job saves, no other is started, and the line that goes on is said."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from cse.sweep import engine, jobs, plan, stops, worker


def test_between_jobs_it_ends_the_line(tmp_path):
    path = tmp_path / "plan.json"
    before = signal.getsignal(signal.SIGUSR1)
    with pytest.raises(KeyboardInterrupt), stops.listening(path, several=False):
        signal.raise_signal(signal.SIGUSR1)
    assert plan.stopped(path) == signal.SIGUSR1
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.fixture
def children(monkeypatch):
    """The processes that the signal is for: others that this one has started (W&B's, for a test before) live on."""
    mine = []
    monkeypatch.setattr(psutil.Process, "children", lambda _: [psutil.Process(one.pid) for one in mine])
    return mine


def test_processes_that_run_jobs_are_told_and_waited_for(tmp_path, children):
    path = tmp_path / "plan.json"
    stub = "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3)); print('.', flush=True); "
    with stops.listening(path, several=True):
        child = subprocess.Popen([sys.executable, "-c", f"{stub}signal.pause()"], stdout=subprocess.PIPE)
        children.append(child)
        child.stdout.readline()  # it listens
        os.kill(os.getpid(), signal.SIGUSR1)
        assert child.wait(timeout=600) == 3
    assert plan.stopped(path) == signal.SIGUSR1


def test_a_child_that_has_ended_keeps_no_other_from_being_told(children):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # ended, and not waited for: a zombie
    other = subprocess.Popen(["sleep", "1200"])
    children += [ended, other]
    stops.tell_children(signal.SIGTERM)
    assert other.wait(timeout=600) == -signal.SIGTERM
    ended.wait()


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A function that runs a job whose process is a command, in tmp_path/job; returns its state."""

    def run(command: Callable[[], list[str]]) -> str:
        monkeypatch.setattr(worker, "command_of", lambda one, folder: command())
        with pytest.raises(KeyboardInterrupt), worker.forwarded() as told:
            states.append(worker.run(jobs.Job("job", "cse-train", []), tmp_path / "job", told)[0])
        return states.pop()

    states: list[str] = []
    monkeypatch.setattr(worker.slurm, "is_wanted_later", lambda number: False)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    yield run
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_before_the_jobs_process_starts_none(job, tmp_path):
    def command() -> list[str]:
        os.kill(os.getpid(), signal.SIGUSR1)
        return ["touch", str(tmp_path / "started")]

    assert job(command) == "interrupted"
    assert not (tmp_path / "started").exists()


def test_a_signal_while_the_jobs_process_starts_reaches_it(job, monkeypatch):
    start = subprocess.Popen

    def told_meanwhile(*command, **options) -> subprocess.Popen:
        process = start(*command, **options)
        os.kill(os.getpid(), signal.SIGUSR1)
        return process

    monkeypatch.setattr(worker.subprocess, "Popen", told_meanwhile)
    assert job(lambda: ["sleep", "60"]) == "interrupted"


def test_a_signal_while_the_job_waits_for_a_gpu_ends_the_wait(job, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(worker.SLOTS, "0")
    monkeypatch.setattr(worker.time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGUSR1))
    with worker.gpu(worker.Told()):  # another job's
        assert job(lambda: ["false"]) == "interrupted"


def test_slurm_ends_a_job_that_is_put_back_and_not_what_puts_it_back(monkeypatch):
    """submitit asks by scontrol, one of the job's processes: it gets the signal that the job gets."""
    codes = []
    put_back = ["sh", "-c", "kill -TERM $$; exit 0"]
    signal.signal(signal.SIGUSR2, lambda *_: codes.append(subprocess.run(put_back).returncode))
    monkeypatch.setattr(worker.slurm, "is_wanted_later", lambda number: True)
    with pytest.raises(KeyboardInterrupt), worker.forwarded():
        os.kill(os.getpid(), signal.SIGUSR1)
    assert codes == [0]


def test_a_half_written_end_of_a_job_is_none_yet(tmp_path, capsys):
    path = plan.Plan("cse-train", "", [], [], False).write(tmp_path)
    plan.record_end(path, "one", "done")
    with open(plan.ledger_of(path), "a") as ledger:
        ledger.write('{"job": "two", "sta')
    assert list(plan.ends(path)) == ["one"]


@pytest.mark.parametrize("stopped", [True, False])
def test_a_worker_that_is_lost_is_an_error_only_where_no_signal_came(tmp_path, monkeypatch, capsys, stopped):
    """joblib then says that a worker was lost, which is no news to who stopped it."""

    def lost(arguments: list[str]) -> None:
        if stopped:
            os.kill(os.getpid(), signal.SIGUSR1)
        raise RuntimeError("a worker process was lost")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cse-train", "-m", "seed=1,2", "jobs.parallel=2"])
    monkeypatch.setattr(engine, "launch", lost)
    monkeypatch.setattr(stops, "tell_children", lambda number: None)
    if stopped:
        assert engine.main(sys.argv[1:]) == 128 + signal.SIGUSR1
        assert "stopped by SIGUSR1; this goes on: " in capsys.readouterr().err
    else:
        with pytest.raises(RuntimeError, match="lost"):
            engine.main(sys.argv[1:])


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
