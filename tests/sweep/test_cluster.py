"""Jobs handed to a cluster: what is handed over, what becomes of each, and what a preempted one does on its node."""

import json
import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from cse.config.compose import explaining
from cse.errors import Interrupted, UserError

cluster = pytest.importorskip("cse.sweep.cluster", reason="needs cse-lab[launchers]", exc_type=ImportError)
from submitit.core.utils import UncompletedJobError  # noqa: E402

from cse.sweep import engine, line, process  # noqa: E402
from cse.sweep.jobs import Job  # noqa: E402

LINE = "-m seed=1,2,3 hydra/launcher=submitit_slurm"


class Handed:
    """A job in the hands of a cluster that runs the next one at each look, or waits for ever, or loses it."""

    state, waits, lost, is_over = "NODE_FAIL", False, False, False

    def __init__(self, call, job: Job, folder: Path):
        self.call, self.job_id, self.cancelled = (call, job, folder), job.name[:6], False
        self.paths = SimpleNamespace(stdout=folder / "stdout", stderr=folder / "stderr")

    def done(self) -> bool:
        if self.waits:
            signal.raise_signal(signal.SIGUSR1)
        return not self.waits

    def result(self) -> process.Outcome:
        if self.lost:
            raise UncompletedJobError
        call, *words = self.call
        return call(*words)

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def handed(monkeypatch) -> list[Handed]:
    """What the last line handed over."""
    jobs: list[Handed] = []

    def map_array(call, *columns) -> list[Handed]:
        jobs[:] = [Handed(call, *words) for words in zip(*columns, strict=True)]
        return jobs

    monkeypatch.setattr(cluster, "executor_of", lambda line: SimpleNamespace(map_array=map_array))
    monkeypatch.setattr(cluster, "POLL", 0)
    return jobs


def test_jobs_that_are_not_done_are_handed_over(many, handed):
    assert many(LINE, "fail seed_2") == (1, {"seed_1": "done", "seed_2": "failed", "seed_3": "done"})
    assert len(handed) == 3
    assert many(LINE) == (0, {"seed_1": "done before", "seed_2": "done", "seed_3": "done before"})
    assert len(handed) == 1


def test_a_job_that_ends_without_a_word_was_killed(many, handed, monkeypatch, capsys):
    monkeypatch.setattr(Handed, "lost", True)
    assert many(LINE) == (1, dict.fromkeys(["seed_1", "seed_2", "seed_3"], "killed"))
    assert "NODE_FAIL" in capsys.readouterr().out


def test_after_a_failure_those_that_have_not_started_are_cancelled(many, handed, monkeypatch):
    result = Handed.result
    monkeypatch.setattr(Handed, "done", lambda self: self in handed[:1] or self.is_over)

    def first_result(self) -> process.Outcome:
        handed[1].is_over = True
        handed[1].paths.stdout.parent.mkdir(exist_ok=True)
        handed[1].paths.stdout.touch()
        return result(self)

    monkeypatch.setattr(Handed, "result", first_result)
    states = {"seed_1": "failed", "seed_2": "done", "seed_3": "not run"}
    assert many(f"{LINE} jobs.fail_fast=true", "fail seed_1") == (1, states)
    assert [one.cancelled for one in handed] == [False, False, True]


def test_slurm_is_asked_on_its_own_machines(many, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda program: None)
    with pytest.raises(UserError, match="srun"):
        many(LINE)
    assert not list(tmp_path.iterdir())


def test_a_signal_leaves_the_jobs_to_the_cluster(many, handed, monkeypatch, capsys):
    monkeypatch.setattr(Handed, "waits", True)
    with pytest.raises(Interrupted, match="this goes on"):
        many(LINE)
    assert "0 of 3 done" in capsys.readouterr().out
    assert not any(one.cancelled for one in handed)


def test_what_is_typed_reaches_submitit(tmp_path, monkeypatch):
    """All keys of hydra.launcher are submitit's own, for SLURM and for this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("submitit.SlurmExecutor.affinity", staticmethod(lambda: 1))
    more = "hydra.launcher.partition=gpu hydra.launcher.gpus_per_node=2 hydra.launcher.max_num_timeout=3"
    executor = cluster.executor_of(line.read([*LINE.split(), *more.split()], "cse-train"))
    assert {"partition": "gpu", "gpus_per_node": 2, "time": 60}.items() <= executor._executor.parameters.items()
    assert executor._executor.max_num_timeout == 3
    assert str(executor.folder).endswith(".submitit/%j")
    with pytest.raises(UserError, match="partitoin"):
        cluster.executor_of(line.read([*LINE.split(), "hydra.launcher.partitoin=gpu"], "cse-train"))
    cluster.executor_of(line.read(["-m", "seed=1,2", "hydra/launcher=submitit_local"], "cse-train"))


@pytest.mark.parametrize(("words", "said"), [
    ("seed=1,2,3,4 hydra.launcher.gpus_per_node=1", ["SLURM: 4 jobs on one GPU each", "--array=0-3%4"]),
    ("seed=1 hydra.launcher.gpus_per_node=4 trainer.devices=4", ["SLURM: one job on 4 GPUs", "--gpus-per-node=4"]),
    ("seed=1 hydra.launcher.gpus_per_node=4", ["3 of 4 GPUs would be idle: trainer.devices=4"]),
    ("seed=1 trainer.devices=2 hydra.launcher.nodes=3", ["gpus_per_node=2", "2 would be idle"]),
    ("seed=1 hydra.launcher.gres=gpu:2 hydra.launcher.timeout_min=9", ["one job on gres=gpu:2", "--time=9"]),
])  # fmt: skip
def test_a_dry_run_shows_the_submission_on_any_machine(many, tmp_path, capsys, words, said):
    line = f"-m {words} hydra/launcher=submitit_slurm hydra.launcher.partition=gpu dry_run=true model=minilm"
    assert many_code(line) == 0
    shown = capsys.readouterr().out
    for part in [*said, "#SBATCH --partition=gpu", "submitit.core._submit"]:
        assert part in shown
    with pytest.raises(UserError, match="partitoin"):
        many_code(f"{line} hydra.launcher.partitoin=x")
    assert not list(tmp_path.iterdir())


def many_code(line: str) -> int:
    with explaining(line.split(), "train"):
        return engine.main(line.split(), "cse-train")


def test_slurm_ends_a_job_that_is_put_back_and_not_what_puts_it_back(tmp_path, monkeypatch):
    """submitit asks by scontrol, one of the job's processes: it gets the signal that the job gets."""
    codes = []
    put_back = ["sh", "-c", "kill -TERM $$; exit 0"]
    signal.signal(signal.SIGUSR2, lambda *_: codes.append(subprocess.run(put_back).returncode))
    monkeypatch.setattr(process, "command_of", lambda *_: os.kill(os.getpid(), signal.SIGUSR1))
    monkeypatch.setattr(cluster.slurm, "is_wanted_later", lambda number: number == signal.SIGUSR1)
    outcome = cluster.OnNode()(Job("job", "cse-train", []), tmp_path / "job")
    assert (outcome.state, codes) == ("interrupted", [0])
    assert cluster.OnNode().checkpoint("job", "folder").args == ("job", "folder")


@pytest.mark.nightly
def test_jobs_of_submitit_on_this_machine(tmp_path, cse_train, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [
        "sweep=whitenedcse/table5",
        "objective.m=2,3",
        "smoke=true",
        "tracker=none",
        f"paths.cache={tmp_path}/cache",
    ]
    assert cse_train([*words, "hydra/launcher=submitit_local"]) == 0
    results = [json.loads(path.read_text()) for path in tmp_path.glob("runs/smoke/*/*/m_*/results.json")]
    assert [result["status"] for result in results] == ["done", "done"]


@pytest.mark.parametrize(
    "word",
    ["partition='a\n#SBATCH --uid=0'", "timeout_min=null", "timeout_min=-5", "nodes=two", "tasks_per_node=0",
     "array_parallelism=0"],
)  # fmt: skip
def test_no_value_is_a_line_of_the_script_nor_a_number_that_is_none(word):
    with pytest.raises(UserError, match=word.partition("=")[0]):
        cluster.parameters_of(line.read(["-m", *LINE.split()[1:], f"hydra.launcher.{word}"], "cse-train"))


def test_text_in_quotes_is_one_value():
    words = [*LINE.split()[1:], "hydra.launcher.name='x y;z'", "hydra.launcher.gres='gpu:a100:2'"]
    assert cluster.parameters_of(line.read(words, "cse-train"))[1]["name"] == "x y;z"
