"""A machine that misbehaves: a data worker dies, the clock goes back, no temporary folder, few open files."""

import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from killed import assert_same_run
from run_folders import results_of
from torch.utils.data import get_worker_info

from cse.data.loader import Batches, BatchRows
from cse.data.prefetch import WORKER_DIED, prefetch
from cse.errors import UserError


def fourth_refused(number: int) -> int:
    if number == 3:
        raise UserError("row 3 is refused")
    return number


@pytest.mark.parametrize("workers", [0, 1])
def test_a_users_mistake_found_by_a_worker_is_not_wrapped(workers):
    made = prefetch(fourth_refused, range(9), workers, pin=False)
    assert list(itertools.islice(made, 3)) == [0, 1, 2]
    with pytest.raises(UserError, match=r"^row 3 is refused$"):
        next(made)


def lost(message: str) -> None:
    raise ConnectionResetError(message)


class LostOnTheWay:
    """An object whose worker dies before the other process has received it."""

    def __reduce__(self):
        return lost, ("Connection reset by peer",)


def test_a_worker_that_dies_while_it_sends_a_batch():
    with pytest.raises(RuntimeError, match=f"^{re.escape(WORKER_DIED)}"):
        next(prefetch(lambda _: LostOnTheWay(), range(2), 1, pin=False))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_connection_that_a_batch_itself_lost(workers):
    with pytest.raises(ConnectionResetError, match="the hub"):
        next(prefetch(lambda _: lost("the hub"), range(2), workers, pin=False))


def test_a_worker_that_dies(small_run, cse_train, tmp_path, monkeypatch, capsys):
    make, made = Batches.batch_of, []

    def killed(batches: Batches, drawn: BatchRows) -> object:
        made.append(drawn)
        if len(made) == 4 and get_worker_info():
            os.kill(os.getpid(), signal.SIGKILL)
        return make(batches, drawn)

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(Batches, "batch_of", killed)
        assert cse_train([*small_run, "trainer.workers=1"]) == 1
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1, said
    assert f"resume={run}" in said
    assert results_of(run)["status"] == "failed"
    assert cse_train([f"resume={run}"]) == 0
    assert cse_train([*small_run, f"hydra.run.dir={tmp_path}/straight"]) == 0
    assert_same_run(tmp_path / "straight", run)


def test_a_clock_that_goes_back(small_run, cse_train, tmp_path, monkeypatch):
    from cse.lab.folder.runs import read_run

    now = itertools.count(time.time(), -3600)  # an hour back whenever it is read
    monkeypatch.setattr(time, "time", lambda: next(now))
    assert cse_train([*small_run, "trainer.max_steps=4"]) == 0
    assert cse_train([f"resume={tmp_path}/run", "trainer.max_steps=6"]) == 0
    run = read_run(tmp_path / "run")
    assert run.is_done
    assert 0 <= run.results["wall_seconds"] < 600
    assert 0 <= run.results["seconds"] < 600
    logged = [event["step"] for event in run.events() if "train/loss" in event]
    assert logged == [1, 2, 3, 4, 5, 6]
    assert all(event.get("train/tokens_per_second", 1) > 0 for event in run.events())


def test_no_folder_for_temporary_files(small_run, cse_train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "nowhere")])
    assert cse_train(small_run) == 2
    assert "TMPDIR" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "extra", [[], ["trainer.workers=4"], ["trainer.devices=2"]], ids=["alone", "workers", "processes"]
)
def test_sixty_four_open_files_are_enough(small_run, tmp_path, extra):
    """HOME and TMPDIR may name folders that do not exist."""
    words = shlex.join([sys.executable, "-m", "cse.lab.commands.train", *small_run, *extra])
    where = {**os.environ, "HOME": f"{tmp_path}/no/home", "TMPDIR": f"{tmp_path}/no/tmp", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(["bash", "-c", f"ulimit -n 64; {words}"], env=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
