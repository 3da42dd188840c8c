"""What became of a run: from its results, its heartbeat, and how long ago the last one was."""

import json
import os

import pytest

from cse.record.runs import read_run
from cse.record.status import Status, status_of

NOW = 1_800_000_000.0


@pytest.fixture
def beating(leave):
    """beating(host, pid, seconds ago, steps) -> the folder of a run whose results say that it is running."""

    def make(host, pid, age, steps=None):
        events = [{"time": NOW - 100.0 + step, "train/loss": 1.0} for step in range(51)]
        folder = leave("a", {"seed": 1}, status="running", events=events)
        beat = folder / "heartbeat.json"
        beat.write_text(json.dumps({"host": host, "pid": pid, "steps": steps}))
        os.utime(beat, (NOW - age, NOW - age))
        return folder

    return make


def test_a_run_with_a_fresh_heartbeat_is_running_and_says_how_far(beating):
    found = status_of(read_run(beating("elsewhere", 1, 30.0, 150)), NOW)
    assert found == Status("running", "step 50 of 150, 100 s left, elsewhere, process 1".replace("100 s", "2 min"))


def test_a_run_without_a_beat_for_long_was_killed_and_says_how_it_goes_on(beating):
    folder = beating("elsewhere", 1, 300.0)
    (folder / "last").mkdir()
    found = status_of(read_run(folder), NOW)
    assert found.state == "stopped"
    assert found.detail.endswith(f": cse-train resume={folder} goes on")


def test_a_run_that_ends_after_it_was_read_was_not_killed(leave):
    run = read_run(leave("a", {}, status="running"))
    results = run.folder / "results.json"
    results.write_text(results.read_text().replace("running", "done"))
    assert status_of(run) == Status("running", "it ended while this report was made")


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        ("done", None, Status("done")),
        ("failed", "RunError: the loss\nis nan", Status("failed", "RunError: the loss is nan")),
        ("failed", None, Status("failed", "it does not say why")),
        ("interrupted", "stopped by SIGTERM; this goes on", Status("stopped", "stopped by SIGTERM; this goes on")),
        ("killed", None, Status("stopped", "killed")),
    ],
)
def test_a_run_that_ended_says_how(leave, status, error, expected):
    folder = leave("a", {"seed": 1}, status=status)
    if error:
        results = json.loads((folder / "results.json").read_text())
        (folder / "results.json").write_text(json.dumps(results | {"error": error}))
    assert status_of(read_run(folder), NOW) == expected
