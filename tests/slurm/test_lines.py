"""The documents' lines for SLURM, as they stand there but for their sizes, on a real SLURM of two nodes."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from blocks import blocks, commands
from killed import assert_same_run, logged

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "devices.md"
SHOWN = [command for block in blocks(DOCUMENT) if block.language == "sh" for _, command in commands(block)]


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


def test_a_line_of_many_jobs(cluster, arguments):
    """Each job is one of SLURM's. One is preempted in the middle, goes back into the queue, and goes on from there."""
    longer = [argument for argument in arguments if "trainer.max_steps" not in argument]
    more = ["trainer.epochs=12", "trainer.eval_every=150", "trainer.log_every=10", "hydra.sweep.dir=sweep"]
    line = cluster.start(f"{shown('cse-train -m seed=1,2,3 hydra/launcher=submitit', *longer, *more)} >many.out 2>&1")
    first = cluster.work / "sweep"
    cluster.wait(lambda: any(len(losses(folder)) > 1 for folder in first.glob("seed_1-*")))
    cluster.run("sbatch --partition=high --nodes=2 --exclusive --output=/dev/null --wrap 'sleep 1'")
    assert line.wait(timeout=200) == 0, (cluster.work / "many.out").read_text()
    said = (cluster.work / "many.out").read_text()
    assert "3 of 3 done" in said, said
    ends = "".join(path.read_text() for path in first.glob(".starts/*.jsonl"))
    assert "interrupted" in ends


def test_a_job_goes_on_by_itself(cluster, arguments):
    """Preempted, put back by hand, and on a node that dies: the run ends as if nothing had happened, bit for bit."""
    longer = [argument for argument in arguments if "trainer.max_steps" not in argument]
    more = ["trainer.epochs=12", "trainer.eval_every=150", "trainer.save_every=50", "trainer.log_every=5"]
    cluster.run(shown("srun --kill-on-bad-exit", *longer, *more, "hydra.run.dir=whole"))
    line = shown("sbatch --requeue", *longer, *more, "hydra.run.dir=broken", "resume=auto")
    job = re.findall(r"\d+", cluster.run(f"SBATCH_OUTPUT=broken.out {line}"))[-1]
    folder = cluster.work / "broken"

    def step() -> int:
        return max((event["step"] for event in logged(folder)), default=0)

    def restarted(times: int) -> bool:
        return cluster.state(job)["Restarts"] == str(times)

    cluster.wait(lambda: step() > 20)
    cluster.run("sbatch --partition=high --nodes=2 --exclusive --output=/dev/null --wrap 'sleep 1'")
    cluster.wait(lambda: restarted(1))
    assert results(folder)["status"] == "interrupted"
    before = step()
    cluster.wait(lambda: step() > before + 20)
    cluster.run(f"scontrol requeue {job}")
    cluster.wait(lambda: restarted(2))
    before = step()
    cluster.wait(lambda: step() > before + 20)
    cluster.power_cut()
    cluster.wait(lambda: restarted(3))
    cluster.wait(lambda: cluster.state(job)["JobState"] == "COMPLETED")
    assert_same_run(cluster.work / "whole", folder)
