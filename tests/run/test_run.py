"""What a run says before its first step, and one that is stopped there."""

import os
import signal

import pytest

from cse.run import run


@pytest.mark.parametrize(("more", "hint"), [([], "nothing is saved yet"), (["dry_run=true"], "nothing was trained")])
def test_a_signal_before_the_first_step_ends_a_run_at_once(small_run, cse_train, monkeypatch, capsys, more, hint):
    build = run.build

    def build_after_a_signal(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return build(*arguments)

    monkeypatch.setattr(run, "build", build_after_a_signal)
    assert cse_train([*small_run, *more]) == 143
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert "stopped by SIGTERM; " in last_line
    assert hint in last_line


@pytest.mark.parametrize(("words", "columns", "views"), [
    ("data.columns=[left]", "left", "each text 2 times, told apart by dropout"),
    ("data.columns=[left,right]", "left, right", "left, right"),
    ("data.columns=[right,left,far] augmentation=shuffle", "right, left, far",
     "right, left (far not read), changed by augmentation=shuffle"),
    ("data.columns=[left,right] objective=cosent data.scores=score", "left, right, scores score", "left, right"),
])  # fmt: skip
def test_the_header_names_the_file_its_columns_and_the_views(
    small_run, cse_train, tmp_path, capsys, words, columns, views
):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("left,right,far,score\n" + "one text,another text,a third,0.05\n" * 16)
    given = [*small_run, f"data.path={pairs}", "eval=[]", "trainer.max_steps=2", *words.split(), "dry_run=true"]
    assert cse_train(given) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"data       text, 16 rows of {pairs}, columns {columns}" in lines
    assert f"views      {views}" in lines
