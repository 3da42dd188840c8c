"""A heartbeat is there while its process works, is gone when it ends, and outlives a process that is killed."""

import os
import socket
import subprocess
import time

import psutil
import pytest

from cse.errors import RunError, UserError
from cse.record import heartbeat
from cse.record.heartbeat import Beat, Heartbeat, read_beat


def first_beat(folder, seconds=600):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if beat := read_beat(folder):
            return beat
        time.sleep(0.01)
    raise AssertionError("no heartbeat")


def test_it_beats_inside_the_block_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(heartbeat, "INTERVAL", 0.01)
    with Heartbeat(tmp_path) as pulse:
        first = first_beat(tmp_path)
        assert (first.host, first.pid, first.steps) == (socket.gethostname(), os.getpid(), None)
        pulse.steps = 7
        deadline = time.monotonic() + 600
        while first_beat(tmp_path).steps != 7 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert first_beat(tmp_path).steps == 7
        assert first_beat(tmp_path).time > first.time
    assert list(tmp_path.iterdir()) == []


def test_an_error_ends_it_too_and_other_processes_write_none(tmp_path):
    with pytest.raises(AssertionError, match="no heartbeat"), Heartbeat(tmp_path):
        first_beat(tmp_path / "elsewhere", seconds=0)
    with Heartbeat(tmp_path, writes=False):
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [RunError("the disk is full"), UserError("no right to write")])
def test_a_disk_that_refuses_does_not_end_the_run(tmp_path, monkeypatch, error):
    tries = []

    def refused(path, content):
        tries.append(path)
        raise error

    monkeypatch.setattr(heartbeat, "INTERVAL", 0.01)
    monkeypatch.setattr(heartbeat, "write_json", refused)
    with Heartbeat(tmp_path) as pulse:
        deadline = time.monotonic() + 600
        while len(tries) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert pulse.thread.is_alive()
    assert len(tries) >= 3


def test_no_folder_is_made_for_it(tmp_path):
    with Heartbeat(tmp_path / "refused"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_silence_is_death_elsewhere_and_the_system_knows_here():
    here = socket.gethostname()
    assert Beat("elsewhere", 1, 1000.0).is_alive(1000.0 + heartbeat.SILENCE - 1)
    assert not Beat("elsewhere", 1, 1000.0).is_alive(1000.0 + heartbeat.SILENCE)
    started = heartbeat.started(os.getpid())
    assert Beat(here, os.getpid(), 1000.0, started=started).is_alive(1001.0)
    assert not Beat(here, 2**22 + 1, 1000.0, started=started).is_alive(1001.0)
    assert not Beat(here, os.getpid(), 1000.0, started=started - 60).is_alive(1001.0), "another one of that number"


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_change_of_the_clock_ends_no_run_of_this_machine(tmp_path, hours):
    with Heartbeat(tmp_path):
        assert first_beat(tmp_path).is_alive(time.time() + 3600 * hours)


def test_a_process_that_has_ended_unnoticed_has_ended():
    child = subprocess.Popen(["true"])
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert heartbeat.started(child.pid) is None
    child.wait()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"host": 1, "pid": "x", "time": 1}', "null"])
def test_a_damaged_heartbeat_is_none(tmp_path, content):
    (tmp_path / "heartbeat.json").write_text(content)
    assert read_beat(tmp_path) is None
