"""`| head -1`, /dev/full and closed streams: no traceback, the right exit code, training unharmed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash; its exit code is the first command's."""
    return subprocess.run(["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)


@pytest.mark.parametrize(("where", "told"), [
    ("| head -1", ""), ("| true", ""), (">&-", ""), ("2>&-", ""), (">&- 2>&-", ""),
    ("> /dev/full", "standard output cannot be written: No space left on device"),
])  # fmt: skip
def test_help(where, told):
    ended = shell(f"{BIN}/cse-train --help {where}")
    assert ended.returncode == 0
    assert ended.stderr.strip() == told


@pytest.mark.slow
@pytest.mark.parametrize("where", ["2>&1 | head -1", "> /dev/full 2> /dev/full", ">&- 2>&-"])
def test_training_goes_on(small_run, tmp_path, where):
    words = " ".join(f"'{word}'" for word in small_run)
    assert shell(f"{BIN}/cse-train {words} {where}").returncode == 0
    assert json.loads((tmp_path / "run" / "results.json").read_text())["status"] == "done"


def test_a_mistake_has_its_code_where_no_one_reads():
    assert shell(f"{BIN}/cse-train objektive=simcse 2>&1 | true").returncode == 2


def test_a_rank_alone_is_refused(small_run):
    environment = {**os.environ, "RANK": "1"}
    ended = subprocess.run(
        [BIN / "cse-train", *small_run], env=environment, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "cse-train: RANK=1 is set in the environment, but not WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT: start "
        "every process with torchrun, accelerate or srun, or unset RANK for a run of one process"
    ]


def test_waiting_for_other_processes_is_said(monkeypatch, caplog):
    from cse.run import launch

    monkeypatch.setattr(launch, "ALONE", 0.01)
    for name, value in {"RANK": 1, "WORLD_SIZE": 2, "LOCAL_RANK": 1, "MASTER_ADDR": "here", "MASTER_PORT": 5}.items():
        monkeypatch.setenv(name, str(value))
    deadline = time.monotonic() + 600
    with launch.said_when_alone():
        while not caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "RANK=1: still waiting for the other processes of WORLD_SIZE=2 at here:5" in caplog.text
