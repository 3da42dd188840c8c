"""What is refused leaves a run as it is: every byte of it, and the right to be resumed."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def finished(small_run_in, cse_train, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert cse_train(small_run_in(folder)) == 0
    return folder / "run"


@pytest.fixture
def run(finished, tmp_path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def content(folder: Path) -> dict[str, str]:
    """Every file's digest but the log's, which tells of attempts."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("bad", [["trainer.lr=1e-5"], ["seed=7"], ["trainer.batch_size=16"], ["model.pooling=mean"],
                                 ["paths.senteval=/no/such/folder"], ["trainer.lr=-1"]])  # fmt: skip
def test_a_refused_resume_can_be_resumed(run, cse_train, capsys, bad):
    before = content(run)
    assert cse_train([f"resume={run}", "trainer.max_steps=8", *bad]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert content(run) == before
    assert cse_train([f"resume={run}", "trainer.max_steps=8"]) == 0
    assert json.loads((run / "results.json").read_text())["steps"] == 8


def test_a_folder_that_holds_a_run_is_left_alone(run, small_run, cse_train):
    before = content(run)
    assert cse_train([*small_run, "trainer.lr=1e-5"]) == 2
    assert content(run) == before


@pytest.mark.parametrize("damage", [
    shutil.rmtree, lambda best: (best / "config.json").unlink(), lambda best: (best / "model.safetensors").unlink(),
    lambda best: (best / "model.safetensors").write_bytes((best / "model.safetensors").read_bytes()[:-100]),
], ids=["gone", "no config", "no weights", "cut short"])  # fmt: skip
def test_a_finished_run_keeps_its_scores_when_best_is_lost(run, cse_train, capsys, damage):
    damage(run / "best")
    before = content(run)
    assert cse_train([f"resume={run}"]) == 2
    assert "the best so far, and is gone or damaged" in capsys.readouterr().err
    assert content(run) == before


def test_other_dev_data_is_refused(run, cse_train, capsys, tmp_path, senteval):
    shutil.copytree(senteval, tmp_path / "copy")
    path = tmp_path / "copy" / "STS" / "STSBenchmark" / "sts-dev.csv"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    before = content(run)
    assert cse_train([f"resume={run}", "trainer.max_steps=8", f"paths.senteval={tmp_path}/copy"]) == 2
    assert "1 of 2 files of eval=stsb differ (the first: STS/STSBenchmark/sts-dev.csv)" in capsys.readouterr().err
    assert content(run) == before


def test_a_run_killed_between_the_renames_of_best_goes_on(run, cse_train):
    (run / "best").rename(run / "best.old")
    (run / "best.tmp").mkdir()
    assert cse_train([f"resume={run}"]) == 0
    assert (run / "best" / "config.json").exists()
    assert not (run / "best.old").exists()
    assert not (run / "best.tmp").exists()
