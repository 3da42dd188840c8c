"""Runs read back from their folders, whole or damaged."""

import json
import os
from pathlib import Path

import pytest

from cse.api import TrainingRun
from cse.errors import UserError
from cse.lab.folder.runs import read_run, read_runs
from cse.lab.settings.arguments import texts_of

PLACE = ".cse-0123456789abcdef.best"  # where best/ is written


def test_runs_come_back_with_their_state(leave, tmp_path, monkeypatch):
    scores = {"test/sts/average": 70.0, "test/x": None}
    leave("a", {"seed": 1, "objective.k": 32}, scores, choices={"objective": "whitenedcse"})
    leave("b", {"seed": 2}, status="failed")
    leave("c", {"seed": 3}, status="killed")
    (leave("d", {"seed": 4}) / PLACE).mkdir()
    (tmp_path / "runs/d/results.json").write_text('{"status": "do')
    scan = os.scandir

    def gone(folder):  # the best step is written beside the old one, for a moment
        if Path(folder).name == PLACE:
            raise FileNotFoundError(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", gone)
    found = read_runs([tmp_path / "runs", tmp_path / "runs/a"])
    states = {"a": "done", "b": "failed", "c": "stopped", "d": "failed"}
    assert {run.folder.name: run.state for run in found} == states
    assert found[0].metrics == {"test/sts/average": 70.0}
    assert found[2].get("seed") == 3  # from run.yaml
    with pytest.raises(UserError, match="nowhere"):
        read_runs([tmp_path / "nowhere"])


def test_a_folder_that_is_named_twice_has_its_runs_once(leave, tmp_path):
    leave("a", {"seed": 1})
    (tmp_path / "link").symlink_to(tmp_path / "runs")
    assert len(read_runs([tmp_path / "runs", tmp_path / "runs" / ".." / "runs" / "a", tmp_path / "link"])) == 1


def test_a_scored_run_has_the_seed_of_its_training(leave):
    """cse-eval has no seed of its own; three scored runs would otherwise count as one with three scores."""
    assert read_run(leave("a", {"checkpoint": "runs/table1/simcse-seed_3"}, {"test/x": 1}, seed=3)).get("seed") == 3


def test_an_evaluation_is_shown_without_a_step(leave):
    folder = leave("a", {"checkpoint": "x"}, {"test/sts/average": 70.0})
    assert repr(TrainingRun(folder)) == f"TrainingRun('{folder}', of cse-eval)"


def test_an_older_run_has_its_modified_scores(leave):
    """Its results.json says `altered`."""
    folder = leave("a", {"seed": 1}, {"dev/sts/x": 1.0, "dev/stsb/x": 2.0}, modified="dev/sts")
    results = folder / "results.json"
    results.write_text(results.read_text().replace('"modified"', '"altered"'))
    assert read_run(folder).modified == {"dev/sts/x"}


@pytest.mark.parametrize(("command", "words"), [
    ("cse-train sweep=a/b '~report' 'data.path=my file' hydra.mode=RUN --config-dir /own/a=b",
     ("sweep=a/b", "~report", "data.path=my file", "hydra.mode=RUN")),
    ("cse-train 'unbalanced", ()), ("", ()),
])  # fmt: skip
def test_the_words_of_a_command_are_its_settings(leave, caplog, command, words):
    run = read_run(folder := leave("a", {"seed": 1}, overrides=["seed=1"], command=command))
    assert tuple(texts_of(run.arguments)) == words
    warned = [f"{folder}/results.json: the arguments of its command are ignored (No closing quotation)"]
    assert caplog.messages == (warned if "unbalanced" in command else [])


def test_a_group_is_found_by_its_choice_and_a_value_by_its_key(leave):
    config = {"objective._target_": "x.Simcse", "trainer.max_steps": None, "seed": 0}
    run = read_run(leave("a", config, choices={"objective": "simcse", "model": "bert"}))
    assert run.get("objective") == "simcse"
    assert run.matches({"objective": "simcse", "model": ["roberta", "bert"], "trainer.max_steps": None, "seed": 0})
    assert not run.matches({"model": "roberta"})
    assert not run.matches({"objective.lambd": 0.005})


WHOLE = json.dumps({"status": "done", "config": {"seed": 1, "trainer": {"lr": 1e-5}}, "metrics": {"test/x": 99.0}})
DAMAGED = [
    b"", b"[]", b"[1, 2]", b"null", b"5", b'"text"', b"{", b"{]", b"\xff\xfe", b"a: b: c", b"- a\n- {b: [",
    b'{"status": 5, "metrics": [1], "config": "x", "choices": [2], "event": "metrics", "step": "one"}',
    b'{"status": "done", "metrics": {"a": "b", "c": {}}, "event": "metrics", "step": 1, "train/loss": "x"}',
]  # fmt: skip
NO_NUMBERS = ["true", '"99"', "[99]", "1" + 400 * "0", "1e400", "NaN", "Infinity", "-Infinity", "1e300"]
ODD = [(" 99.0", number, "test/x") for number in NO_NUMBERS]
ODD += [('"done"', '"broken"', "status"), ('"config"', '"c"', "config")]


@pytest.mark.parametrize(
    ("name", "content", "key"),
    [(name, content, "") for name in ("results.json", "run.yaml", "metrics.jsonl") for content in DAMAGED]
    + [("results.json", WHOLE.replace(old, new, 1).encode(), key) for old, new, key in ODD],
)
def test_damaged_files_leave_the_other_runs(leave, runs, caplog, name, content, key):
    """Half, empty, lists, another program's, no finite numbers: a run is left out, in one line, or read in part."""
    leave("whole", {"seed": 1}, {"test/x": 70.0})
    folder = leave("damaged", {"seed": 2}, {"test/x": 60.0}, events=[{"train/loss": 1.0}])
    (folder / name).write_bytes(content)
    damaged, whole = runs()
    assert (whole.metrics, whole.get("seed")) == ({"test/x": 70.0}, 1)
    assert isinstance(damaged.get("seed"), int | None)
    assert all(isinstance(value, float) for value in damaged.metrics.values())
    damaged.events()
    if name == "results.json":
        assert (damaged.state, damaged.metrics) == ("failed", {})
        assert damaged.why == "its results.json cannot be read"
        (line,) = (record.getMessage() for record in caplog.records)
        assert line.startswith(str(folder / name))
        assert key in line
        assert len(line.splitlines()) == 1
        with pytest.raises(UserError, match=str(folder)):
            _ = TrainingRun(folder).scores
