"""A run that is stopped before its first step."""

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
