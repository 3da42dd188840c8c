import logging
from functools import partial

from cse.tracking.jsonl import read_events
from cse.tracking.trackers import Trackers


class Keeps:
    def __init__(self, folder, config, resume_step, events):
        self.events = events
        events.append(("start", config, resume_step))

    def __getattr__(self, name):
        return lambda *arguments: self.events.append((name, *arguments))


class Breaks(Keeps):
    def log(self, metrics, step):
        raise ConnectionError("the\nserver is gone")


class NeverStarts:
    def __init__(self, **_):
        raise PermissionError("no")


def test_every_tracker_gets_every_event(tmp_path):
    events = []
    trackers = Trackers(tmp_path, {"seed": 1}, [partial(Keeps, events=events)], resume_step=0)
    trackers.log({"train/loss": 1.0}, 1)
    trackers.image("loss", tmp_path / "loss.png", 1)
    trackers.table("scores", ["a"], [[1]])
    trackers.finish(0, {"a": 1})
    assert events == [
        ("start", {"seed": 1}, 0),
        ("log", {"train/loss": 1.0}, 1),
        ("image", "loss", tmp_path / "loss.png", 1),
        ("table", "scores", ["a"], [[1]]),
        ("finish", 0, {"a": 1}),
    ]
    assert [e["event"] for e in read_events(tmp_path / "metrics.jsonl")] == ["metrics", "image", "table", "finish"]


def test_a_tracker_that_breaks_is_dropped_with_one_warning(tmp_path, caplog):
    broken, whole = [], []
    with caplog.at_level(logging.WARNING):
        trackers = Trackers(
            tmp_path, {}, [partial(NeverStarts), partial(Breaks, events=broken), partial(Keeps, events=whole)]
        )  # fmt: skip
        for step in range(3):
            trackers.log({"train/loss": 1.0}, step)
        trackers.finish(0, {})
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "NeverStarts could not start (PermissionError: no)",
        "Breaks stopped logging (ConnectionError: the server is gone)",
    ]
    assert len(broken) == 1
    assert [event[0] for event in whole] == ["start", "log", "log", "log", "finish"]
