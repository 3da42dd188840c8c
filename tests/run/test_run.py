"""What a run that ended early says: how it goes on, if there is anything to go on with."""

import os
import signal

import pytest

from cse.run import run
from cse.run.folder import RunFolder


@pytest.mark.parametrize(
    ("writes", "saved", "words"),
    [
        (True, "last", "this goes on: cse-train 'resume={}'"),
        (True, "run.yaml", "nothing is saved yet, this starts again: cse-train 'resume={}'"),
        (True, "plots", "nothing is saved yet"),
        (False, "last", "nothing was trained"),
    ],
)
def test_the_line_is_one_that_works(tmp_path, writes, saved, words):
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / saved).touch() if saved == "run.yaml" else (folder / saved).mkdir()
    assert RunFolder(folder, {}, writes).resume_hint() == words.format(folder)


@pytest.mark.parametrize(("more", "words"), [([], "nothing is saved yet"), (["dry_run=true"], "nothing was trained")])
def test_a_signal_before_the_first_step_ends_a_run_at_once(small_run, cse_train, monkeypatch, capsys, more, words):
    built = run.build

    def stopped(*parts):
        os.kill(os.getpid(), signal.SIGTERM)
        return built(*parts)

    monkeypatch.setattr(run, "build", stopped)
    assert cse_train([*small_run, *more]) == 143
    said = capsys.readouterr().err.splitlines()[-1]
    assert "stopped by SIGTERM; " in said
    assert words in said
