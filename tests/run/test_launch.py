"""Several processes: spawned by cse-train itself, or joined under torchrun and srun. The same run either way."""

import json
import logging
import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from omegaconf import OmegaConf
from safetensors.torch import load_file

from cse.run import launch
from cse.run.folder import RunFolder
from cse.run.logs import LogFile, begin_log_files, hand_over_log_files, take_over_log_files

BIN = Path(sys.executable).parent


def losses(folder: Path) -> list[float]:
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [event["train/loss"] for event in events if "train/loss" in event]


def succeed(command: list) -> None:
    """Run a command; where it fails, its own words are the test's message."""
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def succeed_together(commands: list[list], folder: Path, patience: float = 600) -> None:
    """Run commands at the same time. Where one fails or waits too long, all end and their words are the message."""
    files = [folder / f"words_{i}" for i in range(len(commands))]
    processes = []
    for command, file in zip(commands, files, strict=True):
        with open(file, "w") as words:
            processes.append(subprocess.Popen(command, stdout=words, stderr=subprocess.STDOUT))
    last = time.monotonic() + patience
    try:
        while None in (codes := [process.poll() for process in processes]) and not any(codes):
            assert time.monotonic() < last, "\n".join(file.read_text() for file in files)
            time.sleep(0.1)
    finally:
        for process in processes:
            process.terminate()  # torchrun ends its own workers
            process.wait()
    assert codes == [0] * len(codes), "\n".join(file.read_text() for file in files)


@contextmanager
def reserved(ports: Iterable[int]) -> Iterator[int]:
    """The first of these ports that is free (0: any), in the block nobody else's: it is bound, but to who listens."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in ports:
            with suppress(OSError):
                held.bind(("localhost", port))
                break
        yield held.getsockname()[1]


@pytest.mark.nightly
def test_two_processes_are_one(small_run, cse_train, tmp_path):
    """Without dropout (each process draws its own) two processes repeat one process's run."""
    still = [*small_run, "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train(still) == 0
    two = [*still, "trainer.devices=2", f"hydra.run.dir={tmp_path}/two"]
    succeed([BIN / "cse-train", *two])
    np.testing.assert_allclose(losses(tmp_path / "two"), losses(tmp_path / "run"), rtol=1e-5)
    state = load_file(tmp_path / "two/last/state.safetensors")
    assert not state["random/0/torch"].equal(state["random/1/torch"])  # dropout's, where there is any
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("run", "two")]
    assert results[1]["status"] == "done"
    assert "step 6/6" in (tmp_path / "two/train.log").read_text()
    assert results[0]["best_step"] == results[1]["best_step"]
    for name, value in results[0]["metrics"].items():
        assert results[1]["metrics"][name] == pytest.approx(value, abs=0.05)

    joined = [*still, f"hydra.run.dir={tmp_path}/joined"]
    succeed([BIN / "torchrun", "--standalone", "--nproc-per-node=2", "-m", "cse.cli.train", *joined])
    np.testing.assert_allclose(losses(tmp_path / "joined"), losses(tmp_path / "two"), rtol=1e-6)


def test_a_log_file_goes_on_in_another_process(tmp_path, monkeypatch):
    """With the lines from before there was a folder, once and in their order; what comes later here is added."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [LogFile(str(tmp_path / "train.log"))])
    logging.getLogger().error("from %s", tmp_path)
    handed = pickle.loads(pickle.dumps(hand_over_log_files()))
    logging.getLogger().error("after it")
    parents, logging.getLogger().handlers = logging.getLogger().handlers, []
    take_over_log_files(handed)
    logging.getLogger().error("step 1")
    begin_log_files()
    parents[0].begin()
    assert (tmp_path / "train.log").read_text().splitlines() == [f"from {tmp_path}", "step 1", "after it"]


@pytest.mark.nightly
def test_two_agents_are_one_process(small_run, cse_train, tmp_path):
    """As on two machines: two torchrun agents that meet at a port, each with one process."""
    still = [*small_run, "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train(still) == 0
    with reserved([0]) as port:
        agent = [
            BIN / "torchrun", "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", "--local-addr=localhost",
            f"--rdzv-endpoint=localhost:{port}", "-m", "cse.cli.train", *still, f"hydra.run.dir={tmp_path}/agents",
        ]  # fmt: skip
        succeed_together([agent, agent], tmp_path)
    np.testing.assert_allclose(losses(tmp_path / "agents"), losses(tmp_path / "run"), rtol=1e-5)
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("run", "agents")]
    assert results[1]["status"] == "done"
    assert results[0]["best_step"] == results[1]["best_step"]


@pytest.mark.nightly
def test_two_tasks_of_srun_are_one_process_and_leave_one_folder(small_run, cse_train, tmp_path):
    """There is no SLURM here: its variables are set as it sets them."""
    still = [*small_run, "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train(still) == 0
    unnamed = [argument for argument in still if not argument.startswith("hydra.run.dir=")]
    command = [BIN / "cse-train", *unnamed]
    with reserved(range(20000 + os.getpid() % 6000, 32000)) as port:
        job = str(port - 20000)  # that has this port
        tasks = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path, env={
                **os.environ, "SLURM_JOB_ID": job, "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_STEP_NODELIST": "localhost", "SLURM_PROCID": str(task), "SLURM_LOCALID": str(task)})
            for task in range(2)
        ]  # fmt: skip
        words = [task.communicate(timeout=600)[0] for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], words
    assert "step 6" in words[0]
    assert words[1] == ""
    (folder,) = (tmp_path / "outputs").glob("*/*")  # not one of each process

    np.testing.assert_allclose(losses(folder), losses(tmp_path / "run"), rtol=1e-5)


@pytest.mark.parametrize(("visible", "rank", "advised"), [(4, None, True), (1, None, False), (4, "0", False)])
def test_idle_gpus_are_mentioned_unless_others_started_the_processes(monkeypatch, caplog, visible, rank, advised):
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    monkeypatch.setattr("torch.cuda.device_count", lambda: visible)
    monkeypatch.setattr(launch, "shared", lambda folder: folder)
    monkeypatch.setattr("cse.run.run.run", lambda cfg, folder: None)
    with caplog.at_level(logging.INFO, "cse"):
        launch.launch(OmegaConf.create({"trainer": {"devices": 1, "batch_size": 64}}), RunFolder(Path("run"), {}))
    assert ["trainer.devices=4" in message for message in caplog.messages] == [True] * advised


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("trainer.batch_size=500", "larger than the data"),  # found by every process
        ("data.path=/no/such/file.txt", "no such file"),  # by the first, while the others wait for it
    ],
)
def test_a_mistake_on_two_processes_is_one_sentence(small_run, mistake, told):
    command = [BIN / "cse-train", *small_run, "trainer.devices=2", mistake]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2, ended.stderr
    *log, last = ended.stderr.splitlines()
    assert last.startswith("cse-train: ")
    assert told in last
    assert not any("Traceback" in line or "SIGTERM" in line for line in log), ended.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_is_killed_is_named_with_what_goes_on(small_run, tmp_path, rank):
    folder = tmp_path / "run"
    more = ["trainer.devices=2", "trainer.epochs=400", "trainer.max_steps=null", "trainer.save_every=5"]
    command = [BIN / "cse-train", *small_run, *more, "trainer.eval_every=5000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (folder / "last/state.safetensors").exists():
        time.sleep(0.05)
    spawned = [one for one in psutil.Process(process.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    sorted(spawned, key=psutil.Process.create_time)[rank].kill()  # numbers of processes begin anew some time
    last = process.communicate(timeout=600)[1].splitlines()[-1]
    assert (
        last == f"cse-train: process {rank} of 2 was killed (is memory short?); this goes on: cse-train resume={folder}"
    )
    assert process.returncode == 1
    assert (folder / "last/state.safetensors").exists()
