"""The documents' lines for SLURM, as they stand there but for their sizes, on a real SLURM of two nodes."""

import json
import re
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blocks import blocks, commands
from killed import assert_same_run, logged

pytestmark = pytest.mark.nightly

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "devices.md"
SHOWN = [command for block in blocks(DOCUMENT) if block.language == "sh" for _, command in commands(block)]


TRAP = next(command for command in SHOWN if command.startswith("trap "))


def shown(start: str, *more: str) -> str:
    """The document's line that starts so, with one process a node, and with `more` words for cse-train."""
    (line,) = [command for command in SHOWN if command.startswith(start)]
    line = re.sub(r"(ntasks-per-node|nproc-per-node|gpus-per-node)=\d+", r"\1=1", line).replace("=gpu ", "=low ")
    words = " ".join(map(shlex.quote, more))
    return f'{line[:-1]} {words}"' if line.endswith('"') else f"{line} {words}"


@pytest.fixture
def arguments(small_run) -> list[str]:
    """Of a small run, without its folder."""
    return [argument for argument in small_run if not argument.startswith("hydra.run.dir=")]


@pytest.fixture
def longer(arguments) -> list[str]:
    """Of one of 300 steps."""
    more = ["trainer.epochs=12", "trainer.eval_every=150", "trainer.save_every=50", "trainer.log_every=5"]
    return [*(argument for argument in arguments if "trainer.max_steps" not in argument), *more]


@dataclass
class Job:
    """One of SLURM's, by its number, and the folder of its run."""

    cluster: Any
    number: str
    folder: Path

    def step(self) -> int:
        return max((event["step"] for event in logged(self.folder)), default=0)

    def goes_on(self) -> None:
        """Waits until it has come some steps further."""
        before = self.step()
        self.cluster.wait(lambda: self.step() > before + 20)

    def starts_again(self, times: int) -> None:
        self.cluster.wait(lambda: self.cluster.state(self.number)["Restarts"] == str(times))

    def said(self) -> str:
        return self.cluster.work.joinpath(f"{self.folder.name}.out").read_text()


@pytest.fixture
def submit(cluster):
    """A function that hands the document's job to SLURM. signal: instead of the document's; before: the srun."""

    def job(name: str, *more: str, signal: str = "--signal=USR1@60", before: str = "") -> Job:
        line = shown("sbatch --requeue", *more, f"hydra.run.dir={name}", "resume=auto")
        line = line.replace("--signal=USR1@60", signal).replace('"srun', f'"{before.replace("$", chr(92) + "$")} srun')
        said = cluster.run(f"SBATCH_OUTPUT={name}.out {line}")
        return Job(cluster, re.findall(r"\d+", said)[-1], cluster.work / name)

    return job


@pytest.fixture
def preempt(cluster):
    """A function that takes both nodes for a second."""
    return partial(cluster.run, "sbatch --partition=high --nodes=2 --exclusive --output=/dev/null --wrap 'sleep 1'")


def losses(folder: Path) -> list[float]:
    return [event["train/loss"] for event in logged(folder) if "train/loss" in event]


def results(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def test_two_nodes_are_one_process(cluster, cse_train, arguments, tmp_path):
    """Tasks of srun, and torchrun under srun. Without dropout, of which each process draws its own."""
    still = [*arguments, "augmentation=shuffle", "augmentation.model_dropout=0.0"]
    assert cse_train([*still, f"hydra.run.dir={tmp_path}/one"]) == 0
    said = cluster.run(shown("srun --kill-on-bad-exit", *still, "hydra.run.dir=srun"))
    assert said.count("step 6/6") == 1
    line = shown("srun --nodes=2", *still, "hydra.run.dir=torchrun")
    cluster.run(f"sbatch --nodes=2 --output=torchrun.out --wrap {shlex.quote(line)}")
    cluster.wait(lambda: (cluster.work / "torchrun/results.json").exists())
    cluster.wait(lambda: results(cluster.work / "torchrun")["status"] == "done")
    for name in ("srun", "torchrun"):
        np.testing.assert_allclose(losses(cluster.work / name), losses(tmp_path / "one"), rtol=1e-5)


def test_a_line_of_many_jobs(cluster, longer, preempt):
    """Each job is one of SLURM's. One is preempted in the middle, goes back into the queue, and goes on from there."""
    line = shown("cse-train -m seed=1,2,3 hydra/launcher=submitit", *longer, "hydra.sweep.dir=sweep")
    process = cluster.start(f"{line} >many.out 2>&1")
    jobs = cluster.work / "sweep"
    cluster.wait(lambda: any(len(losses(folder)) > 1 for folder in jobs.glob("seed_1-*")))
    preempt()
    assert process.wait(timeout=600) == 0, (cluster.work / "many.out").read_text()
    said = (cluster.work / "many.out").read_text()
    assert "3 of 3 done" in said, said
    assert "resuming" in "".join(path.read_text() for path in jobs.glob("*/job.log"))


def test_a_killed_job_of_many_goes_on_with_the_same_line(cluster, longer):
    line = shown("cse-train -m seed=1,2,3 hydra/launcher=submitit", *longer, "hydra.sweep.dir=killed")
    process = cluster.start(f"{line} >killed.out 2>&1")
    cluster.wait(lambda: any(max((e["step"] for e in logged(f)), default=0) > 60 for f in jobs_of(cluster, "seed_1")))
    cluster.run("pkill -KILL -f 'hydra.run.dir=.*killed/seed_1-'")
    assert process.wait(timeout=600) == 1
    said = (cluster.work / "killed.out").read_text()
    assert "2 of 3 done, 1 killed" in said, said
    said = cluster.run(line)
    assert "3 of 3 done" in said, said
    assert len(re.findall(r"^[\d:]+  done before", said, re.MULTILINE)) == 2
    (folder,) = jobs_of(cluster, "seed_1")
    assert "resuming" in (folder / "job.log").read_text()


def jobs_of(cluster, name: str) -> list[Path]:
    return list((cluster.work / "killed").glob(f"{name}-*"))


def test_a_job_goes_on_by_itself(cluster, longer, submit, preempt):
    """Preempted, put back by hand, and on a node that dies: the run ends as if nothing had happened, bit for bit."""
    cluster.run(shown("srun --kill-on-bad-exit", *longer, "hydra.run.dir=whole"))
    job = submit("broken", *longer)
    cluster.wait(lambda: job.step() > 20)
    preempt()
    job.starts_again(1)
    assert results(job.folder)["status"] == "interrupted"
    job.goes_on()
    cluster.run(f"scontrol requeue {job.number}")
    job.starts_again(2)
    job.goes_on()
    cluster.power_cut()
    job.starts_again(3)
    cluster.wait(lambda: cluster.state(job.number)["JobState"] == "COMPLETED")
    assert_same_run(cluster.work / "whole", job.folder)


def test_a_job_that_has_had_its_time_goes_on(cluster, longer, submit):
    """Warned before, as documented, and by the SIGTERM of the end alone."""
    endless = [*longer, "trainer.epochs=4000", "trainer.save_every=100000"]
    warned = submit("warned", *endless, signal="--time=2 --signal=USR1@30")  # SLURM may send it a minute before
    ended = submit("ended", *endless, signal="--time=1", before=f"{TRAP};")
    for job in (ended, warned):
        job.starts_again(1)
        stopped = re.findall(r"stopped by (\w+); step (\d+) of", job.said())
        assert stopped == [("SIGUSR1" if job is warned else "SIGTERM", stopped[0][1])]
        cluster.wait(lambda job=job, step=stopped[0][1]: f"at step {step} of" in job.said())  # resuming
        cluster.run(f"scancel {job.number}")
    for job in (ended, warned):
        cluster.wait(lambda job=job: cluster.state(job.number)["JobState"] == "CANCELLED")


def test_a_job_goes_on_after_preemption_by_sigterm_and_after_a_kill(cluster, longer, submit, preempt):
    job = submit("term", *longer, signal="", before=f"{TRAP};")
    cluster.wait(lambda: job.step() > 20)
    preempt()
    job.starts_again(1)
    assert "stopped by SIGTERM" in job.said()
    assert results(job.folder)["status"] == "interrupted"
    job.goes_on()
    cluster.kill_on_node2("cse-train .*hydra.run.dir=term")
    job.starts_again(2)
    cluster.wait(lambda: cluster.state(job.number)["JobState"] == "COMPLETED")
    assert results(job.folder)["status"] == "done"
