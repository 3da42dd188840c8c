"""Jobs on a cluster: what is submitted, each job's outcome, and what a preempted job does on its node."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typed import command_typed

from cse.errors import Interrupted, UserError
from cse.lab.folder.jobs_file import jobs_without_run

cluster = pytest.importorskip("cse.lab.sweep.cluster", reason="needs cse-lab[launchers]", exc_type=ImportError)
from submitit.core.utils import FailedJobError, UncompletedJobError  # noqa: E402

from cse.lab.settings.arguments import texts_of  # noqa: E402
from cse.lab.sweep import engine, process, sbatch  # noqa: E402
from cse.lab.sweep.job import PlannedJob  # noqa: E402
from cse.lab.sweep.sweep_command import SweepCommand, read_sweep_command  # noqa: E402

LINE = "-m seed=1,2,3 hydra/launcher=submitit_slurm"


class Handed:
    """A submitted job, of a cluster that runs a job when it is asked for it, or never runs it, or loses it."""

    state, waits, lost, is_over = "NODE_FAIL", False, False, False

    def __init__(self, call, job: PlannedJob, folder: Path):
        self.call, self.job_id, self.cancelled = (call, job, folder), job.name[:6], False
        self.paths = SimpleNamespace(stdout=folder / "stdout", stderr=folder / "stderr")

    def done(self) -> bool:
        if self.waits:
            signal.raise_signal(signal.SIGUSR1)
        return not self.waits

    def task(self, number: int) -> "Handed":
        """One of its tasks, as submitit has them: a job of several has no `result` itself."""
        return self

    def result(self) -> process.Outcome:
        if self.lost:
            raise UncompletedJobError
        call, *words = self.call
        return call(*words)

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def handed(monkeypatch) -> list[Handed]:
    """The jobs that the last line submitted."""
    jobs: list[Handed] = []

    def map_array(call, *columns) -> list[Handed]:
        jobs[:] = [Handed(call, *words) for words in zip(*columns, strict=True)]
        return jobs

    monkeypatch.setattr(cluster, "executor_of", lambda line, parameters, kind: SimpleNamespace(map_array=map_array))
    monkeypatch.setattr(cluster, "POLL", 0)
    return jobs


def test_what_sbatch_refuses_is_one_sentence(many, monkeypatch):
    def refuse(*_):
        raise FailedJobError("sbatch: error: Invalid account\nBatch job submission failed")

    monkeypatch.setattr(cluster, "executor_of", lambda line, parameters, kind: SimpleNamespace(map_array=refuse))
    with pytest.raises(UserError, match=r"sbatch refused the jobs: .*Invalid account"):
        many(LINE)


def test_only_jobs_that_are_not_done_are_submitted(many, handed):
    assert many(LINE, "fail seed_2") == (1, {"seed_1": "done", "seed_2": "failed", "seed_3": "done"})
    assert len(handed) == 3
    assert many(LINE) == (0, {"seed_1": "done before", "seed_2": "done", "seed_3": "done before"})
    assert len(handed) == 1


def test_a_job_without_a_result_was_killed(many, handed, monkeypatch, capsys):
    monkeypatch.setattr(Handed, "lost", True)
    assert many(LINE) == (1, dict.fromkeys(["seed_1", "seed_2", "seed_3"], "killed"))
    assert "NODE_FAIL" in capsys.readouterr().out


def test_after_a_failure_jobs_that_have_not_started_are_cancelled(many, handed, monkeypatch):
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


def test_after_a_known_failure_nothing_is_submitted(many, handed, monkeypatch):
    assert many("-m seed=2 hydra.sweep.dir=here")[0] == 0
    monkeypatch.setattr(process, "differences", lambda job, results: ["other content of text.txt"])
    states = {"seed_1": "not run", "seed_2": "failed", "seed_3": "not run"}
    assert many(f"{LINE} hydra.sweep.dir=here jobs.fail_fast=true") == (1, states)
    assert not handed


def test_a_job_whose_settings_are_refused_fails_alone(many, handed, monkeypatch, capsys):
    def refuse_seed_2(job, run):
        if "seed=2" in texts_of(job.arguments):
            raise UserError("no such score")
        return []

    assert many(f"{LINE} hydra.sweep.dir=here")[0] == 0
    monkeypatch.setattr(process, "differences", refuse_seed_2)
    states = {"seed_1": "done before", "seed_2": "failed", "seed_3": "done before"}
    assert many(f"{LINE} hydra.sweep.dir=here") == (1, states)
    assert "no such score" in capsys.readouterr().out


def test_after_a_signal_jobs_that_score_other_jobs_do_not_fail(many, own_sweep, handed, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(Handed, "waits", True)
    with pytest.raises(Interrupted):
        many(f"sweep={own_sweep} hydra/launcher=submitit_slurm")
    assert "0 of 2 done\n" in capsys.readouterr().out
    assert [one.call[1].program for one in handed] == ["cse-train"]
    left = {job.program: job.state for job in jobs_without_run([tmp_path])}
    assert left == {"cse-train": "not started", "cse-eval": "not started"}


def test_a_machine_without_slurm_is_refused(many, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda program: None)
    with pytest.raises(UserError, match="srun"):
        many(LINE)
    assert not list(tmp_path.iterdir())


def test_a_signal_leaves_the_jobs_to_the_cluster(many, handed, monkeypatch, capsys):
    monkeypatch.setattr(Handed, "waits", True)
    with pytest.raises(Interrupted):
        many(LINE)
    assert "0 of 3 done" in capsys.readouterr().out
    assert not any(one.cancelled for one in handed)


def test_keys_of_hydra_launcher_reach_submitit(monkeypatch):
    monkeypatch.setattr("submitit.SlurmExecutor.affinity", staticmethod(lambda: 1))
    more = [
        "partition=gpu,long",
        "gpus_per_node=2",
        "max_num_timeout=3",
        "name='x y;z'",
        "mem_gb=4",
        "python='a;b py'",
        "wckey=lab",
    ]
    executor = executor_for(*more)
    wanted = {"partition": "gpu,long", "gpus_per_node": 2, "time": 60, "job_name": "x y;z", "mem": "4GB",
              "wckey": "lab"}  # fmt: skip
    assert wanted.items() <= executor.parameters.items()
    assert (executor.max_num_timeout, executor.python, executor.folder.name) == (3, "'a;b' py", "%j")
    # a new folder, into which nobody can have put a pickle
    assert executor.folder != executor_for(*more).folder


@pytest.mark.parametrize("word", [
    "partition='a\n#SBATCH --uid=0'", "partitoin=gpu", "gpus=1", "conda=x", "mem_gb=64G", "additional_parameters=x",
    "additional_parameters={x: 'a\n#SBATCH --uid=0'}",
    "nodes=2-4", "nodes='\"2\"'", "nodes=0", "tasks_per_node=4x", "array_parallelism=few", "timeout_min=1:00:00",
    "max_num_timeout=-1",
])  # fmt: skip
def test_what_submitit_does_not_take_is_one_sentence_and_no_value_adds_a_line(word):
    with pytest.raises(UserError, match=r"hydra.launcher") as caught:
        executor_for(word, kind=sbatch.WithoutSlurm)
    assert "\n" not in str(caught.value)


def test_null_unsets_what_an_earlier_word_asked_for():
    unset = ("gpus_per_node=null", "python=null", "additional_parameters=null", "setup=null")
    found = sbatch.parameters_of(line_of("gpus_per_node=2", "gres=gpu:2", *unset))
    assert found["gres"] == "gpu:2"
    assert "gpus_per_node" not in found
    nulls = (f"{key}=null" for key in sbatch.DEFAULTS)
    assert sbatch.parameters_of(line_of("signal_delay_s=9", *nulls)) == sbatch.DEFAULTS


def executor_for(*launch: str, kind=sbatch.SlurmExecutor) -> sbatch.SlurmExecutor:
    read = line_of(*launch)
    return sbatch.executor_of(read, sbatch.parameters_of(read), kind)


def line_of(*launch: str) -> SweepCommand:
    return read_sweep_command(command_typed([*LINE.split(), *(f"hydra.launcher.{word}" for word in launch)]))


@pytest.mark.parametrize(("words", "parts"), [
    ("seed=1,2,3,4 hydra.launcher.gpus_per_node=1", ["jobs 4, GPUs per job 1", "--array=0-3%4"]),
    ("seed=1", ["no GPU is asked for", "one core: hydra.launcher.cpus_per_task=8"]),
    ("seed=1 hydra.launcher.gres=gpu:a100:2", ["GPUs per job 2", "idle GPUs in each job: 1", "--gres=gpu:a100:2"]),
    ("seed=1 hydra.launcher.gpus_per_node=a100:2", ["idle GPUs in each job: 1", "--gpus-per-node=a100:2"]),
    ("seed=1 hydra.launcher.gpus_per_node=4 hydra.launcher.timeout_min=9",
     ["idle GPUs in each job: 3; trainer.devices=4", "--time=9"]),
    ("seed=1 hydra.launcher.nodes=2 hydra.launcher.tasks_per_node=4 hydra.launcher.gpus_per_node=4",
     ["GPUs per job 8, processes per job 8"]),
    ("seed=1 trainer.devices=8 hydra.launcher.nodes=2 hydra.launcher.gpus_per_node=4",
     ["hydra.launcher.tasks_per_node=4 without trainer.devices uses all 4 of each node"]),
    ("seed=1 trainer.devices=2 hydra.launcher.gpus_per_node=1 hydra.launcher.setup=hostname",
     ["trainer.devices=2 needs as many GPUs", "\nhostname\n", "hydra.launcher.python=python"]),
    ("seed=1 hydra.launcher.cpus_per_task=4 'hydra.launcher.srun_args=[\"-l\"]'",
     ["#SBATCH --cpus-per-task=4", " --cpus-per-task=4 -l "]),
])  # fmt: skip
def test_a_dry_run_shows_the_submission_on_any_machine(tmp_path, monkeypatch, capsys, words, parts):
    monkeypatch.chdir(tmp_path)
    line = f"-m {words} hydra/launcher=submitit_slurm hydra.launcher.partition=gpu dry_run=true model=minilm"
    assert engine.run_sweep(command_typed(shlex.split(line))) == 0
    shown = capsys.readouterr().out
    assert [part for part in [*parts, "#SBATCH --partition=gpu", "submitit.core._submit"] if part not in shown] == []
    assert not list(tmp_path.iterdir())


def test_further_tasks_of_a_job_run_what_the_first_decides_and_end_with_it(tmp_path, monkeypatch):
    """They look at no folder, whose answer may differ on their node, and start no program of one process."""
    endless = [sys.executable, "-IS", "-c", "import signal; signal.pause()"]
    first = tmp_path / "result of the first"
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setattr(cluster, "result_of_first_task", lambda: first)
    monkeypatch.setattr(cluster, "POLL", 0)
    monkeypatch.setattr(process, "known_outcome", lambda job, folder: pytest.fail("asked by a further task"))
    monkeypatch.setattr(process, "command_of", lambda job, folder: endless)
    assert cluster.OnNode()(PlannedJob("job", "cse-eval", []), tmp_path / "scored") is None
    assert not list(tmp_path.iterdir())
    first.touch()
    assert cluster.OnNode()(PlannedJob("job", "cse-train", []), tmp_path / "trained") is None
    assert (tmp_path / "trained" / "job.log").is_file()


def test_a_preempted_job_survives_sigterm_until_scontrol_has_requeued_it(tmp_path, monkeypatch):
    """submitit calls scontrol as one of the job's processes, so it gets the same signals as the job."""
    codes = []
    put_back = ["sh", "-c", "kill -TERM $$; exit 0"]
    signal.signal(signal.SIGUSR2, lambda *_: codes.append(subprocess.run(put_back).returncode))
    monkeypatch.setattr(process, "command_of", lambda *_: os.kill(os.getpid(), signal.SIGUSR1))
    monkeypatch.setattr(cluster.slurm, "is_wanted_later", lambda number: number == signal.SIGUSR1)
    outcome = cluster.OnNode()(PlannedJob("job", "cse-train", []), tmp_path / "job")
    assert (outcome.state, codes) == ("interrupted", [0])
    assert cluster.OnNode().checkpoint("job", "folder").args == ("job", "folder")
