"""A heartbeat is a process's lock on its run's folder: a second process is refused, a dead one's lock is taken over."""

import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from run_folders import leave_heartbeat

from cse.errors import UserError
from cse.lab.folder import heartbeat
from cse.lab.folder.heartbeat import Beat, Heartbeat, read_beat

HERE = socket.gethostname()


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(heartbeat, "INTERVAL", 0.01)


@pytest.fixture
def other():
    """A process of this machine, which lives until the test's end."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        time.sleep(0.05)  # so that what is written now is younger, however coarse the disk's clock
        yield process
        process.kill()


def check_taken(folder):
    """This process can take the folder."""
    with Heartbeat(folder):
        assert read_beat(folder).pid == os.getpid()
        assert os.listdir(folder) == ["heartbeat.json"]


def test_it_beats_inside_the_block_and_leaves_nothing(tmp_path):
    with Heartbeat(tmp_path):
        first = read_beat(tmp_path)
        assert (first.host, first.pid) == (HERE, os.getpid())
        deadline = time.monotonic() + 60
        while read_beat(tmp_path).time == first.time:
            assert time.monotonic() < deadline
        assert read_beat(tmp_path) == first
        assert first.is_alive(time.time())
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_writes_nothing_has_no_heartbeat_and_a_new_folder_is_created_late(tmp_path):
    with Heartbeat(tmp_path, writes=False), Heartbeat(tmp_path / "refused"):
        assert list(tmp_path.iterdir()) == []
    with Heartbeat(tmp_path / "run") as pulse:
        pulse.take()
        pulse.take()
        assert read_beat(tmp_path / "run").pid == os.getpid()
    assert list((tmp_path / "run").iterdir()) == []


def test_silence_is_death_elsewhere_and_here_the_process_itself_tells(other):
    assert Beat("elsewhere", 1, 0.0, time=1000.0).is_alive(1000.0 + heartbeat.SILENCE - 0.1)
    assert not Beat("elsewhere", 1, 0.0, time=1000.0).is_alive(1000.0 + heartbeat.SILENCE + 0.1)
    here = Beat(HERE, other.pid, 0.0, time=time.time())
    assert here.is_alive(time.time() + 1e6)  # however silent: a stopped process goes on one day
    assert not replace(here, time=here.time - 1e6).is_alive(time.time())  # its number is another's
    assert not replace(here, pid=2**22 + 1).is_alive(time.time())
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert not here.is_alive(time.time())  # a zombie: nobody has waited for it yet


def test_a_live_process_is_alive_where_the_file_systems_clock_lags(other):
    """It took the folder after it began, by this machine's clock; a later process with its number did not."""
    now = time.time()
    assert Beat(HERE, other.pid, since=now, time=now - 3600.0).is_alive(now)
    assert not Beat(HERE, other.pid, since=now - 60.0, time=now - 3600.0).is_alive(now)


@pytest.mark.parametrize("content", ["", "[]", '{"host"', '{"host": 1, "pid": "x"}', '{"host": "a", "pid": 0}'])
def test_a_damaged_heartbeat_is_none_and_is_taken_over(tmp_path, content):
    (tmp_path / "heartbeat.json").write_text(content)
    assert read_beat(tmp_path) is None
    check_taken(tmp_path)


def test_a_live_process_is_named_at_once(tmp_path, other):
    path = leave_heartbeat(tmp_path, other.pid, HERE, since=1_800_000_000.0)
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"process {other.pid} on {HERE} .* since 2027"):
        Heartbeat(tmp_path).__enter__()
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["heartbeat.json"])
    path.unlink()
    leave_heartbeat(tmp_path, age=heartbeat.SILENCE - 10)
    with pytest.raises(UserError, match="process 7 on elsewhere"):
        Heartbeat(tmp_path).__enter__()


def test_of_many_starts_one_takes_a_dead_ones_folder(tmp_path):
    """Each start is a thread: threads share a process, which is alive, so they refuse each other as processes would."""
    results = []
    for trial in range(20):
        folder = tmp_path / str(trial)
        folder.mkdir()
        leave_heartbeat(folder, 2**22 + 1, HERE)
        together, done = threading.Barrier(4), threading.Barrier(4)

        def start(folder=folder, together=together, done=done):
            together.wait()
            try:
                with Heartbeat(folder):
                    results.append("taken")
                    done.wait()
            except UserError:
                results.append("refused")
                done.wait()

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results.count("taken") == trial + 1


def test_a_process_whose_folder_was_taken_ends(tmp_path):
    """It was asleep for longer than SILENCE, as a laptop with its lid shut."""
    child = os.fork()
    if child == 0:
        Heartbeat(tmp_path).__enter__()
        leave_heartbeat(tmp_path)
        time.sleep(60)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert read_beat(tmp_path).host == "elsewhere"


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    (tmp_path / "heartbeat.json").mkdir()
    with pytest.raises(UserError, match=r"heartbeat\.json"):
        Heartbeat(tmp_path).__enter__()


def test_a_kill_at_any_step_of_the_lock_hinders_no_next_start(tmp_path):
    from test_kills_in_writes import killed_at

    for step in itertools.count():
        left = not killed_at(step, lambda: Heartbeat(tmp_path).take())
        check_taken(tmp_path)
        assert os.listdir(tmp_path) == []
        leave_heartbeat(tmp_path, 2**22 + 1, HERE)  # the next is killed in taking over
        if left:
            assert step > 3
            return


def test_who_takes_a_folder_removes_what_a_kill_left_of_writes(tmp_path):
    """Of its own files and of figures; a half replaced best/ gets its name back. What is not ours stays."""
    left = "0123456789abcdef"
    (tmp_path / "plots" / f".cse-{left}.scores.png").mkdir(parents=True)
    (tmp_path / f".cse-{left}.results.json").mkdir()
    (tmp_path / f".cse-{left}.best" / "old").mkdir(parents=True)
    (tmp_path / ".cse-notes").mkdir()
    with heartbeat.Heartbeat(tmp_path) as beat:
        beat.take()
    assert sorted(path.name for path in tmp_path.rglob(".cse-*")) == [".cse-notes"]
    assert (tmp_path / "best").is_dir()
