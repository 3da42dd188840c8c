"""A run's folder: what may not be replaced in it, and how it says that the run can be continued. The number of steps
from settings alone, and a dry run without weights."""

import re
from itertools import product

import pytest
from omegaconf import OmegaConf
from typed import exit_code

from cse.lab.run.job import Job, steps_in_words
from cse.lab.settings.compose import composed


@pytest.mark.parametrize(
    ("writes", "saved", "hint"),
    [
        (True, "last", "this continues it: cse-train 'resume={}'"),
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


@pytest.mark.parametrize(("program", "name"), list(product(["cse-train", "cse-eval"], ["best", "last", "scores.csv"])))
def test_a_folder_that_holds_a_run_or_scores_is_refused(small_run, tiny_bert, tmp_path, capsys, program, name):
    (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / "run.yaml").touch()
    scored = [f"checkpoint={tiny_bert}", "pooling=cls", "eval=stsb", f"hydra.run.dir={tmp_path}/run"]
    assert exit_code(program, *(small_run if program == "cse-train" else scored)) == 2
    assert f"{tmp_path}/run" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "run").iterdir()} == {name, "run.yaml"}


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (["objective=declutr"], "30,952"),  # its appendix's
        (["objective=whitenedcse", "objective.m=5"], "15,625"),  # rows of 64 are wiki1m
        (["objective=simcse_sup", "data.limit=0.5"], f"{3 * (137_800 // 512 + 1)}"),  # the last batch is smaller
        (["objective=simcse_sup", "data.limit=0.5", "trainer.drop_last=true"], f"{3 * (137_800 // 512)}"),
        (["objective=simcse", "trainer.accumulate=2", "trainer.max_steps=7"], "7"),
        (["objective=simcse", "data=text", "data.path=x"], "?"),
        (["objective=simcse", "data=text", "data.path=x", "trainer.max_steps=70"], "at most 70"),
    ],
)
def test_steps(words, steps):
    assert steps_in_words(composed("train", words)) == steps


def test_a_dry_run_without_weights_shows_the_rest_of_the_plan(small_run, cse_train, tmp_path, capsys):
    assert cse_train([*small_run, "model.name=no-such-model-anywhere", "dry_run=true"]) == 2
    out, err = capsys.readouterr()
    told = dict(re.findall(r"^(\w+) +(.+)$", out, re.M))
    assert told["encoder"] == "no-such-model-anywhere"
    assert told["schedule"].startswith("at most 6 steps, batch 8, ")
    assert told["folder"] == str(tmp_path / "run")
    assert "no-such-model-anywhere" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("most", "said"), [("7", "6 steps (all of trainer.epochs="), ("5", "5 steps, "), ("null", "6 ")]
)
def test_a_run_says_that_its_epochs_end_before_the_steps_asked_for(small_run, cse_train, capsys, most, said):
    assert (
        cse_train([*small_run, "trainer.epochs=1", "data.limit=48", f"trainer.max_steps={most}", "dry_run=true"]) == 0
    )
    (schedule,) = re.findall(r"^schedule +(.+)$", capsys.readouterr().out, re.M)
    assert schedule.startswith(said)
