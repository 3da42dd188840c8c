"""A heartbeat is there while its process works, is gone when it ends, and outlives a process that is killed."""

import os
import socket
import time

import pytest

from cse.errors import RunError, UserError
from cse.record import heartbeat
from cse.record.heartbeat import Beat, Heartbeat, read_beat


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(heartbeat, "INTERVAL", 0.01)


def wait_for(what):
    """What `what()` gives once it is true."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")


def test_it_beats_inside_the_block_and_leaves_nothing(tmp_path):
    with Heartbeat(tmp_path) as pulse:
        first = wait_for(lambda: read_beat(tmp_path))
        assert (first.host, first.pid, first.steps) == (socket.gethostname(), os.getpid(), None)
        pulse.steps = 7
        later = wait_for(lambda: beat if (beat := read_beat(tmp_path)).steps == 7 else None)
        assert later.time > first.time
        assert later.is_alive(time.time())
    assert list(tmp_path.iterdir()) == []


def test_other_processes_and_a_run_that_is_refused_write_none(tmp_path):
    with Heartbeat(tmp_path, writes=False), Heartbeat(tmp_path / "refused"):
        time.sleep(0.05)
        assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_does_not_end_the_run(tmp_path, monkeypatch):
    tries = []

    def refused(path, content):
        tries.append(path)
        raise RunError("the disk is full") if len(tries) % 2 else UserError("no right to write")

    monkeypatch.setattr(heartbeat, "write_json", refused)
    with Heartbeat(tmp_path) as pulse:
        wait_for(lambda: len(tries) > 2)
        assert pulse.thread.is_alive()


def test_silence_is_death_and_so_is_a_process_that_is_gone():
    assert Beat("elsewhere", 1, 1000.0).is_alive(1000.0 + heartbeat.SILENCE - 1)
    assert not Beat("elsewhere", 1, 1000.0).is_alive(1000.0 + heartbeat.SILENCE)
    assert Beat(socket.gethostname(), os.getpid(), 1000.0).is_alive(1001.0)
    assert not Beat(socket.gethostname(), 2**22 + 1, 1000.0).is_alive(1001.0)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"host": 1, "pid": "x"}',
        "null",
        '{"host": "a", "pid": 1, "steps": "x"}',
        '{"host": "a", "pid": 1' + 400 * "0" + "}",
    ],
)
def test_a_damaged_heartbeat_is_none(tmp_path, content):
    (tmp_path / "heartbeat.json").write_text(content)
    assert read_beat(tmp_path) is None
