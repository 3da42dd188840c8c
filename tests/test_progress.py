"""How far something long has come: silent unless shown, a line with the time left, and loops inside loops."""

import logging

import pytest

from cse import progress
from cse.progress import Level, showing, track


@pytest.fixture
def lines(monkeypatch, caplog):
    """What is said of blocks that are shown, with a clock that is a second later at each look."""
    seconds = iter(range(10_000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(progress, "EVERY", 1.0)
    caplog.set_level(logging.INFO, "cse")
    return caplog


def test_nothing_is_said_where_nobody_asked(lines):
    assert list(track([1, 2, 3], "fit")) == [1, 2, 3]
    assert not lines.messages


def test_a_line_says_what_is_done_and_how_long_the_rest_takes(lines):
    with showing("transfer test"):
        assert list(track(["MR", "CR", "MRPC", "SST2"], str)) == ["MR", "CR", "MRPC", "SST2"]
    said = [line.rpartition(", about ") for line in lines.messages]
    assert [words for words, _, _ in said] == [f"transfer test, {name} of 4" for name in ("CR 2", "MRPC 3", "SST2 4")]
    left = [float(rest.removesuffix(" s left")) for _, _, rest in said]
    assert left[0] > left[-1] > 0


def test_an_item_counts_as_far_as_the_loops_inside_it_have_come():
    display = progress.Display("", None)
    for level in (Level("task", 4, done=1), Level("fit", 2, done=1)):
        display.push(level)
    assert display.share() == pytest.approx((1 + 1 / 2) / 4)


def test_a_loop_that_is_left_early_is_gone(lines):
    with showing("probing test"):
        for _ in track(["Length", "Depth"], str):
            for check in track(range(10), "check"):
                if check == 1:
                    break
        display = progress._display.get()
    assert display.levels == []
    assert lines.messages[-1].startswith("probing test, Depth 2 of 2, check 2 of 10, about ")


def test_a_long_loop_of_an_evaluation_is_shown_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with showing("transfer test"):
        bar = progress._display.get().bar
        items = track(["MR", "CR"], str)
        assert [next(items), next(items)] == ["MR", "CR"]
        (task,) = bar.tasks
        assert (task.description, task.completed) == ("transfer test, CR 2 of 2", 0.5)
        assert list(items) == []
        assert not bar.tasks
