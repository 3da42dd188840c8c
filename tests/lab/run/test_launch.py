"""Several processes, spawned by cse-train or joined under torchrun and srun: the same run either way."""

import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from omegaconf import OmegaConf
from run_folders import logged_of, results_of
from safetensors.torch import load_file
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from cse.errors import Interrupted, RunError
from cse.lab.run import launch
from cse.lab.run.job import Job
from cse.lab.run.run_log import logging_to

BIN = Path(sys.executable).parent


@pytest.fixture
def still(small_run) -> list[str]:
    """A run without dropout, which differs between processes, and without a folder."""
    words = [word for word in small_run if not word.startswith("hydra.run.dir=")]
    return [*words, "augmentation=shuffle", "augmentation.model_dropout=0.0"]


@pytest.mark.nightly
def test_two_processes_train_as_one(still, cse_train, tmp_path):
    """Spawned, and joined under torchrun."""
    one, two, joined = (tmp_path / name for name in ("one", "two", "joined"))
    assert cse_train([*still, f"hydra.run.dir={one}"]) == 0
    torchrun = [BIN / "torchrun", "--standalone", "--nproc-per-node=2", "-m", "cse.lab.commands.train"]
    for command in ([BIN / "cse-train", *still, "trainer.devices=2", f"hydra.run.dir={two}"],
                    [*torchrun, *still, f"hydra.run.dir={joined}"]):  # fmt: skip
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
    for folder in (two, joined):
        np.testing.assert_allclose(logged_of(folder), logged_of(one), rtol=1e-5)
    state = load_file(two / "last/state.safetensors")
    assert not state["random/0/torch"].equal(state["random/1/torch"])  # dropout's, where there is any
    assert "step 6/6" in (two / "train.log").read_text()
    results = [results_of(folder) for folder in (one, two, joined)]
    assert [one["processes"] for one in results] == [1, 2, 2]
    assert (results[1]["status"], results[1]["best_step"]) == ("done", results[0]["best_step"])
    for name, value in results[0]["metrics"].items():
        assert results[1]["metrics"][name] == pytest.approx(value, abs=0.05)


@pytest.mark.nightly
def test_two_tasks_of_srun_train_as_one_into_one_folder(still, cse_train, tmp_path):
    """There is no SLURM here: its variables are set as it sets them (tests/slurm has one)."""
    assert cse_train([*still, f"hydra.run.dir={tmp_path}/one"]) == 0
    slurm = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "localhost"}
    tasks = [
        subprocess.Popen([BIN / "cse-train", *still], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         cwd=tmp_path, env={**os.environ, **slurm, "SLURM_PROCID": task, "SLURM_LOCALID": task})
        for task in "01"
    ]  # fmt: skip
    words = [task.communicate(timeout=600)[0] for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], words
    assert "step 6" in words[0]
    assert words[1] == ""
    (folder,) = (tmp_path / "outputs").glob("*/*")  # not one of each process
    np.testing.assert_allclose(logged_of(folder), logged_of(tmp_path / "one"), rtol=1e-5)


@pytest.mark.parametrize(("visible", "rank", "advised"), [(4, None, True), (1, None, False), (4, "0", False)])
def test_idle_gpus_are_mentioned_unless_a_launcher_started_the_process(monkeypatch, caplog, visible, rank, advised):
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    monkeypatch.setattr("torch.cuda.device_count", lambda: visible)
    monkeypatch.setattr(launch, "with_first_folder", lambda job: job)
    monkeypatch.setattr("cse.lab.run.train.run", lambda job: None)
    cfg = {"trainer": {"devices": 1, "batch_size": 64}, "data": {"preview": 0}, "dry_run": False}
    job = Job("train", OmegaConf.create(cfg), [], Path("run"))
    with caplog.at_level(logging.INFO, "cse"):
        assert launch.run_in_processes(job) == Path("run")
    assert ["trainer.devices=4" in message for message in caplog.messages] == [True] * advised


def test_a_later_process_returns_the_folder_of_the_first(monkeypatch):
    """Each process takes a folder of its own from the clock, and only the first one's is made."""
    ran = []
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr(launch, "with_first_folder", lambda job: replace(job, folder=Path("first")))
    monkeypatch.setattr("cse.lab.run.train.run", ran.append)
    cfg = {"trainer": {"devices": 1, "batch_size": 64}, "data": {"preview": 0}, "dry_run": False}
    assert launch.run_in_processes(Job("train", OmegaConf.create(cfg), [], Path("second"))) == Path("first")
    assert [job.folder for job in ran] == [Path("first")]


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_dry_run_that_fails_leaves_the_log_of_a_run_as_it_is(monkeypatch, tmp_path, is_dry):
    """resume=FOLDER dry_run=true is about the folder of another run."""

    def fail(*_):
        raise ChildFailedError("worker", {0: ProcessFailure(0, 1, 1, "nowhere")})

    monkeypatch.delenv("RANK", raising=False)
    for variable in ("OMP_NUM_THREADS", "TORCHELASTIC_SIGNALS_TO_HANDLE"):
        monkeypatch.setenv(variable, "1")
    monkeypatch.setattr("torch.distributed.launcher.api.elastic_launch", lambda *_: fail)
    (tmp_path / "train.log").write_text("done\n")
    cfg = {"trainer": {"devices": 2, "batch_size": 64}, "data": {"preview": 0}, "dry_run": is_dry}
    with logging_to(tmp_path / "train.log"), pytest.raises(RunError, match="process 0 of 2 failed"):
        launch.run_in_processes(Job("train", OmegaConf.create(cfg), [], tmp_path))
    assert ((tmp_path / "train.log").read_text() == "done\n") == is_dry


@pytest.fixture
def in_two_processes(monkeypatch, tmp_path):
    """Starts a run on two processes that `elastic` stands for."""
    monkeypatch.delenv("RANK", raising=False)
    for variable in ("OMP_NUM_THREADS", "TORCHELASTIC_SIGNALS_TO_HANDLE"):
        monkeypatch.setenv(variable, "1")
    cfg = {"trainer": {"devices": 2, "batch_size": 64}, "data": {"preview": 0}, "dry_run": True}

    def start(elastic):
        monkeypatch.setattr("torch.distributed.launcher.api.elastic_launch", lambda *_: elastic)
        launch.run_in_processes(Job("train", OmegaConf.create(cfg), [], tmp_path))

    return start


@pytest.mark.parametrize(("code", "error"), [(128 + signal.SIGTERM, Interrupted), (255, RunError), (137, RunError)])
def test_an_exit_code_is_a_signals_only_if_runs_receive_that_signal(in_two_processes, code, error):
    def fail(*_):
        raise ChildFailedError("worker", {0: ProcessFailure(0, 1, code, "nowhere")})

    with pytest.raises(error):
        in_two_processes(fail)


def test_torchs_loggers_are_silent_while_its_processes_work(in_two_processes):
    loggers = list(map(logging.getLogger, launch.TORCH_LOGS))
    in_two_processes(lambda *_: None)  # imports torch's modules, which set the levels
    before, during = [logger.level for logger in loggers], []
    in_two_processes(lambda *_: during.extend(logger.level for logger in loggers))
    assert during == [logging.CRITICAL] * len(loggers)
    assert [logger.level for logger in loggers] == before
    assert logging.CRITICAL not in before


@pytest.mark.nightly
def test_each_process_of_torchrun_gets_the_run_from_python(still, tmp_path):
    script = tmp_path / "two.py"
    script.write_text("import sys, cse\nrun = cse.train(*sys.argv[1:])\nprint(run.folder, run.folder.is_dir())\n")
    torchrun = [BIN / "torchrun", "--standalone", "--nproc-per-node=2", script, *still]
    ended = subprocess.run(torchrun, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    (folder,) = (tmp_path / "outputs").glob("*/*")
    assert ended.stdout.count(f"{folder.relative_to(tmp_path)} True") == 2


@pytest.mark.nightly
@pytest.mark.parametrize("mistake", ["trainer.batch_size=500", "data.columns=[a]"])  # of all; of the first
def test_a_mistake_on_two_processes_is_one_sentence(small_run, mistake):
    ended = subprocess.run(
        [BIN / "cse-train", *small_run, "trainer.devices=2", mistake], capture_output=True, text=True
    )
    assert ended.returncode == 2, ended.stderr
    *log, last = ended.stderr.splitlines()
    assert mistake.partition("=")[2] in last
    assert not any("Traceback" in line or "SIGTERM" in line for line in log), ended.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_is_named_with_the_line_that_resumes(small_run, tmp_path, rank):
    folder = tmp_path / "run"
    more = ["trainer.devices=2", "trainer.epochs=400", "trainer.max_steps=null", "trainer.save_every=5"]
    command = [BIN / "cse-train", *small_run, *more, "trainer.eval_every=5000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (folder / "last/state.safetensors").exists():
        time.sleep(0.05)
    spawned = [one for one in psutil.Process(process.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    sorted(spawned, key=psutil.Process.create_time)[rank].kill()  # process ids may wrap around
    last = process.communicate(timeout=600)[1].splitlines()[-1]
    assert f"process {rank} of 2 was killed" in last
    assert last.endswith(f"cse-train resume={folder}")
    assert process.returncode == 1
