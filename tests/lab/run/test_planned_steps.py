"""The number of steps from settings alone, and a dry run without weights."""

import re

import pytest

from cse.lab.run.planned_steps import steps_in_words
from cse.lab.settings.compose import composed


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (["objective=declutr"], "30,952"),  # its appendix's
        (["objective=whitenedcse", "objective.m=5"], "15,625"),  # rows of 64 are wiki1m
        (["objective=whitenedcse", "trainer.drop_last=false", "data.limit=66"], "at most 2"),  # 2 rows are too few
        (["objective=whitenedcse", "trainer.drop_last=false", "data.limit=65"], "1"),
        (["objective=whitenedcse", "trainer.drop_last=false", "data.limit=128"], "2"),
        (["objective=simcse_sup", "data.limit=0.5"], f"{3 * (137_800 // 512 + 1)}"),  # the last batch is smaller
        (["objective=simcse_sup", "data.limit=0.5", "trainer.drop_last=true"], f"{3 * (137_800 // 512)}"),
        (["objective=simcse", "trainer.accumulate=2", "trainer.max_steps=7"], "7"),
        # 35 batches: 0.3 * (35 / 3) is less than 3.5, and rounded down as in the run
        (["objective=simcse", "data.limit=2240", "trainer.epochs=0.3", "trainer.accumulate=3"], "3"),
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
