"""What a run says before its first step, and one that is stopped there."""

import os
import signal

import pytest

from cse.lab.run import train


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


def test_rows_whose_texts_are_cut_are_counted(small_run, cse_train, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("a\n" * 12 + "a a a a a a a a\n" * 4)
    given = [*small_run, f"data.path={text}", "eval=[]", "trainer.max_steps=1", "dry_run=true"]
    for length, said in (("8", "4 of 16 rows reach trainer.max_length=8"), ("40", None)):
        assert cse_train([*given, f"trainer.max_length={length}"]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("truncation ")]
        assert said in lines[0] if said else not lines
