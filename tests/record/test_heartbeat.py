"""A heartbeat is a process's lock on its run's folder: a second process is refused, a dead one's lock is taken over."""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from cse.errors import RunError, UserError
from cse.record import heartbeat
from cse.record.heartbeat import Beat, Heartbeat, content_of, read_beat, started, system


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(heartbeat, "INTERVAL", 0.01)
    monkeypatch.setattr(heartbeat, "SILENCE", 0.3)


@pytest.fixture
def other():
    """A process of this machine, which lives until the test's end."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def beat_of(pid: int, **changes: object) -> Beat:
    own = Beat(socket.gethostname(), pid, time.time(), system=system(), started=started(pid), since=time.time())
    return replace(own, **changes)


def leave(folder, beat: Beat, age: float = 0.0):
    path = folder / heartbeat.NAME
    path.write_text(json.dumps(content_of(beat)))
    os.utime(path, (time.time() - age,) * 2)
    return path


def check_taken(folder):
    """This process can take the folder."""
    with Heartbeat(folder):
        assert read_beat(folder).pid == os.getpid()
        assert os.listdir(folder) == ["heartbeat.json"]


def wait_for(what):
    """The first true value of what()."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")


def test_it_beats_inside_the_block_and_leaves_nothing(tmp_path):
    with Heartbeat(tmp_path) as pulse:
        first = read_beat(tmp_path)
        assert (first.host, first.pid, first.steps) == (socket.gethostname(), os.getpid(), None)
        wait_for(lambda: read_beat(tmp_path).time > first.time)
        pulse.steps = 7
        later = wait_for(lambda: beat if (beat := read_beat(tmp_path)).steps == 7 else None)
        assert later.is_same(first)
        assert later.is_alive(time.time())
        pulse.path.unlink()
        wait_for(lambda: read_beat(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_writes_nothing_has_no_heartbeat_and_a_new_folder_is_created_late(tmp_path):
    with Heartbeat(tmp_path, writes=False), Heartbeat(tmp_path / "refused"):
        time.sleep(0.05)
        assert list(tmp_path.iterdir()) == []
    with Heartbeat(tmp_path / "run") as pulse:
        pulse.take()
        pulse.take()
        assert read_beat(tmp_path / "run").pid == os.getpid()
    assert list((tmp_path / "run").iterdir()) == []


def test_a_disk_that_refuses_does_not_end_the_run(tmp_path, monkeypatch):
    tries = []

    def refused(path, content):
        tries.append(path)
        raise RunError("the disk is full") if len(tries) % 2 else UserError("no right to write")

    monkeypatch.setattr(heartbeat, "write_json", refused)
    with Heartbeat(tmp_path) as pulse:
        pulse.steps = 7
        wait_for(lambda: len(tries) > 2)
        assert pulse.thread.is_alive()


def test_silence_is_death_elsewhere_and_here_the_process_itself_tells(other):
    assert Beat("elsewhere", 1, 1000.0).is_alive(1000.0 + heartbeat.SILENCE - 0.1)
    assert not Beat("elsewhere", 1, 1000.0).is_alive(1000.0 + heartbeat.SILENCE + 0.1)
    here = beat_of(other.pid, time=0.0)
    assert here.is_alive(time.time())  # however silent: a stopped process goes on one day
    assert not replace(here, started="1").is_alive(0.0)  # its number is another's
    assert not replace(here, pid=2**22 + 1).is_alive(0.0)
    assert replace(here, system="another boot", pid=2**22 + 1).is_alive(0.0)
    other.kill()
    wait_for(lambda: started(other.pid) == "")  # nobody has waited for it yet
    assert not here.is_alive(0.0)


@pytest.mark.parametrize("content", [
    "", "[]", "{}", '{"host": 1, "pid": "x"}', "null", '{"host": "a", "pid": 0}', f'{{"host": "a", "pid": {10**400}}}',
    '{"host": "a", "pid": 1, "steps": "many"}', '{"host": "a", "pid": 1, "since": 1e99}',
])  # fmt: skip
def test_a_damaged_heartbeat_is_none_and_is_taken_over(tmp_path, content):
    (tmp_path / "heartbeat.json").write_text(content)
    assert read_beat(tmp_path) is None
    check_taken(tmp_path)


def test_a_live_process_is_named_at_once(tmp_path, other):
    path = leave(tmp_path, beat_of(other.pid, since=1_800_000_000.0), age=1e6)
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"process {other.pid} on {socket.gethostname()} .* since 2027"):
        Heartbeat(tmp_path).__enter__()
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["heartbeat.json"])


@pytest.mark.parametrize("dead", ["killed", "another's number", "half written", "moved aside"])
def test_what_a_dead_process_left_is_taken_over_at_once(tmp_path, other, monkeypatch, dead):
    monkeypatch.setattr(heartbeat, "SILENCE", 0.0 if dead == "half written" else 600.0)
    beat = beat_of(other.pid)
    other.kill()
    other.wait()
    path = leave(tmp_path, replace(beat, pid=os.getpid()) if dead == "another's number" else beat)
    if dead == "half written":
        path.write_text('{"host"')
    if dead == "moved aside":
        path.rename(tmp_path / ".cse-0123456789abcdef.heartbeat.json")
    check_taken(tmp_path)


def test_another_machines_process_is_waited_for(tmp_path):
    path = leave(tmp_path, Beat("elsewhere", 7), age=1e6)  # whatever the clocks say
    ended = threading.Event()

    def beats():
        while not ended.wait(0.005):
            os.utime(path)

    thread = threading.Thread(target=beats)
    thread.start()
    with pytest.raises(UserError, match="process 7 on elsewhere"):
        Heartbeat(tmp_path).__enter__()
    ended.set()
    thread.join()
    os.utime(path, (time.time() + 1e6,) * 2)
    check_taken(tmp_path)


def test_of_many_starts_one_takes_a_dead_ones_folder(tmp_path):
    """Each start is a thread: threads share a process, which is alive, so they refuse each other as processes would."""
    results = []
    for trial in range(20):
        folder = tmp_path / str(trial)
        folder.mkdir()
        leave(folder, beat_of(2**22 + 1, started="1"))
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


def test_a_start_waits_for_one_that_takes_the_folder(tmp_path):
    with heartbeat.one_at_a_time(tmp_path):
        second = Heartbeat(tmp_path)
        thread = threading.Thread(target=second.take)
        thread.start()
        time.sleep(0.3)
        assert not (tmp_path / heartbeat.NAME).exists()
    thread.join()
    with second:
        assert read_beat(tmp_path).pid == os.getpid()


def test_a_process_whose_folder_was_taken_ends(tmp_path):
    """It was asleep for longer than SILENCE, as a laptop with its lid shut."""
    child = os.fork()
    if child == 0:
        pulse = Heartbeat(tmp_path).__enter__()
        leave(tmp_path, Beat("elsewhere", 7, 0.0))
        pulse.thread.join(60)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert read_beat(tmp_path).host == "elsewhere"


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.symlink_to("/nowhere")])
def test_a_link_or_folder_in_place_of_the_file_is_refused(tmp_path, make):
    make(tmp_path / "heartbeat.json")
    with pytest.raises(UserError, match=r"heartbeat\.json"):
        Heartbeat(tmp_path).__enter__()


@pytest.mark.parametrize("name", ["train.log", "plots", "wandb"])
def test_no_link_leads_what_is_written_out_of_the_folder(tmp_path, name):
    """A stranger's run would append its own lines to a shell's settings. W&B's own link in logs/ hinders nothing."""
    run, link = tmp_path / "run", tmp_path / "run" / name
    run.mkdir()
    link.symlink_to(tmp_path / ".bashrc")
    with pytest.raises(UserError, match=str(link)):
        Heartbeat(run).take()
    assert not (run / "heartbeat.json").exists()
    link.unlink()
    link.symlink_to(run / "own")
    (run / "logs").mkdir()
    (run / "logs" / "debug-core.log").symlink_to(tmp_path / "cache" / "core-debug.log")
    with Heartbeat(run):
        assert link.is_symlink()


def test_a_kill_at_any_step_of_the_lock_hinders_no_next_start(tmp_path, monkeypatch):
    from test_kills_in_writes import killed_at

    for step in itertools.count():
        left = not killed_at(step, lambda: Heartbeat(tmp_path).take())
        check_taken(tmp_path)
        assert os.listdir(tmp_path) == []
        leave(tmp_path, beat_of(2**22 + 1, started="1"))  # the next is killed in taking over
        if left:
            assert step > 3
            return
