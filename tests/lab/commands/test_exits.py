"""How a command ends: one sentence and an exit code, from the first of a launcher's processes."""

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest

from cse.errors import Interrupted, RunError, UserError
from cse.lab.commands import exits, train


@pytest.fixture
def waited(monkeypatch):
    seconds = []
    monkeypatch.setattr(exits.time, "sleep", seconds.append)
    monkeypatch.setattr(exits.signal, "signal", lambda *_: None)
    return seconds


def ended(error: BaseException) -> int:
    with pytest.raises(SystemExit) as end, exits.exit_on_error():
        raise error
    return end.value.code


@pytest.mark.parametrize(("error", "code", "told"), [
    (UserError("wrong"), 2, "wrong"), (RunError("NaN"), 1, "NaN"), (Interrupted("saved", 143), 143, "saved"),
    (KeyboardInterrupt(), 130, "stopped"), (OSError(errno.ENOSPC, "no room", "file"), 1, "file: no room"),
    (OSError(errno.EACCES, "not yours", "file"), 2, "file: not yours"),
])  # fmt: skip
def test_each_error_has_its_code_and_one_sentence(capsys, error, code, told):
    assert ended(error) == code
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert told in said


def test_any_other_error_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), exits.exit_on_error():
        raise ZeroDivisionError


@pytest.mark.parametrize(("rank", "local", "expected"), [("0", "0", []), ("9", "1", [exits.FIRST + 1])])
def test_all_but_the_first_wait_before_they_report_an_error(monkeypatch, waited, rank, local, expected):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("LOCAL_RANK", local)
    assert ended(UserError("wrong")) == 2
    assert ended(Interrupted("saved", 143)) == (0 if expected else 143)  # srun exits with the largest
    assert waited == expected * 2


def test_a_process_that_its_launcher_ends_exits_with_0(monkeypatch):
    """Its 143 would hide the first one's 2."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr(exits.time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    assert ended(UserError("wrong")) == 0


def test_an_exit_without_an_error_does_not_wait(monkeypatch, waited):
    monkeypatch.setenv("RANK", "1")
    assert ended(SystemExit(0)) == 0
    assert not waited


ACCELERATE = {"ACCELERATE_MIXED_PRECISION": "no", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("environment", "refused"), [(ACCELERATE, True), ({**ACCELERATE, "RANK": "0"}, False), ({}, False)]
)
def test_one_process_where_accelerate_was_to_start_several_is_refused(monkeypatch, environment, refused):
    monkeypatch.setattr(os, "environ", environment)
    with pytest.raises(UserError, match="--multi_gpu") if refused else nullcontext():
        train.refuse_lone_process()


@pytest.mark.nightly
def test_under_torchrun_an_error_is_reported_once_and_last(tmp_path):
    line = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "-m", "cse.lab.commands.train"]
    ended = subprocess.run(
        [*line, "experiment=demo", "trainer.lr=-1"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    said = [text for text in ended.stderr.splitlines() if "trainer.lr=-1:" in text]
    assert len(said) == 2, ended.stderr
    assert said[-1].strip().startswith("traceback :")  # the launcher's own report
    assert ended.stderr.splitlines()[-2] == said[-1]
    assert ended.returncode == 1
    assert not list(tmp_path.iterdir())


def test_the_launcher_gets_the_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    monkeypatch.setattr(sys, "argv", ["cse-train"])
    assert exits.report_error("wrong", 2) == 2
    told = json.loads((tmp_path / "error.json").read_text())["message"]
    assert told["message"] == "cse-train: wrong" == capsys.readouterr().err.strip()
    assert set(told["extraInfo"]) == {"timestamp"}  # with a py_callstack it would show that instead
