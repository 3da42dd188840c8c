"""A signal saves the run and ends it: at once, or at the end of a step; a second one kills the process."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killed import CSE_TRAIN, arguments, assert_same_run, logged
from run_folders import results_of

from cse.errors import Interrupted
from cse.objective.simcse import Simcse
from cse.training import checkpoint, signals
from cse.training.signals import SIGNALS, SignalForwarder, Signals


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_outside_a_step_ends_the_work_at_once(number):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match="go on so") as error, Signals(lambda: "go on so"):
        send(number)
    assert error.value.code == 128 + number
    assert signal.getsignal(number) == before


def test_a_signal_ends_the_work_also_where_a_librarys_cleanup_then_fails():
    """A parser whose `finally` reads what was not yet made, as antlr's."""

    def parse() -> None:
        try:
            send(signal.SIGTERM)
        finally:
            {}["not yet made"]

    with pytest.raises(Interrupted, match="go on so"), Signals(lambda: "go on so"):
        parse()


def test_a_run_says_that_the_process_which_started_it_is_gone():
    listening = Signals(str)
    listening.parent = 0
    with pytest.raises(Interrupted, match="the end of the process that started this one"), listening:
        send(signal.SIGINT)


def test_a_signal_waits_for_the_end_of_a_step_but_not_of_scoring():
    reached = []

    def score(listening: Signals) -> None:
        with listening.waiting(False):
            send(signal.SIGUSR1)
            reached.append("scored")

    def step_that_scores() -> None:
        with Signals(str) as listening, listening.waiting(True):
            with pytest.raises(Interrupted):
                score(listening)
            with listening.waiting(True):
                reached.append("saved")

    def step() -> None:
        with Signals(str) as listening, listening.waiting(True):
            send(signal.SIGTERM)
            reached.append(listening.requested)

    for work in (step_that_scores, step):
        with pytest.raises(Interrupted):
            work()
    assert reached == ["saved", signal.SIGTERM]


def test_a_signal_repeated_at_once_counts_once_and_a_later_one_kills_the_process(monkeypatch):
    killed = []
    monkeypatch.setattr(signals.os, "kill", lambda process, number: killed.append(number))
    with Signals(str) as listening:
        listening.waits = True
        listening.receive(signal.SIGTERM, None)
        listening.receive(signal.SIGTERM, None)
        assert killed == []
        listening.requested_at -= 2 * signals.REPEATED_WITHIN
        listening.receive(signal.SIGTERM, None)
        assert killed == [signal.SIGTERM]


def test_under_nohup_a_run_outlives_its_terminal():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Signals(str) as listening:
        send(signal.SIGHUP)
    assert listening.requested is None


def test_a_forked_worker_ignores_signals():
    with Signals(str) as listening:
        child = os.fork()
        if child == 0:
            listening.receive(signal.SIGTERM, None)
            os._exit(0 if listening.requested is None else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert listening.requested is None


def test_a_signal_is_forwarded_to_running_processes_and_to_those_added_later():
    codes = []

    def run_processes() -> None:
        with SignalForwarder(str) as forwarder, forwarder.waiting(True):
            ended, running, starting = (subprocess.Popen(words) for words in (["true"], *[["sleep", "600"]] * 2))
            ended.wait()
            forwarder.add(ended)
            forwarder.add(running)
            send(signal.SIGTERM)
            forwarder.add(starting)
            codes.extend(process.wait(60) for process in (ended, running, starting))

    with pytest.raises(Interrupted) as error:
        run_processes()
    assert codes == [0, -signal.SIGTERM, -signal.SIGTERM]
    assert error.value.code == 143


def test_a_stopped_run_is_saved_and_resumes_with_the_same_bits(small_run, tmp_path, cse_train, monkeypatch, capsys):
    """The signal comes during step 4, which is neither saved nor logged by itself."""
    common = [word for word in small_run if not word.startswith(("hydra.run.dir", "trainer.log_every"))]
    common += ["trainer.lr=1e-3", "trainer.log_every=3", "trainer.eval_every=3"]
    one, two = tmp_path / "whole", tmp_path / "stopped"
    assert cse_train([*common, f"hydra.run.dir={one}"]) == 0
    forward, calls = Simcse.forward, []

    def signalled(self, views):
        calls.append(1)
        if len(calls) == 4:
            send(signal.SIGTERM)
        return forward(self, views)

    monkeypatch.setattr(Simcse, "forward", signalled)
    assert cse_train([*common, f"hydra.run.dir={two}"]) == 143
    assert capsys.readouterr().err.strip().endswith(f"cse-train resume={two}")
    assert results_of(two)["status"] == "interrupted"
    assert checkpoint.read_last(two)[1]["step"] == len(calls) == 4
    assert cse_train([f"resume={two}"]) == 0
    assert_same_run(one, two)


def stop_at(step: int, number: signal.Signals, command: list[str], folder: Path) -> subprocess.CompletedProcess:
    """Start the command, signal its process group once it has logged `step`, and return how it ended."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and max((e["step"] for e in logged(folder)), default=-1) < step:
        time.sleep(0.001)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("number", "more"),
    [
        (signal.SIGTERM, "trainer.workers=1"),
        (signal.SIGUSR1, "trainer.workers=0"),
        (signal.SIGHUP, "trainer.workers=1"),
        (signal.SIGINT, "trainer.workers=1"),
        (signal.SIGTERM, "trainer.devices=2"),
    ],
)
def test_stopped_processes_resume_with_the_same_bits(small_run, tmp_path, number, more):
    """Step 60 of 150 lies between two checkpoints, so what resumes is what the signal saved.

    The next logged step is more than half a second later: enough for this test to see step 60 and send the signal.
    """
    one, two = tmp_path / "whole", tmp_path / "stopped"
    more = ["trainer.epochs=6", "trainer.log_every=60", "trainer.save_every=1000", "trainer.eval_every=1000", more]
    subprocess.run(arguments(small_run, one, *more), check=True, capture_output=True)
    command = [sys.executable, "-c", "import signal, os, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
               "os.execv(sys.argv[1], sys.argv[1:])", *arguments(small_run, two, *more)]  # fmt: skip
    ended = stop_at(60, number, command, two)
    assert ended.returncode == 128 + number, ended.stdout + ended.stderr
    assert ended.stderr.strip().splitlines()[-1].endswith(f"cse-train resume={two}")
    results = results_of(two)
    assert results["status"] == "interrupted"
    stopped_at = int(re.search(r"step (\d+) of 150", results["error"])[1])
    assert 60 <= stopped_at < 120, "it waited for the next logged step"
    subprocess.run([CSE_TRAIN, f"resume={two}"], check=True, capture_output=True)
    assert_same_run(one, two)
