"""Runs of older editions, in tests/editions, are reported and scored, but not resumed.

`first` is of commit 0717a86, `second` and `stopped` (by SIGTERM) of 7364c2d: `cse-train objective=simcse model=bert
model.name=tiny data=text data.path=sentences.txt eval=stsb trainer.max_steps=4 trainer.eval_every=2 seed=3` on a BERT
of two layers and width 16. Pictures, logs and checkpoints are left out, and folders are written as /lab.
"""

import shutil
from pathlib import Path

import pytest
from typed import exit_code

import cse
from cse.errors import UserError
from cse.record.runs import read_runs

EDITIONS = Path(__file__).parents[1] / "editions"


@pytest.fixture
def runs(tmp_path) -> Path:
    """Copies of all three."""
    return shutil.copytree(EDITIONS, tmp_path / "runs")


def test_they_are_reported(runs, tmp_path, capsys):
    first, second, stopped = read_runs([runs])
    assert [run.status for run in (first, second, stopped)] == ["done", "done", "interrupted"]
    assert first.metrics == pytest.approx(second.metrics)
    assert [run.get("objective") for run in (first, second, stopped)] == [None, "simcse", "simcse"]
    assert exit_code("cse-report", f"runs={runs}", f"out={tmp_path / 'out'}") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "2 done, 1 stopped" in out


def test_a_copy_without_hidden_files_is_the_same_run(runs):
    """As uploaded by a CI, which leaves them out: results.json has the choices and the line."""
    whole = read_runs([runs])[1:]
    for folder in runs.glob("*/.hydra"):
        shutil.rmtree(folder)
    assert read_runs([runs])[1:] == whole
    assert all("objective=simcse" in run.overrides and run.get("objective") == "simcse" for run in whole)


@pytest.mark.parametrize("name", ["first", "second"])
def test_they_are_scored(runs, tmp_path, name, senteval):
    line = ["eval=stsb", f"paths.senteval={senteval}", "allow_partial=true", f"hydra.run.dir={tmp_path / 'scores'}"]
    assert exit_code("cse-eval", f"checkpoint={runs / name}", *line) == 0
    (scored,) = read_runs([tmp_path / "scores"])
    before = read_runs([runs / name])[0].metrics
    assert scored.get("seed") == 3
    assert scored.metrics["test/stsb/spearman"] == pytest.approx(before["test/stsb/spearman"], abs=0.01)
    assert cse.load(runs / name).encode(["kadan lofel"]).shape == (1, 16)


@pytest.mark.parametrize("name", ["first", "second", "stopped"])
def test_they_are_not_resumed(runs, name):
    with pytest.raises(UserError, match=rf"{name}: .*run\.yaml"):
        cse.train(f"resume={runs / name}")
