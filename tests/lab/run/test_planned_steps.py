"""The number of steps before a run starts, and a dry run without weights."""

import re

import pytest

from cse.data import readers
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


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (["objective=simcse", "data.columns=[a]"], "3"),  # 24 rows of 26
        (["objective=simcse_sup", "data.columns=[a,b,c]", "trainer.epochs=2"], "6"),  # a row may lack its negative
        (["objective=simcse", "data.columns=[a]", "data.limit=0.5"], "2"),
        (["objective=simcse", "data.columns=[a]", "augmentation=spans", "augmentation.positives=1"], "at most 3"),
    ],
)
def test_the_rows_of_a_file_of_ones_own_are_counted_once(cse_train, tmp_path, capsys, monkeypatch, words, steps):
    """Without the unusable rows."""
    rows = ["a,b,c", "NaN,x,y", ",x,y", *(f"{number},x,{'z' if number % 2 else ''}" for number in range(24))]
    (tmp_path / "own.csv").write_text("\n".join(rows))
    read, files = readers.read_rows, []
    monkeypatch.setattr("cse.data.text.read_rows", lambda file, *more: files.append(file) or read(file, *more))
    own = ["data=text", f"data.path={tmp_path}/own.csv", "data.empty=skip", f"paths.cache={tmp_path}/cache", "eval=[]"]
    jobs = ["trainer.lr=1e-5,2e-5", "trainer.batch_size=8", "trainer.select=null", "dry_run=true"]
    assert cse_train(["-m", "model=minilm", "seed=1,2", *own, *words, *jobs]) == 0
    told = capsys.readouterr().out
    assert len(re.findall(rf"^\S+ +{steps}$", told, re.M)) == 4
    assert len(files) == 1


def test_a_dry_run_without_weights_shows_the_rest_of_the_plan(small_run, cse_train, tmp_path, capsys):
    assert cse_train([*small_run, "model.name=no-such-model-anywhere", "dry_run=true"]) == 2
    out, err = capsys.readouterr()
    told = dict(re.findall(r"^(\w+) +(.+)$", out, re.M))
    assert told["encoder"] == "no-such-model-anywhere"
    assert told["schedule"].startswith("6 steps, batch 8, ")
    assert told["folder"] == str(tmp_path / "run")
    assert "no-such-model-anywhere" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("most", "said"),
    [("7", "6 steps (all of trainer.epochs="), ("5", "5 of 6 steps (trainer.max_steps), "), ("null", "6 steps, ")],
)
def test_a_run_says_whether_its_epochs_or_the_steps_asked_for_end_it(small_run, cse_train, capsys, most, said):
    assert (
        cse_train([*small_run, "trainer.epochs=1", "data.limit=48", f"trainer.max_steps={most}", "dry_run=true"]) == 0
    )
    (schedule,) = re.findall(r"^schedule +(.+)$", capsys.readouterr().out, re.M)
    assert schedule.startswith(said)


@pytest.mark.parametrize(("warmup", "ends_early"), [(6, True), (5, False), (0.5, False)])
def test_a_run_says_that_it_ends_in_its_warm_up(small_run, cse_train, capsys, warmup, ends_early):
    more = ["trainer.schedule_steps=6", f"trainer.warmup={warmup}", "dry_run=true"]
    assert cse_train([*small_run, *more]) == 0
    (schedule,) = re.findall(r"^schedule +(.+(?:\n .+)*)$", capsys.readouterr().out, re.M)
    assert ("never reaches trainer.lr=3e-05" in " ".join(schedule.split())) == ends_early
