"""The state of a run, by its results, its heartbeat and the time since the last beat."""

import json
import time

import pytest
from run_folders import change_results, leave_heartbeat

from cse.lab.folder import runs
from cse.lab.folder.contents import read_results
from cse.lab.folder.heartbeat import read_beat
from cse.lab.folder.runs import read_run
from cse.lab.folder.status import Status, status_of

NOW = 1_800_000_000.0


def state_at(folder, now=NOW):
    return status_of(folder, read_results(folder), read_beat(folder), now)


@pytest.fixture
def beating(leave):
    """beating(seconds ago) -> the folder of a run of another machine, at step 50 of 150, that was alive then."""

    def make(age):
        events = [{"time": NOW - 100.0 + step, "train/loss": 1.0} for step in range(51)]
        folder = leave("a", {"seed": 1}, status="running", events=events, total_steps=150)
        leave_heartbeat(folder, age=time.time() - NOW + age)
        return folder

    return make


def test_a_run_with_a_fresh_heartbeat_is_running_and_says_how_far(beating):
    found = state_at(beating(30.0))
    assert found == Status("running", "step 50 of 150, 2 min left, elsewhere, process 7")


@pytest.mark.parametrize(
    ("resumed_at", "left"),
    [(40.5, ", 2 min left"), (50.0, ""), (60.0, "")],  # of the steps since: ten, one, none yet
)
def test_the_time_before_a_resume_tells_nothing_of_the_time_that_is_left(beating, resumed_at, left):
    """It stood still overnight, between two of its steps."""
    folder = beating(30.0)
    began = NOW - 100.0 + resumed_at
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for event in events:
        event["time"] -= 36_000.0 if event["time"] < began else 0.0
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, events)))
    leave_heartbeat(folder, since=began, age=time.time() - NOW + 30.0)
    assert state_at(folder).why == f"step 50 of 150{left}, elsewhere, process 7"


def test_a_run_that_was_silent_for_long_was_killed_and_says_how_to_resume(beating):
    folder = beating(300.0)
    (folder / "last").mkdir()
    found = state_at(folder)
    assert found.state == "stopped"
    assert f"cse-train resume={folder}" in found.why


def test_a_run_that_ends_while_it_is_read_was_not_killed(leave, monkeypatch):
    """Its heartbeat is gone before its end was read."""
    folder = leave("a", {}, status="running")

    def no_beat(folder):
        change_results(folder, status="done")

    monkeypatch.setattr(runs, "read_beat", no_beat)
    assert read_run(folder).is_done


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        ("done", None, Status("done")),
        ("failed", "RunError: the loss\nis nan", Status("failed", "RunError: the loss is nan")),
        ("failed", None, Status("failed", "no reason is recorded")),
        ("interrupted", "stopped by SIGTERM; this goes on", Status("stopped", "stopped by SIGTERM; this goes on")),
        ("killed", None, Status("stopped", "killed")),
    ],
)
def test_a_run_that_ended_says_how(leave, status, error, expected):
    folder = leave("a", {"seed": 1}, status=status, error=error)
    assert state_at(folder) == expected
    run = read_run(folder)
    assert (run.state, run.why) == expected
