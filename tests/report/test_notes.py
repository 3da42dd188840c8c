"""What scores depend on beside the encoder is never mixed without a word."""

import json
import os
import time
from dataclasses import replace

from cse.record.runs import read_runs
from cse.report.notes import deviations, missing_jobs, mixed, scored_differently

SOURCE = {"protocol": "Spearman", "files": {"sts.csv": {"sha256": "aa", "rows": 9}}, "folds": [1.0]}


def changed(folder, **more):
    path = folder / "results.json"
    results = json.loads(path.read_text())
    path.write_text(json.dumps({**results, **more}))


def test_libraries_data_and_settings_of_the_evaluation_are_named_with_their_values(leave, tmp_path):
    settings = {"seed": 1, "eval.sts.allow_partial": False, "eval.sts.senteval": "/here"}
    first = leave("first", settings, {"test/sts/average": 1.0})
    other = leave("other", {**settings, "eval.sts.senteval": "/there"}, {"test/sts/average": 1.0})
    changed(first, data={"sts": SOURCE}, versions={"torch": "2.11.0", "rich": "1"})
    changed(other, data={"sts": {**SOURCE, "folds": [2.0]}}, versions={"torch": "2.11.0", "rich": "2"})
    assert scored_differently(read_runs([tmp_path / "runs"])) == []  # nothing that moves a score

    changed(other, data={"sts": {**SOURCE, "files": {"sts.csv": {"sha256": "bb"}}}}, versions={"torch": "2.10.0"})
    more = leave("partial", {**settings, "eval.sts.allow_partial": True}, {"test/sts/average": 1.0})
    changed(more, data={"sts": SOURCE}, versions={"torch": "2.11.0"})
    torch, partial, data = scored_differently(read_runs([tmp_path / "runs"]))
    assert torch == "torch (2.11.0 | 2.10.0)"
    assert partial == "eval.sts.allow_partial (false | true)"
    assert data.startswith("data of sts (")
    for settings in (True, False):
        (line,) = mixed("a, b", read_runs([tmp_path / "runs"]), "seed", settings)
        assert line.startswith("a, b: joins runs that differ in torch (2.11.0 | 2.10.0); eval.sts")


def test_one_name_of_two_texts_is_told(leave, tmp_path):
    for seed, folder, content in ((1, "/here", "aa"), (2, "/there", "aa"), (3, "/there", "bb")):
        told = {"name": "text", "sha256": {f"{folder}/a.txt": content}}
        changed(leave(str(seed), {"seed": seed}, {"dev/stsb/spearman": 1.0}), training_data=told)
    runs = read_runs([tmp_path / "runs"])
    assert mixed("a", runs[:2], "seed", settings=False) == []
    (line,) = mixed("a", runs, "seed", settings=False)
    assert "data=text" in line


def test_what_all_runs_depart_in_is_one_line(leave, tmp_path):
    for seed in range(3):
        leave(f"run-{seed}", {"seed": seed, "model": "minilm", "objective.m": 2 if seed else 3}, {})
    small = ("scale=laptop", "scale.trainer.max_steps=6")
    runs = [replace(run, departures=small) for run in read_runs([tmp_path / "runs"])]
    assert deviations({"model": "bert", "objective.m": 3}, [*runs, *runs]) == [
        "model=minilm (paper: bert), scale.trainer.max_steps=6 (not in the sweep), scale=laptop (not in the sweep)",
        "2 of 3 runs: objective.m=2 (paper: 3)",
    ]


def test_a_missing_job_that_is_alive_says_how_far_it_is(leave, tmp_path):
    events = [{"time": 100.0 + step, "train/loss": 1.0} for step in range(51)]
    beat = leave("a", {"seed": 1}, status="running", events=events) / "heartbeat.json"
    beat.write_text(json.dumps({"host": "elsewhere", "pid": 7, "steps": 100}))
    os.utime(beat, (time.time() + 3600,) * 2)  # however slow this test is
    leave("b", {"seed": 2}, status="running")
    lines = missing_jobs(read_runs([tmp_path / "runs"]), [{"seed": seed} for seed in (1, 2, 3)])
    running = "running, step 50 of 100, 50 s left, elsewhere, process 7"
    assert lines == [f"seed=1: {running}", "seed=2: stopped", "seed=3: not started"]


def test_many_missing_jobs_are_counted():
    jobs = [{"case": case, "seed": seed} for case in ("a", "b") for seed in range(7)]
    assert missing_jobs([], jobs) == ["case=a: 7 jobs not started", "case=b: 7 jobs not started"]
