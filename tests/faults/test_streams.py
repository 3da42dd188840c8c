"""Closed pipes and missing ranks: `| head -1` costs no traceback and no training; a rank that waits alone says so."""

import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_folders import results_of

from cse.errors import UserError
from cse.lab.run import launch

BIN = Path(sys.executable).parent
RANK = {"RANK": 1, "WORLD_SIZE": 2, "LOCAL_RANK": 1, "MASTER_ADDR": "here", "MASTER_PORT": 5}


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash; the exit code is that of the first command of its pipe."""
    return subprocess.run(["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)


@pytest.mark.parametrize(("line", "code"), [
    ("cse-train --help | head -1", 0), ("cse-train --help | true", 0), ("cse-train objektive=simcse 2>&1 | true", 2),
])  # fmt: skip
def test_a_closed_pipe_is_quiet(line, code):
    ended = shell(f"{BIN}/{line}")
    assert (ended.returncode, ended.stderr) == (code, "")


@pytest.mark.nightly
def test_training_survives_a_closed_pipe(small_run, tmp_path):
    words = " ".join(f"'{word}'" for word in small_run)
    assert shell(f"{BIN}/cse-train {words} 2>&1 | head -1").returncode == 0
    assert results_of(tmp_path / "run")["status"] == "done"


def test_a_rank_alone_is_refused(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    for name in RANK.keys() - {"RANK"}:
        monkeypatch.delenv(name, raising=False)
    with (
        pytest.raises(UserError, match="WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT"),
        launch.warning_while_waiting(),
    ):
        pass


def test_waiting_for_other_processes_is_said(monkeypatch, caplog):
    monkeypatch.setattr(launch, "PATIENCE", 0.01)
    for name, value in RANK.items():
        monkeypatch.setenv(name, str(value))
    deadline = time.monotonic() + 600
    with caplog.at_level(logging.ERROR, "cse"), launch.warning_while_waiting():
        while not caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "WORLD_SIZE=2" in caplog.text
