"""What a run that ended early says: how it goes on, if there is anything to go on with."""

import os
import signal

import pytest
from omegaconf import OmegaConf

from cse.run import run


@pytest.mark.parametrize(
    ("asked", "saved", "words"),
    [
        ({}, "last", "this goes on: cse-train 'resume={}'"),
        ({}, "run.yaml", "nothing is saved yet, this starts again: cse-train 'resume={}'"),
        ({}, "plots", "nothing is saved yet"),
        ({"dry_run": True}, "plots", "nothing was trained"),
        ({"data": {"preview": 3}}, "plots", "nothing was trained"),
    ],
)
def test_the_line_is_one_that_works(tmp_path, asked, saved, words):
    folder = tmp_path / "a run"
    (folder / saved).mkdir(parents=True) if saved != "run.yaml" else folder.mkdir()
    (folder / "run.yaml").touch() if saved == "run.yaml" else None
    cfg = OmegaConf.merge({"dry_run": False, "data": {"preview": None}}, asked)
    assert run.resume_hint(cfg, folder) == words.format(folder)


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
