"""metrics.jsonl: every event is on disk at once, and a resumed run's file has only what precedes its checkpoint."""

import logging
import os
from pathlib import Path

import pytest

from cse.errors import RunError
from cse.files import json_line
from cse.lab.folder.events import EventFile, metric_events, read_events


def metrics(path):
    return [(e["step"], e["train/loss"]) for e in read_events(path) if e["event"] == "metrics"]


def test_every_event_is_on_disk_at_once(tmp_path):
    run = EventFile(tmp_path)
    path = tmp_path / "metrics.jsonl"
    run.log({"train/loss": 0.5}, 1)
    assert metrics(path) == [(1, 0.5)]
    run.log({"train/loss": float("nan")}, 2)
    assert metrics(path)[-1] == (2, None)
    run.image("loss", tmp_path / "loss.png", 3)
    run.table("scores", ["task", "score"], [["STS12", 70.1]])
    run.finish(1, {"test/sts/average": 76.25})
    image, table, finish = list(read_events(path))[-3:]
    assert (image["name"], image["step"]) == ("loss", 3)
    assert (table["columns"], table["rows"]) == (["task", "score"], [["STS12", 70.1]])
    assert (finish["exit_code"], finish["summary"]) == (1, {"test/sts/average": 76.25})


def test_a_resumed_run_drops_half_a_line_and_what_came_after_its_checkpoint(tmp_path):
    run = EventFile(tmp_path)
    for step in (1, 2, 3):
        run.log({"train/loss": 1.0}, step)
    run.file.write('{"event": "metr')
    run.file.flush()
    run = EventFile(tmp_path, resume_step=2)
    run.log({"train/loss": 3.0}, 3)
    assert metrics(run.path) == [(1, 1.0), (2, 1.0), (3, 3.0)]
    assert os.listdir(tmp_path) == ["metrics.jsonl"]
    assert metrics(EventFile(tmp_path).path) == []  # a new run


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_a_full_disk_is_one_sentence(tmp_path):
    run = EventFile(tmp_path)
    run.file = Path("/dev/full").open("w")  # noqa: SIM115 (its closing fails too)
    with pytest.raises(RunError, match=r"metrics\.jsonl"):
        run.log({"train/loss": 1.0}, 1)


def test_only_the_lines_of_a_resumed_runs_end_are_dropped(tmp_path, caplog):
    lines = [json_line({"event": "metrics", "step": step, "train/loss": 0.5}) for step in range(1000)]
    (tmp_path / "metrics.jsonl").write_text("".join(lines) + "half\n" * 1000)
    with caplog.at_level(logging.WARNING):
        assert [event["step"] for event in metric_events(tmp_path)] == list(range(1000))
    assert [record.getMessage().count("999 more") for record in caplog.records] == [1]
    EventFile(tmp_path, resume_step=998)
    assert (tmp_path / "metrics.jsonl").read_text() == "".join(lines[:-1])


@pytest.mark.parametrize(
    "line",
    ['{"event": "metrics", "step": 1, "a": "x"}', '{"event": "metrics", "step": 1, "a": [1]}',
     '{"event": "metrics", "step": "1"}', '{"event": [], "step": 1}', "5", '{"event": "metr'],
)  # fmt: skip
def test_what_is_no_event_is_left_out_with_a_line(tmp_path, caplog, line):
    (tmp_path / "metrics.jsonl").write_text('{"event": "metrics", "step": 0, "train/loss": null}\n' + line + "\n")
    assert [event["step"] for event in read_events(tmp_path / "metrics.jsonl")] == [0]
    assert "line 2" in caplog.text
