"""All trackers of a run: each gets every event, and one that fails or hangs does not hold up the run."""

import math
import threading
from functools import partial

import pytest

from cse.lab.folder.events import read_events
from cse.lab.tracking.run_info import RunInfo
from cse.lab.tracking.trackers import EventLog

ABOUT = RunInfo("train", {"seed": 1}, "cse-train", None, {})


class Recorder:
    """Records the calls that it gets."""

    patience = 5.0

    def __init__(self, folder, about, resume_step, events):
        self.events = events
        events.append(("start", about, resume_step))

    def __getattr__(self, name):
        return lambda *arguments: self.events.append((name, *arguments))


class Breaks(Recorder):
    def log(self, metrics, step, lower_is_better):
        raise ConnectionError("the\nserver is gone")


class Hangs(Recorder):
    patience = 0.1

    def log(self, metrics, step, lower_is_better):
        threading.Event().wait()


class HangsPatiently(Hangs):
    patience = 60.0


class HangsUntilAbandoned(Recorder):
    """Its call raises when what it waits for is torn down, as W&B's does."""

    patience = 0.1
    gone = threading.Event()

    def log(self, metrics, step, lower_is_better):
        self.gone.wait()
        raise ConnectionError("the service is gone")

    def abandon(self):
        self.events.append(("abandon",))
        self.gone.set()


class NeverStarts:
    def __init__(self, **_):
        raise PermissionError("no")


def test_every_tracker_gets_every_event(tmp_path):
    events = []
    trackers = EventLog(tmp_path, ABOUT, [partial(Recorder, events=events)], resume_step=0)
    trackers.log({"train/loss": 1.0}, 1)
    trackers.image("loss", tmp_path / "loss.png", 1)
    trackers.table("scores", ["a"], [[1]])
    trackers.finish(0, {"a": 1})
    assert events == [
        ("start", ABOUT, 0),
        ("log", {"train/loss": 1.0}, 1, ()),
        ("image", "loss", tmp_path / "loss.png", 1),
        ("table", "scores", ["a"], [[1]]),
        ("finish", 0, {"a": 1}),
    ]
    assert [e["event"] for e in read_events(tmp_path / "metrics.jsonl")] == ["metrics", "image", "table", "finish"]


@pytest.mark.parametrize(("kind", "patience", "why"), [
    (Breaks, math.inf, "the server is gone"), (Hangs, math.inf, "0.1 s"), (HangsPatiently, 0.1, "0.1 s"),
])  # fmt: skip
def test_a_tracker_that_fails_or_hangs_is_abandoned_with_one_warning(tmp_path, caplog, kind, patience, why):
    """A hanging one after the tracker's patience or the run's, whichever is shorter."""
    failing, whole = [], []
    builders = [partial(NeverStarts), partial(kind, events=failing), partial(Recorder, events=whole)]
    trackers = EventLog(tmp_path, ABOUT, builders)
    for step in range(3):
        trackers.log({"train/loss": 1.0}, step)
    trackers.finish(0, {}, patience)
    assert [message.split()[0] for message in caplog.messages] == ["NeverStarts", kind.__name__]
    assert why in caplog.messages[1]
    assert [event[0] for event in failing] == ["start", "abandon"]
    assert [event[0] for event in whole] == ["start", "log", "log", "log", "finish"]
    assert len(list(read_events(tmp_path / "metrics.jsonl"))) == 4


def test_a_hanging_tracker_that_fails_when_it_is_torn_down_gets_no_second_warning(tmp_path, caplog):
    events = []
    trackers = EventLog(tmp_path, ABOUT, [partial(HangsUntilAbandoned, events=events)])
    trackers.log({"train/loss": 1.0}, 1)
    trackers.finish(0, {})
    trackers.trackers[0].thread.join()
    assert [message.split()[0] for message in caplog.messages] == ["HangsUntilAbandoned"]
    assert [event[0] for event in events] == ["start", "abandon"]
