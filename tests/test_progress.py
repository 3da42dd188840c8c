"""Progress: silent unless shown, a line with the time left, and loops inside loops."""

import io
import logging
from types import SimpleNamespace

import pytest

from cse import progress
from cse.progress import live, showing, track


@pytest.fixture
def lines(monkeypatch, caplog):
    """The lines about shown blocks, with a clock that advances a second each time it is read."""
    seconds = iter(range(10_000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(progress, "EVERY", 1.0)
    monkeypatch.delenv("RANK", raising=False)
    caplog.set_level(logging.INFO, "cse")
    return caplog


def test_lines_have_the_position_and_the_time_left(lines):
    with showing("transfer test"):
        assert list(track(["MR", "CR", "MRPC", "SST2"], str)) == ["MR", "CR", "MRPC", "SST2"]
    assert list(track([1, 2, 3], "fit")) == [1, 2, 3]  # shown by nobody
    assert lines.messages[0] == "transfer test, MR 1 of 4"  # nothing is known yet about the time left
    said = [line.rpartition(", about ") for line in lines.messages[1:]]
    assert [words for words, _, _ in said] == [f"transfer test, {name} of 4" for name in ("CR 2", "MRPC 3", "SST2 4")]
    left = [float(rest.removesuffix(" s left")) for _, _, rest in said]
    assert left[0] > left[-1] > 0
    with showing("reading text"):
        assert list(track(iter("ab"), "row")) == list("ab")
    assert lines.messages[4:] == ["reading text, row 1", "reading text, row 2"]


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


def test_a_block_shown_inside_a_run_is_a_bar_below_the_runs(terminal, monkeypatch):
    """Two live displays would overwrite each other; loops that are left early leave nothing behind."""
    with live(transient=False) as bars:
        bars.add_task("step 4/10")
        with showing("stsb dev"):
            for done, _ in enumerate(track("ab", "task")):
                batches = track("xyz", "batch")
                next(batches)
                shown = bars.tasks[1]
                assert shown.description == f"stsb dev, task {done + 1} of 2, batch 1 of 3"
                assert (shown.completed, shown.total) == (done, 2)
        assert [task.description for task in bars.tasks] == ["step 4/10"]
    monkeypatch.setenv("RANK", "1")
    with live(transient=True) as bars:
        assert bars is None
