"""What runs a sweep's jobs: searches, several at a time, a cluster's launcher; and one real kill."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cse.cli import train
from cse.sweep import engine, jobs, worker


def test_smac_maximises_and_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    """A score that is best at lambda_C = 10^-3: later trials come nearer than the design did; a failure is no score."""
    pytest.importorskip("smac", reason="needs the package smac")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cse-train"])
    asked = []

    def run(one, folder, told):
        given = dict(argument.split("=", 1) for argument in one.arguments if "=" in argument)
        assert given["case"] == "eda_0.1"
        asked.append(float(given["objective.log10_covariance"]))
        return ("failed", None, "told to") if len(asked) == 3 else ("done", ("dev/average", -abs(asked[-1] + 3)), "")

    monkeypatch.setattr(worker, "run", run)
    arguments = ["sweep=noncontrastive/table1_vicreg", "case=eda_0.1", "model=bert", "hydra.sweeper.batch=2"]
    assert engine.main([*arguments, "hydra.sweeper.n_trials=8"]) == 1
    assert len(asked) == len(set(asked)) == 8
    assert all(-3 <= value <= -1 for value in asked)
    memory = next(tmp_path.rglob(".smac/*.jsonl"))
    assert len(memory.read_text().splitlines()) == 7
    with open(memory, "a") as lines:
        lines.write('{"config": {"obj')  # as a full disk leaves it
    assert engine.main([*arguments, "hydra.sweeper.n_trials=14"]) == 0
    assert len(asked) == 15  # the 7 that are known, and 7 new ones
    assert min(asked[-5:]) < min(asked[:4]) + 1e-6
    assert len(jobs.read("noncontrastive/table1_vicreg").searches([])) == 20


def test_without_smac_one_sentence_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "smac", None)
    monkeypatch.setattr(sys, "argv", ["cse-train", "sweep=noncontrastive/table1_vicreg", "case=eda_0.1", "model=bert"])
    with pytest.raises(SystemExit, match="2"):
        train.main()
    err = capsys.readouterr().err.strip()
    assert "pip install" in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_sweep_killed_whole_goes_on(tmp_path, small_run):
    """SIGKILL to the sweep and its job after some checkpoints; the same line again resumes and finishes."""
    shrunk = [a for a in small_run if not a.startswith(("hydra.run.dir", "trainer.max_steps", "trainer.eval_every"))]
    line = [str(Path(sys.executable).parent / "cse-train"), "sweep=whitenedcse/table5", "objective.m=2", *shrunk,
            "objective.whitening.num_groups=16", "trainer.epochs=8", "trainer.eval_every=4"]  # fmt: skip
    process = subprocess.Popen(line, cwd=tmp_path, start_new_session=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while not list(tmp_path.glob("runs/*/*/m_2*/last/state.safetensors")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    folder = next(tmp_path.glob("runs/*/*/m_2*"))
    assert json.loads((folder / "results.json").read_text())["status"] == "running"
    again = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "resuming" in (folder / "job.log").read_text()
    results = json.loads((folder / "results.json").read_text())
    assert (results["status"], results["steps"]) == ("done", 200)
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = [event["step"] for event in events if "train/loss" in event]
    assert steps == list(range(1, 201))


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [["jobs.parallel=2"], ["hydra/launcher=submitit_local"]])
def test_every_job_is_done_under_either_launcher(tmp_path, launcher):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="needs cse-lab[launchers]")
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs cse-lab[launchers]")
    line = [str(Path(sys.executable).parent / "cse-train"), "sweep=whitenedcse/table5", "objective.m=2,3", "smoke=true",
            "tracker=none", f"paths.cache={tmp_path}/cache", *launcher]  # fmt: skip
    out = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr
    assert "2 of 2 done" in out.stdout
    results = [json.loads(path.read_text()) for path in tmp_path.glob("runs/smoke/*/*/m_*/results.json")]
    assert [result["status"] for result in results] == ["done", "done"]
