"""A run's folder: what may not be replaced in it, and how it says that the run can be continued."""

from itertools import product

import pytest
from omegaconf import OmegaConf
from typed import exit_code

from cse.lab.run.job import Job


@pytest.mark.parametrize(
    ("writes", "saved", "hint"),
    [
        (True, "last", "this goes on: cse-train 'resume={}'"),
        (True, "run.yaml", "nothing is saved yet, this starts again: cse-train 'resume={}'"),
        (True, "plots", "nothing is saved yet"),
        (False, "last", "nothing was trained"),
    ],
)
def test_the_hint_is_a_command_that_works(tmp_path, writes, saved, hint):
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / saved).touch() if saved == "run.yaml" else (folder / saved).mkdir()
    cfg = OmegaConf.create({"trainer": {}, "data": {"preview": 0}, "dry_run": not writes})
    assert Job(cfg, [], folder).resume_hint() == hint.format(folder)


@pytest.mark.parametrize(
    ("program", "name"), [*product(["cse-train", "cse-eval"], ["best", "last"]), ("cse-eval", "scores.csv")]
)
def test_a_folder_that_holds_a_run_or_scores_is_refused(small_run, tiny_bert, tmp_path, capsys, program, name):
    (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / "run.yaml").touch()
    scored = [f"checkpoint={tiny_bert}", "pooling=cls", "eval=stsb", f"hydra.run.dir={tmp_path}/run"]
    assert exit_code(program, *(small_run if program == "cse-train" else scored)) == 2
    assert f"{tmp_path}/run" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "run").iterdir()} == {name, "run.yaml"}
