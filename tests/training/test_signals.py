"""A signal saves the run and ends it: at once, at the end of a step, or as if nobody listened when it comes again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_resume import CSE_TRAIN, arguments, assert_same_run, logged

from cse.errors import Interrupted
from cse.training import signals
from cse.training.signals import Signals


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_outside_a_step_ends_the_work_at_once(number):
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=f"stopped by {number.name}; go on so") as error, Signals(lambda: "go on so"):
        send(number)
    assert error.value.code == 128 + number
    assert signal.getsignal(number) == before


def test_a_signal_inside_a_step_waits_for_its_end():
    finished = []

    def step() -> None:
        with Signals(str) as listening, listening.waiting(True):
            send(signal.SIGTERM)
            finished.append(listening.requested)

    with pytest.raises(Interrupted):
        step()
    assert finished == [signal.SIGTERM]


def test_what_is_scored_between_steps_is_ended_at_once():
    scored = []

    def score(listening: Signals) -> None:
        with listening.waiting(False):
            send(signal.SIGUSR1)
            scored.append("scored")

    def step() -> None:
        with Signals(str) as listening, listening.waiting(True):
            with pytest.raises(Interrupted):
                score(listening)
            scored.append("saved")

    with pytest.raises(Interrupted):
        step()
    assert scored == ["saved"]


def test_the_same_signal_told_twice_is_one_and_a_later_one_ends_the_process(monkeypatch):
    killed = []
    monkeypatch.setattr(signals.os, "kill", lambda process, number: killed.append(number))
    with Signals(str) as listening:
        listening.waits = True
        listening._handle(signal.SIGTERM, None)
        listening._handle(signal.SIGTERM, None)
        assert killed == []
        listening.came -= 2 * signals.REPEATED_WITHIN
        listening._handle(signal.SIGTERM, None)
        assert killed == [signal.SIGTERM]


@pytest.mark.parametrize("rank", ["0", "1"])
def test_what_waits_in_a_library_for_others_that_never_come_is_ended_too(rank):
    """No handler of Python's runs before the wait is over. The first process speaks for all."""
    waits = """
import ctypes, sys
from cse.training import signals
signals.DEAF = 0.1
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
libc.pthread_mutex_lock(mutex)
try:
    with signals.Signals(lambda: "go on so") as listening, listening.beginning():
        print("waits", flush=True)
        libc.pthread_mutex_lock(mutex)
except signals.Interrupted:  # the signal came before the wait
    sys.exit("came before")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", waits], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"RANK": rank},
    )  # fmt: skip
    assert process.stdout.readline() == "waits\n"
    time.sleep(0.5)
    process.terminate()
    said = process.communicate(timeout=600)[1]
    if said == "came before\n":
        pytest.skip("the machine is too slow to hit the wait")
    assert process.returncode == {"0": 143, "1": 0}[rank]
    assert said == {"0": "-c: stopped by SIGTERM; go on so\n", "1": ""}[rank]


def test_a_worker_of_a_process_that_begins_does_not_speak_for_it():
    """Its handler leaves a signal to its parent, who got none."""
    works = """
import multiprocessing, time
from cse.training import signals
signals.DEAF = 0.1
forking = multiprocessing.get_context("fork")
begun = forking.Event()
def work():
    begun.set()
    time.sleep(1)
with signals.Signals(str) as listening, listening.beginning():
    child = forking.Process(target=work)
    child.start()
    begun.wait()
    child.terminate()
    child.join()
    time.sleep(0.5)
"""
    ended = subprocess.run([sys.executable, "-c", works], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_block_ends_while_a_forked_process_lives_on():
    """A data worker that was started inside holds the block's pipe open."""
    works = """
import multiprocessing, time
from cse.training import signals
with signals.Signals(str) as listening:
    with listening.beginning():
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,), daemon=True)
        child.start()
    print("ended", flush=True)
child.kill()
"""
    ended = subprocess.run([sys.executable, "-c", works], capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ended\n", "")


def stop_at(step: int, number: signal.Signals, command: list[str], folder: Path) -> subprocess.CompletedProcess:
    """Start the command, send the signal to each of its processes once it has logged `step`; how it ended."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and max((e["step"] for e in logged(folder)), default=-1) < step:
        time.sleep(0.001)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "more"),
    [
        (signal.SIGTERM, "trainer.workers=1"),
        (signal.SIGUSR1, "trainer.workers=0"),
        (signal.SIGINT, "trainer.workers=1"),
        (signal.SIGTERM, "trainer.devices=2"),
    ],
)
def test_a_stopped_run_goes_on_bit_for_bit(small_run, tmp_path, number, more):
    """Step 60 of 150 lies between two checkpoints and two logged steps: what comes after it is saved, not done again.

    From there to the next logged step is more than half a second, in which this process sees it and sends the signal.
    """
    one, two = tmp_path / "whole", tmp_path / "stopped"
    more = ["trainer.epochs=6", "trainer.log_every=60", "trainer.save_every=1000", "trainer.eval_every=1000", more]
    subprocess.run(arguments(small_run, one, *more), check=True, capture_output=True)
    ended = stop_at(60, number, arguments(small_run, two, *more), two)
    assert ended.returncode == 128 + number, ended.stdout + ended.stderr
    sentence = ended.stderr.strip().splitlines()[-1]
    assert sentence.startswith(f"cse-train: stopped by {number.name}")
    assert sentence.endswith(f"cse-train resume={two}")
    results = json.loads((two / "results.json").read_text())
    assert results["status"] == "interrupted"
    stopped_at = int(re.search(r"step (\d+) of 150", results["error"])[1])
    assert 60 <= stopped_at < 120, "it waited for the next logged step"
    subprocess.run([CSE_TRAIN, f"resume={two}"], check=True, capture_output=True)
    assert_same_run(one, two)
