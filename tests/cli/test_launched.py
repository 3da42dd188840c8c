"""Of the processes that a launcher started, one says what is wrong."""

import json
import os
import subprocess
import sys

import pytest

from cse.cli import compose, launched
from cse.errors import UserError


@pytest.fixture
def waited(monkeypatch):
    seconds = []
    monkeypatch.setattr(launched.time, "sleep", seconds.append)
    return seconds


@pytest.mark.parametrize(("rank", "local", "expected"), [("0", "0", []), ("9", "1", [launched.FIRST + 1])])
def test_all_but_the_first_wait_before_they_complain(monkeypatch, waited, rank, local, expected):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("LOCAL_RANK", local)
    with pytest.raises(UserError), launched.in_turn():
        raise UserError("wrong")
    assert waited == expected


def test_an_end_without_an_error_is_not_held_up(monkeypatch, waited):
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit), launched.in_turn():
        sys.exit(0)
    assert not waited


def test_the_launcher_reads_the_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    monkeypatch.setattr(sys, "argv", ["cse-train"])
    assert compose.complain("wrong", 2) == 2
    told = json.loads((tmp_path / "error.json").read_text())["message"]
    assert told["message"] == "cse-train: wrong" == capsys.readouterr().err.strip()
    assert set(told["extraInfo"]) == {"timestamp"}  # with a py_callstack it would show that instead


@pytest.mark.slow
def test_torchrun_says_a_mistake_once_and_last(tmp_path):
    line = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "-m", "cse.cli.train"]
    ended = subprocess.run(
        [*line, "experiment=demo", "trainer.lr=-1"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    said = [text for text in ended.stderr.splitlines() if "trainer.lr=-1: must be a number above 0" in text]
    assert len(said) == 2, ended.stderr
    assert said[-1].strip().startswith("traceback :")  # the launcher's own report
    assert ended.stderr.splitlines()[-2] == said[-1]
    assert ended.returncode == 1
    assert not list(tmp_path.iterdir())
