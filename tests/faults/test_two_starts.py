"""Two starts in one folder: the second is refused and told who holds it; a dead holder blocks nobody."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from damaged import unchanged
from killed import CSE_TRAIN, wait_until
from run_folders import leave_heartbeat, logged_of, results_of
from typed import exit_code

from cse.lab.folder.heartbeat import Heartbeat, read_beat


@pytest.fixture
def live(tmp_path):
    """Another process of this machine that holds tmp_path/run."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (tmp_path / "run").mkdir()
        leave_heartbeat(tmp_path / "run", process.pid, socket.gethostname(), since=time.time())
        yield process
        process.kill()


def scoring(small_run: list[str], encoder: str) -> list[str]:
    """Arguments of cse-eval that write scores into the same folder."""
    words = [word for word in small_run if word.startswith(("eval=", "paths", "hydra", "allow_partial"))]
    return [f"checkpoint={encoder}", "pooling=cls", *words]


@pytest.mark.parametrize("program", ["cse-train", "cse-eval"])
@pytest.mark.parametrize("more", [
    pytest.param([], id="new"), pytest.param(["resume=auto"], id="resume"),
    pytest.param(["trainer.devices=2"], id="two processes", marks=pytest.mark.nightly),
])  # fmt: skip
def test_a_second_start_is_refused_and_changes_nothing(small_run, tmp_path, live, capfd, tiny_bert, program, more):
    words = [*small_run, *more]
    if program == "cse-eval":
        if more:
            pytest.skip("settings of cse-train")
        words = scoring(small_run, tiny_bert)
    with unchanged(tmp_path / "run"):
        assert exit_code(program, *words) == 2
    said = capfd.readouterr().err.strip()
    assert f"process {live.pid} on {socket.gethostname()}" in said
    assert len(said.splitlines()) == 1
    live.kill()
    live.wait()
    assert exit_code(program, *words) == 0
    assert results_of(tmp_path / "run")["status"] == "done"
    assert read_beat(tmp_path / "run") is None


def test_scores_written_by_another_evaluation_meanwhile_are_kept(small_run, tmp_path, tiny_bert, capfd, monkeypatch):
    take = Heartbeat.take

    def late(pulse: Heartbeat) -> None:
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / "scores.csv").write_text("another's")
        take(pulse)

    monkeypatch.setattr(Heartbeat, "take", late)
    assert exit_code("cse-eval", *scoring(small_run, tiny_bert)) == 2
    assert "scores.csv" in capfd.readouterr().err
    assert os.listdir(tmp_path / "run") == ["scores.csv"]


@pytest.mark.parametrize("resume", [[], ["resume=auto"]])
def test_a_best_folder_of_the_users_is_not_replaced(small_run, tmp_path, cse_train, capfd, resume):
    (tmp_path / "run" / "best").mkdir(parents=True)
    (tmp_path / "run" / "best" / "notes.txt").write_text("mine")
    assert cse_train([*small_run, *resume]) == 2
    assert str(tmp_path / "run") in capfd.readouterr().err
    assert [path.name for path in (tmp_path / "run").rglob("*")] == ["best", "notes.txt"]


@pytest.mark.nightly
@pytest.mark.parametrize("more", [[], ["trainer.devices=2"]], ids=["one process", "two processes"])
def test_a_killed_run_is_resumed_at_once(small_run, tmp_path, more):
    words = [word for word in small_run if not word.startswith("trainer.max_steps")]
    command = [CSE_TRAIN, *words, *more, "trainer.epochs=100", "trainer.save_every=2", "resume=auto"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: len(logged_of(tmp_path / "run")) >= 4)
    holder = read_beat(tmp_path / "run").pid
    second = subprocess.run(command, capture_output=True, text=True)
    assert second.returncode == 2, second.stderr
    assert f"process {holder} " in second.stderr
    os.killpg(first.pid, signal.SIGKILL)
    third = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until(lambda: (beat := read_beat(tmp_path / "run")) and beat.pid != holder)
    first.wait()  # only now: a zombie counts as dead
    third.terminate()
    said, _ = third.communicate(timeout=600)
    assert third.returncode in (128 + signal.SIGTERM, -signal.SIGTERM), said
    assert "waiting" not in said
