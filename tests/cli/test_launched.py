"""Of the processes that a launcher started, one says what is wrong."""

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest

from cse.cli import exits, launched
from cse.errors import UserError


@pytest.fixture
def waited(monkeypatch):
    seconds = []
    monkeypatch.setattr(launched.time, "sleep", seconds.append)
    monkeypatch.setattr(launched.signal, "signal", lambda *_: None)
    return seconds


@pytest.mark.parametrize(("rank", "local", "expected"), [("0", "0", []), ("9", "1", [launched.FIRST + 1])])
def test_all_but_the_first_wait_before_they_complain(monkeypatch, waited, rank, local, expected):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("LOCAL_RANK", local)
    with pytest.raises(UserError), launched.in_turn():
        raise UserError("wrong")
    assert waited == expected


def test_one_that_its_launcher_ends_leaves_the_code_to_the_first(monkeypatch):
    """srun exits with the largest code: 143 of this one would hide the first one's 2."""
    monkeypatch.setenv("RANK", "1")
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(launched.time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with pytest.raises(SystemExit) as ended, launched.in_turn():
            raise UserError("wrong")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 0


ACCELERATE = {"ACCELERATE_MIXED_PRECISION": "no", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("environment", "refused"), [(ACCELERATE, True), ({**ACCELERATE, "RANK": "0"}, False), ({}, False)]
)
def test_one_process_of_several_is_refused(monkeypatch, environment, refused):
    monkeypatch.setattr(os, "environ", environment)
    with pytest.raises(UserError, match="--multi_gpu and no --cpu") if refused else nullcontext():
        launched.refuse_lone_process()


def test_an_end_without_an_error_is_not_held_up(monkeypatch, waited):
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit), launched.in_turn():
        sys.exit(0)
    assert not waited


def test_the_launcher_reads_the_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    monkeypatch.setattr(sys, "argv", ["cse-train"])
    assert exits.complain("wrong", 2) == 2
    told = json.loads((tmp_path / "error.json").read_text())["message"]
    assert told["message"] == "cse-train: wrong" == capsys.readouterr().err.strip()
    assert set(told["extraInfo"]) == {"timestamp"}  # with a py_callstack it would show that instead


@pytest.mark.nightly
def test_torchrun_says_a_mistake_once_and_last(tmp_path):
    line = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "-m", "cse.cli.train"]
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
