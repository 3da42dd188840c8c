"""The record of a run: which process writes it, and what its trackers are told."""

import json
from functools import partial

from cse.record.events import read_events
from cse.run.record import Record


class Tells:
    patience = 5.0

    def __init__(self, folder, about, resume_step, told):
        told.append(about)

    def log(self, metrics, step):
        pass

    def finish(self, exit_code, summary):
        pass

    def abandon(self):
        pass


CONFIG = {"seed": 3, "choices": {"objective": "simcse", "model": "bert", "data": "nli", "aux_modality": "none"}}


def test_a_tracker_is_told_what_the_run_is(tmp_path):
    told = []
    with Record(tmp_path, CONFIG, kind="train", device="cpu", trackers=[partial(Tells, told=told)]) as record:
        record.log(1, {"train/loss": 1.0})
        record.trackers.finish(0, {})
    (about,) = told
    assert about.name == "simcse-bert-s3"
    assert about.tags == ["simcse", "bert", "nli"]
    assert about.versions["torch"]
    assert about.command == json.loads((tmp_path / "results.json").read_text())["command"]
    assert [event["event"] for event in read_events(tmp_path / "metrics.jsonl")] == ["metrics", "finish"]


def test_only_the_first_process_logs(tmp_path):
    told = []
    with Record(
        tmp_path, CONFIG, kind="train", device="cpu", trackers=[partial(Tells, told=told)], writes=False
    ) as record:
        record.log(1, {"train/loss": 1.0})
    assert not told
    assert not list(tmp_path.iterdir())
