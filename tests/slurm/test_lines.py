"""The command lines for SLURM in the documents, with smaller sizes, on a real SLURM of two nodes."""

import re
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blocks import blocks, commands
from killed import assert_same_run
from run_folders import leave_heartbeat, logged, logged_of, results_of

pytestmark = pytest.mark.nightly

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "devices.md"
SHELL = [block for block in blocks(DOCUMENT) if block.language == "sh"]
SHOWN = [re.sub(" +", " ", command) for block in SHELL for _, command in commands(block)]
MANY = "cse-train -m seed=1,2,3 hydra/launcher=submitit_slurm hydra.launcher.partition"
TRAP = next(command for command in SHOWN if command.startswith("trap "))


def shown(start: str, *more: str) -> str:
    """The document's line with this start, with one process per node and with `more` words for cse-train."""
    (line,) = [command for command in SHOWN if command.startswith(start)]
    line = re.sub(r"(ntasks-per-node|nproc-per-node|gpus-per-node)=\d+", r"\1=1", line).replace("=gpu ", "=low ")
    words = " ".join(map(shlex.quote, more))
    return f'{line[:-1]} {words}"' if line.endswith('"') else f"{line} {words}"


@pytest.fixture
def arguments(small_run) -> list[str]:
    """The arguments of a small run, without its folder."""
    return [argument for argument in small_run if not argument.startswith("hydra.run.dir=")]


@pytest.fixture
def longer(arguments) -> list[str]:
    """The arguments of a run of 300 steps."""
    more = ["trainer.epochs=12", "trainer.eval_every=150", "trainer.save_every=50", "trainer.log_every=5"]
    return [*(argument for argument in arguments if "trainer.max_steps" not in argument), *more]


@dataclass
class Job:
    """A job of SLURM's: its number and the folder of its run."""

    cluster: Any
    number: str
    folder: Path

    def step(self) -> int:
        return max((event["step"] for event in logged(self.folder)), default=0)

    def wait_for_progress(self) -> None:
        """Wait until it has done 20 more steps."""
        before = self.step()
        self.cluster.wait(lambda: self.step() > before + 20)

    def wait_for_restart(self, times: int) -> None:
        self.cluster.wait(lambda: self.cluster.state(self.number)["Restarts"] == str(times))

    def output(self) -> str:
        return self.cluster.work.joinpath(f"{self.folder.name}.out").read_text()


@pytest.fixture
def submit(cluster):
    """A function that submits the document's job. signal: instead of the document's. before: what runs before srun."""

    def job(name: str, *more: str, signal: str = "--signal=USR1@60", before: str = "") -> Job:
        line = shown("sbatch --requeue", *more, f"hydra.run.dir={name}", "resume=auto")
        line = line.replace("--signal=USR1@60", signal).replace('"srun', f'"{before.replace("$", chr(92) + "$")} srun')
        output = cluster.run(f"SBATCH_OUTPUT={name}.out {line}")
        return Job(cluster, re.findall(r"\d+", output)[-1], cluster.work / name)

    return job


@pytest.fixture
def preempt(cluster):
    """A function that preempts everything on both nodes for a second."""
    return partial(cluster.run, "sbatch --partition=high --nodes=2 --exclusive --output=/dev/null --wrap 'sleep 1'")


def test_two_nodes_have_the_losses_of_one_process(cluster, cse_train, arguments, tmp_path):
    """With srun's tasks, and with torchrun under srun. Without dropout, which each process draws for itself."""
    still = [*arguments, "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train([*still, f"hydra.run.dir={tmp_path}/one"]) == 0
    output = cluster.run(shown("srun --kill-on-bad-exit", *still, "hydra.run.dir=srun"))
    assert output.count("step 6/6") == 1
    line = shown("srun --nodes=2", *still, "hydra.run.dir=torchrun")
    cluster.run(f"sbatch --nodes=2 --output=torchrun.out --wrap {shlex.quote(line)}")
    cluster.wait(lambda: (cluster.work / "torchrun/results.json").exists())
    cluster.wait(lambda: results_of(cluster.work / "torchrun")["status"] == "done")
    for name in ("srun", "torchrun"):
        np.testing.assert_allclose(logged_of(cluster.work / name), logged_of(tmp_path / "one"), rtol=1e-5)


@pytest.mark.parametrize("tasks", [1, 2])
def test_many_jobs_of_which_one_is_preempted_and_resumes(cluster, longer, preempt, tasks):
    """Each job is a job of SLURM's; the preempted one goes back into the queue."""
    jobs, printed = cluster.work / f"sweep{tasks}", cluster.work / f"many{tasks}.out"
    line = shown(MANY, *longer, f"hydra.sweep.dir={jobs}", f"hydra.launcher.tasks_per_node={tasks}")
    process = cluster.start(f"{line} >{printed} 2>&1")
    cluster.wait(lambda: any(len(logged_of(folder)) > 1 for folder in jobs.glob("seed_1-*")))
    preempt()
    assert process.wait(timeout=600) == 0, printed.read_text()
    output = printed.read_text()
    assert "3 of 3 done" in output, output
    assert "resuming" in "".join(path.read_text() for path in jobs.glob("*/job.log"))


def test_a_killed_job_of_many_resumes_with_the_same_line(cluster, longer):
    line = shown(MANY, *longer, "hydra.sweep.dir=killed")
    process = cluster.start(f"{line} >killed.out 2>&1")
    jobs = cluster.work / "killed"
    cluster.wait(lambda: any(max((e["step"] for e in logged(f)), default=0) > 60 for f in jobs.glob("seed_1-*")))
    cluster.run("pkill -KILL -f 'hydra.run.dir=.*killed/seed_1-'")
    assert process.wait(timeout=600) == 1
    output = (cluster.work / "killed.out").read_text()
    assert "2 of 3 done, 1 killed" in output, output
    output = cluster.run(line)
    assert "3 of 3 done" in output, output
    assert len(re.findall(r"^[\d:]+  done before", output, re.MULTILINE)) == 2
    (folder,) = jobs.glob("seed_1-*")
    assert "resuming" in (folder / "job.log").read_text()


def test_a_job_of_several_tasks_is_one_run_as_its_first_task_says(cluster, cse_train, arguments, tmp_path):
    """Also where the tasks see the folder differently: of a process that died on node1, node2 knows no more than that
    it was alive a moment ago."""
    still = [*arguments, "seed=1", "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train([*still, f"hydra.run.dir={tmp_path}/one"]) == 0
    start = "cse-train -m hydra/launcher=submitit_slurm hydra.launcher.partition=low hydra.launcher."
    for place, tasks in (("node", "nodes=1 hydra.launcher.tasks_per_node=2"), ("nodes", "nodes=2")):
        line = f"{start}{tasks} {shlex.join([*still, f'hydra.sweep.dir={place}'])}"
        (planned,) = re.findall(r"^\S+-[0-9a-f]{8}(?= )", cluster.run(f"{line} dry_run=true"), re.MULTILINE)
        folder = cluster.work / place / planned
        folder.mkdir(parents=True)
        leave_heartbeat(folder, host="node1", pid=2**22 + 1)
        output = cluster.run(line, patience=240)
        assert "1 of 1 done" in output, output
        np.testing.assert_allclose(logged_of(folder), logged_of(tmp_path / "one"), rtol=1e-5)
        assert results_of(folder)["processes"] == 2
        assert re.search(r"^[\d:]+  done before", cluster.run(line), re.MULTILINE)


def test_a_job_resumes_by_itself_bit_for_bit(cluster, longer, submit, preempt):
    """After a preemption, a requeue by hand, and a node that dies."""
    cluster.run(shown("srun --kill-on-bad-exit", *longer, "hydra.run.dir=whole"))
    job = submit("broken", *longer)
    cluster.wait(lambda: job.step() > 20)
    preempt()
    job.wait_for_restart(1)
    assert results_of(job.folder)["status"] == "interrupted"
    job.wait_for_progress()
    cluster.run(f"scontrol requeue {job.number}")
    job.wait_for_restart(2)
    job.wait_for_progress()
    cluster.power_cut()
    job.wait_for_restart(3)
    cluster.wait(lambda: cluster.state(job.number)["JobState"] == "COMPLETED")
    assert_same_run(cluster.work / "whole", job.folder)


def test_a_job_that_reached_its_time_limit_resumes(cluster, longer, submit):
    """With a warning beforehand, as documented, and with only the final SIGTERM."""
    endless = [*longer, "trainer.epochs=4000", "trainer.save_every=100000"]
    warned = submit("warned", *endless, signal="--time=2 --signal=USR1@30")  # SLURM may send it a minute earlier
    ended = submit("ended", *endless, signal="--time=1", before=f"{TRAP};")
    for job in (ended, warned):
        job.wait_for_restart(1)
        stopped = re.findall(r"stopped by (\w+); step (\d+) of", job.output())
        assert stopped == [("SIGUSR1" if job is warned else "SIGTERM", stopped[0][1])]
        cluster.wait(lambda job=job, step=stopped[0][1]: f"at step {step} of" in job.output())  # resuming
        cluster.run(f"scancel {job.number}")
    for job in (ended, warned):
        cluster.wait(lambda job=job: cluster.state(job.number)["JobState"] == "CANCELLED")


def test_a_job_resumes_after_preemption_by_sigterm_and_after_a_kill(cluster, longer, submit, preempt):
    job = submit("term", *longer, signal="", before=f"{TRAP};")
    cluster.wait(lambda: job.step() > 20)
    preempt()
    job.wait_for_restart(1)
    assert "stopped by SIGTERM" in job.output()
    assert results_of(job.folder)["status"] == "interrupted"
    job.wait_for_progress()
    cluster.kill_on_node2("cse-train .*hydra.run.dir=term")
    job.wait_for_restart(2)
    cluster.wait(lambda: cluster.state(job.number)["JobState"] == "COMPLETED")
    assert results_of(job.folder)["status"] == "done"
