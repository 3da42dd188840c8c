"""cse-train -m and cse-eval -m: the same engine as sweep=, from the command line alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cse.errors import UserError
from cse.sweep import engine, multirun, plan, worker
from cse.sweep import line as line_of_jobs
from cse.sweep.jobs import is_axis, sampled

STUB = """
import json, os, sys
folder, mood = sys.argv[1], sys.argv[2]
open(os.path.join(folder, "starts"), "a").write("x")
if mood and mood in folder:
    sys.exit("cse-train: the stub was told to fail")
results = {"status": "done", "config": {}, "metrics": {"average": 1.0}}
json.dump(results, open(os.path.join(folder, "results.json"), "w"))
"""


@pytest.fixture
def many(tmp_path, monkeypatch):
    """The engine with a stub for the jobs' processes; those whose folder has `mood` in its name fail."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cse-train"])
    monkeypatch.setattr(worker, "differences", lambda one, results: [])

    def run(line: str, mood: str = "", program: str = "cse-train") -> tuple[int, dict[str, str]]:
        monkeypatch.setattr(worker, "command_of", lambda one, folder: [sys.executable, "-c", STUB, str(folder), mood])
        code = engine.main(["-m", *line.split()], program)
        last = max(tmp_path.glob(f"multirun/*/{plan.FOLDER}/*.json"), key=lambda path: path.stat().st_mtime_ns)
        return code, {job.rpartition("-")[0]: end["state"] for job, end in plan.ends(last).items()}

    return run


def names(line: str) -> list[str]:
    this = line_of_jobs.read(line.split(), "cse-train")
    return [this.table.job(row).name.rpartition("-")[0] for row in this.rows()]


def place(line: str, program: str = "cse-train") -> Path:
    return multirun.of_line(program, line.split()).place(line.split())


def test_jobs_are_named_by_the_axes():
    assert names("objective=barlow,vicreg seed=1,2 tracker=none") == [
        "objective_barlow-seed_1", "objective_barlow-seed_2", "objective_vicreg-seed_1", "objective_vicreg-seed_2",
    ]  # fmt: skip
    assert names("trainer.lr=1e-5,3e-5 aux_modality.lr=1e-5") == ["lr_1e-05", "lr_3e-05"]
    assert names("objective=barlow seed=3") == ["objective_barlow-seed_3"]


def test_the_folder_stays_when_an_axis_grows_and_changes_with_every_other_setting():
    assert place("seed=1,2 model=minilm") == place("model=minilm seed=1,2,3")
    assert place("seed=1,2 model=minilm") != place("seed=1,2 model=bert")
    assert place("seed=1,2") != place("seed=1,2", "cse-eval")
    free = "tracker=wandb jobs.parallel=2 hydra/launcher=joblib trainer.workers=3"
    assert place("seed=1,2") == place(f"seed=1,2 {free}")
    assert place("objective=barlow,vicreg seed=1,2").name.startswith("objective+seed-")


@pytest.mark.parametrize(
    ("override", "axis", "first"),
    [
        ("seed=1,2", True, "seed=1"),
        ("seed=range(3,6)", True, "seed=3"),
        ("trainer.lr=tag(log,interval(1e-5,1e-3))", True, "trainer.lr=1e-05"),
        ("eval=[stsb,sts]", False, "eval=[stsb,sts]"),
        ("~tracker", False, "~tracker"),
    ],
)
def test_what_is_an_axis(override, axis, first):
    assert is_axis(override) == axis
    assert sampled([override]) == [first]


def test_the_same_line_again_skips_what_is_done_and_runs_what_failed(many, capsys):
    assert many("seed=1,2,3", mood="seed_2") == (1, {"seed_1": "done", "seed_2": "failed", "seed_3": "done"})
    out = capsys.readouterr().out
    assert "the stub was told to fail" in out
    assert "2 of 3 done, 1 failed; cse-report runs=multirun/seed-" in out
    again = {"seed_1": "done before", "seed_2": "done", "seed_3": "done before", "seed_4": "done"}
    assert many("seed=1,2,3,4") == (0, again)


def test_fail_fast_starts_nothing_after_a_failure(many, capsys):
    line = "seed=1,2,3 jobs.fail_fast=yes"
    assert many(line, mood="seed_2") == (1, {"seed_1": "done", "seed_2": "failed", "seed_3": "not run"})
    assert "1 of 3 done, 1 failed" in capsys.readouterr().out
    assert many(line) == (0, {"seed_1": "done before", "seed_2": "done", "seed_3": "done"})


def test_each_job_has_its_own_keys(many):
    """objective.head.hidden is a key of barlow and vicreg, and none of the default objective."""
    line = "objective=barlow,vicreg objective.head.hidden=512"
    assert many(line) == (0, {"objective_barlow": "done", "objective_vicreg": "done"})
    with pytest.raises(UserError, match=r"no key objective\.lambd;.*in the job objective_simcse"):
        many("objective=barlow,simcse objective.lambd=1")


def test_cse_eval_scores_several_checkpoints(many):
    states = {"checkpoint_a": "done", "checkpoint_b": "done"}
    assert many("checkpoint=runs/a,runs/b eval=stsb", program="cse-eval") == (0, states)
    with pytest.raises(UserError, match=r"no key trainer\.lr"):
        many("checkpoint=a,b trainer.lr=1", program="cse-eval")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("seed=1,2 resume=outputs/x", "resume=outputs/x goes on with one run"),
        ("seed=1,2 jobs.parallel=0", "whole number of at least 1"),
        ("seed=1,2 jobs.parallel=2 hydra/launcher=submitit_slurm", "array_parallelism"),
        ("seed=1,2 jobs.fail_fast=maybe", "jobs.fail_fast=maybe:"),
        ("seed=1,2 hydra/sweeper=optuna", "optuna 2.10"),
        ("seed=1 hydra/sweeper=smac", "nothing to search"),
    ],
)
def test_a_line_that_cannot_start_is_refused_before_anything_is_written(many, tmp_path, monkeypatch, line, sentence):
    monkeypatch.setattr(line_of_jobs, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=sentence):
        many(line)
    assert os.listdir(tmp_path) == []


def test_torchrun_is_refused(many, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(UserError, match="without torchrun"):
        many("seed=1,2")


def test_a_search_from_the_line(many, tmp_path):
    pytest.importorskip("smac", reason="needs the package smac")
    code, states = many("hydra/sweeper=smac trainer.lr=interval(1e-5,1e-3) hydra.sweeper.n_trials=3 seed=1")
    assert code == 0
    assert list(states.values()) == ["done"] * 3
    assert all(name.startswith("lr_") for name in states)


def test_a_signal_goes_to_the_job_first_and_then_ends_the_rest():
    """The job ends by itself, with its own exit code; whoever listened before is told after that."""
    others = []
    signal.signal(signal.SIGUSR1, lambda number, frame: others.append(number))
    stub = "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: sys.exit(138)); print('.', flush=True); "
    process = subprocess.Popen([sys.executable, "-c", f"{stub}signal.pause()"], stdout=subprocess.PIPE)

    def job() -> None:
        with worker.forwarded() as told:
            told.pass_on_to(process)
            process.stdout.readline()  # it listens
            os.kill(os.getpid(), signal.SIGUSR1)
            assert process.wait(timeout=600) == 138
            assert others == []

    try:
        with pytest.raises(KeyboardInterrupt):
            job()
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    assert others == [signal.SIGUSR1]


@pytest.mark.slow
def test_a_bad_value_fails_in_its_own_job(tmp_path):
    """From the shell: the second job runs although the first one's learning rate is refused."""
    line = [str(Path(sys.executable).parent / "cse-train"), "-m", "trainer.lr=-1,3e-5", "smoke=true", "tracker=none",
            f"paths.cache={tmp_path}/cache"]  # fmt: skip
    ended = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "trainer.lr=-1" in ended.stdout
    assert "1 of 2 done, 1 failed" in ended.stdout
    (results,) = tmp_path.glob("multirun/*/lr_3e-05-*/results.json")
    assert json.loads(results.read_text())["status"] == "done"
