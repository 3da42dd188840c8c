"""Progress: silent unless shown, lines with the time left, and loops inside loops."""

import io
import logging
import time
from types import SimpleNamespace

import pytest

from cse import progress
from cse.progress import live, showing, track


def test_lines_have_the_position_and_the_time_left(monkeypatch, caplog):
    monkeypatch.setattr(progress, "EVERY", 0.05)
    monkeypatch.setattr(progress, "LOOK", 0.0)
    caplog.set_level(logging.INFO, "cse")
    assert list(track([1, 2, 3], "fit")) == [1, 2, 3]  # shown by nobody
    assert caplog.messages == []
    with showing("transfer test"):
        done = []
        for name in track(["MR", "CR", "MRPC"], str):
            done.append(name)
            for _ in track(iter("xyz"), "batch"):
                time.sleep(0.1)
    assert done == ["MR", "CR", "MRPC"]
    assert "transfer test, MR 1 of 3, batch 2 of ?" in caplog.messages
    said, _, left = caplog.messages[-1].rpartition(", about ")
    assert said.startswith("transfer test, MRPC 3 of 3, batch ")
    assert float(left.removesuffix(" s left")) >= 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Standard error is a terminal, and every item updates the bar."""
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=Terminal(), stdout=io.StringIO()))
    monkeypatch.setattr(progress, "LOOK", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("RANK", raising=False)


def test_a_loop_has_its_name_before_its_first_item(terminal):
    with live(transient=True) as bars:
        assert list(track((bars.tasks[-1].description for _ in "x"), "text", 1)) == ["text"]


def test_a_block_shown_inside_a_run_has_bars_below_the_runs(terminal, monkeypatch):
    """Two live displays would overwrite each other; loops that are left early leave nothing behind."""
    with live(transient=False) as bars:
        bars.add_task("loss 0.5", total=10)
        with showing("stsb dev"):
            for done, _ in enumerate(track("ab", "task")):
                batches = track("xyz", "batch")
                next(batches)
                run, title, outer, inner = bars.tasks
                assert (run.total, title.description) == (10, "stsb dev")
                assert (outer.description, outer.completed, outer.total) == ("task", done, 2)
                assert (inner.description, inner.completed, inner.total) == ("batch", 0, 3)
                batches.close()
        assert [task.description for task in bars.tasks] == ["loss 0.5"]
    monkeypatch.setenv("RANK", "1")
    with live(transient=True) as bars:
        assert bars.disable
