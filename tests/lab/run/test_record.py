"""The record of a run: which process writes it, and what its trackers learn of the run."""

from functools import partial

import pytest
from lab.tracking.test_trackers import Recorder
from run_folders import results_of

from cse.lab.folder.events import read_events
from cse.lab.run.record import Record

CONFIG = {"seed": 3, "choices": {"objective": "simcse", "model": "bert", "data": "nli", "aux_modality": "none"}}


@pytest.mark.parametrize("writes", [True, False])
def test_the_first_process_alone_writes_and_tells_trackers_of_the_run(tmp_path, writes):
    received = []
    trackers = [partial(Recorder, events=received)]
    with Record(tmp_path, CONFIG, kind="train", device="cpu", trackers=trackers, writes=writes) as record:
        record.log(1, {"train/loss": 1.0})
        if not writes:
            assert not [*received, *tmp_path.iterdir()]
            return
        record.trackers.finish(0, {})
    assert [name for name, *_ in received] == ["start", "log", "finish"]
    _, about, _ = received[0]
    assert (about.name, about.tags) == ("simcse-bert-s3", ["simcse", "bert", "nli"])
    assert about.versions["torch"]
    assert about.command == results_of(tmp_path)["command"]
    assert [event["event"] for event in read_events(tmp_path / "metrics.jsonl")] == ["metrics", "finish"]


def test_a_failed_run_says_why_and_where(tmp_path):
    error = ZeroDivisionError("division by zero")
    error.add_note("(raised while eval.mine scored dev)")
    with pytest.raises(ZeroDivisionError), Record(tmp_path, CONFIG, kind="train", device="cpu", trackers=[]):
        raise error
    results = results_of(tmp_path)
    told = "ZeroDivisionError: division by zero (raised while eval.mine scored dev)"
    assert (results["status"], results["error"]) == ("failed", told)
