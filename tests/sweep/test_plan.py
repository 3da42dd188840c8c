"""The lines and the table of a start of many jobs, and what a job's end is called."""

import signal
import sys
from types import SimpleNamespace

import pytest

from cse.sweep import plan, worker


@pytest.mark.parametrize(
    ("other", "heading", "cells"),
    [
        ("dev/stsb/spearman", "dev/stsb/spearman", ["78.05", "79.10"]),
        ("test/sts/average", "score", ["dev/stsb/spearman 78.05", "test/sts/average 79.10"]),
    ],
)
def test_a_score_is_shown_with_its_name(tmp_path, capsys, other, heading, cells):
    path = tmp_path / "start.json"
    plan.record_end(path, "a", "done", score=("dev/stsb/spearman", 78.05), seconds=61)
    plan.record_end(path, "b", "done", score=(other, 79.1))
    plan.record_end(path, "c", "failed", why="no memory")
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()]  # without the time
    assert lines[0] == "done         a  dev/stsb/spearman 78.05"
    assert lines[1] == f"done         b  {other} 79.10"
    assert lines[2] == "failed       c  no memory"
    assert plan.conclude("many", path, ["a", "b", "c"], "the report") == 1
    head, first, second, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["job", "state", heading, "time"]
    assert [cells[0] in first, cells[1] in second] == [True, True]


@pytest.mark.parametrize(
    ("metrics", "score"),
    [
        ({"dev/a": 1.0, "dev/b/average": 2.0, "dev/c": 3.0}, ("dev/c", 3.0)),
        ({"dev/a": 1.0, "dev/b/average": 2.0}, ("dev/b/average", 2.0)),
        ({"dev/a": 1.0}, ("dev/a", 1.0)),
        ({"dev/a": None, "dev/c": None}, None),  # NaN, of vectors that are all alike
        ({}, None),
    ],
)
def test_the_score_of_a_job_is_the_one_that_selects(metrics, score):
    assert worker.score_of({"metrics": metrics, "config": {"trainer": {"select": "dev/c"}}}) == score


def test_a_job_that_dies_of_a_signal_before_it_listens_was_interrupted(tmp_path, monkeypatch):
    class Stopped(worker.Told):
        def pass_on_to(self, process):
            self.received.append(signal.SIGTERM)
            super().pass_on_to(process)

    monkeypatch.setattr(worker, "command_of", lambda *_: [sys.executable, "-c", "import time; time.sleep(3600)"])
    assert worker.run(SimpleNamespace(scores=None), tmp_path, Stopped()) == worker.INTERRUPTED
