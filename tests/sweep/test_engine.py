"""Sweeps: which jobs there are and what they are called; what is run, skipped, resumed, told; and one real kill."""

import fcntl
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from cse.config.compose import composed
from cse.config.groups import CONF_DIR
from cse.errors import UserError
from cse.run.estimate import Estimate
from cse.sweep import engine, estimate, jobs, line, plan, worker

STUB = """
import json, os, signal, sys
folder, mood = sys.argv[1], sys.argv[2]
name = os.path.basename(folder)
open(os.path.join(folder, "starts"), "a").write("x")
if mood and name.startswith(mood.partition(":")[2]):
    if mood.startswith("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    raise RuntimeError("the stub was told to fail")
config = json.load(open(os.path.join(os.path.dirname(folder), "config.json")))
config["objective"]["m"] = int(name[2])
results = {"status": "done", "config": config, "metrics": {"dev/stsb/spearman": 70.0 + int(name[2])}}
json.dump(results, open(os.path.join(folder, "results.json"), "w"))
"""


@pytest.fixture
def table5(tmp_path, monkeypatch):
    """whitenedcse/table5 (m = 2, 3, 4, 5) with a stub for cse-train; `mood` makes it fail or die at a name."""
    folder = tmp_path / "runs" / "whitenedcse" / "table5"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cse-train"])
    config = composed("train", ["sweep=whitenedcse/table5"])
    whole = OmegaConf.to_container(OmegaConf.masked_copy(config, [k for k in config if k != "hydra"]), resolve=True)
    (folder / "config.json").write_text(json.dumps(whole))
    commands = []

    def run(*more: str, mood: str = "") -> int:
        def stub(one, folder):
            commands.append(one.arguments)
            return [sys.executable, "-c", STUB, str(folder), mood]

        monkeypatch.setattr(worker, "command_of", stub)
        return engine.main(["sweep=whitenedcse/table5", "tracker=none", *more])

    run.folder, run.commands = folder, commands
    return run


def ledger(folder: Path) -> dict[str, str]:
    """What became of each job in the last start."""
    last = max((folder / plan.FOLDER).glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return {job[:3]: end["state"] for job, end in plan.ends(last).items()}


def starts(folder: Path) -> dict[str, int]:
    return {path.parent.name[:3]: len(path.read_text()) for path in folder.glob("*/starts")}


@pytest.mark.parametrize(
    ("arguments", "is_one"),
    [
        (["sweep=a/b"], True),
        (["-m", "sweep=a/b", "seed=1"], True),
        (["sweep=null"], False),
        (["objective=barlow"], False),
        (["-m", "seed=1,2"], True),
        (["--multirun", "seed=1"], True),
        (["-m", "seed=1,2", "--cfg", "job"], False),
        (["sweep=a/b", "hydra.mode=RUN"], False),
        (["sweep=a/b", "--cfg", "job"], False),
    ],
)
def test_what_is_a_sweep(arguments, is_one):
    assert line.is_many(arguments) == is_one


def test_a_name_says_what_a_job_runs():
    table = jobs.read("nonling/table_a1")
    name = table.jobs([])[0].name
    assert name.startswith("visual_bert-batch_size_64-trainer.lr_1e-05-aux_modality.lr_5e-06-")
    assert len(name) <= jobs.SLUG + 9
    assert len({job.name for job in table.jobs([])}) == 324
    same = ["tracker=none", "paths.cache=/tmp/x", "trainer.workers=3", "hydra/launcher=joblib", "jobs.parallel=2"]
    assert table.jobs(same)[0].name == name
    a, b = (table.jobs(order)[0].name for order in (["seed=1", "model.num_layers=2"], ["model.num_layers=2", "seed=1"]))
    assert a == b != name
    assert "seed_1-num_layers_2" in jobs.read("whitenedcse/table5").jobs(["seed=1", "model.num_layers=2"])[0].name


def test_the_command_line_replaces_axes_and_beats_cases():
    table = jobs.read("nonling/table3")
    assert len(table.jobs([])) == 20
    assert len(table.jobs(["seed=7"])) == 4
    assert len(table.jobs(["case=simcse_bert,visual_bert", "seed=1,2,3"])) == 6
    assert table.place([]) == Path("runs/nonling/table3")
    assert table.place(["smoke=true"]) == Path("runs/smoke/nonling/table3")  # never among real scores
    arguments = table.jobs(["case=simcse_bert", "seed=1", "model=minilm"])[0].arguments
    assert arguments[0] == "sweep=nonling/table3"
    assert [a for a in arguments if a.startswith("model=")] == ["model=minilm"]
    assert {"case=simcse_bert", "hydra.mode=RUN", "resume=auto", "~cases", "~report"} <= set(arguments)


def test_no_file_of_conf_has_the_name_of_a_sweeps_own_key():
    """~report in a job's line drops the sweep's key; Hydra 1.4 takes the name of a file for that file."""
    assert not [key for key in jobs.OWN_KEYS if Path(CONF_DIR, f"{key}.yaml").exists()]


def test_a_setting_that_only_some_cases_have():
    """A config of each kind of job is composed before the first one starts."""
    table = jobs.read("nonling/table3")
    more = ["aux_modality.init=random", "trainer.lr=0.5"]
    both = table.jobs(["case=visual_bert,visual_roberta", "seed=1", *more])
    assert all(set(more) <= set(job.arguments) for job in both)
    engine.check_settings(both)
    forced = table.job(["case=visual_bert", "++aux_modality.init=random", "seed=1"])
    assert forced == table.job(["case=visual_bert", "aux_modality.init=random", "seed=1"])
    with pytest.raises(UserError, match=r"no key aux_modality\.init.*in the job simcse_bert"):
        engine.check_settings(table.jobs(["aux_modality.init=random"]))
    with pytest.raises(UserError, match="innit"):
        engine.check_settings(table.jobs(["case=visual_bert", "aux_modality.innit=random"]))


def test_what_a_run_was_told_beyond_its_sweep():
    table = jobs.read("nonling/table3")
    own = table.job(["case=visual_bert", "seed=3"]).arguments
    assert table.departures(own) == []
    more = ["trainer.max_steps=60", "paths.cache=/x", "tracker=none", "trainer.lr=1", "seed=9", "jobs.parallel=2"]
    more += ["trainer.chunk=8", "eval=[stsb,sts,geometry]", "note=mine"]
    assert table.departures([*own, *more]) == ["trainer.max_steps=60", "trainer.lr=1"]


def test_an_evaluation_finds_the_run_it_scores():
    """Its checkpoint is the other sweep's folder for the same seed and model; keys of training are not its own."""
    more = ["seed=3", "model=minilm", "trainer.max_steps=9", "eval.transfer.tasks=[CR]"]
    scored = jobs.read("nonling/table_d1").jobs(["case=visual_bert", *more])
    trained = jobs.read("nonling/table1").jobs(["case=visual_bert", *more[:3]])
    assert len(scored) == 1
    assert scored[0].program == "cse-eval"
    folder = Path("runs/nonling/table1", trained[0].name).absolute()
    assert f"checkpoint='{folder}'" in scored[0].arguments
    assert "eval.transfer.tasks=[CR]" in scored[0].arguments
    assert not [a for a in scored[0].arguments if a.startswith(("trainer", "model", "seed"))]
    # plain encoders are the same whatever the seed: one job, not three
    assert len(jobs.read("declutr/table_s1").jobs(["seed=1,2,3"])) == 8


def test_jobs_run_once(table5, capsys):
    assert table5() == 0
    assert ledger(table5.folder) == {"m_2": "done", "m_3": "done", "m_4": "done", "m_5": "done"}
    assert "4 of 4 done" in capsys.readouterr().out
    first = sorted(path.name for path in table5.folder.iterdir() if path.is_dir())
    assert table5() == 0
    assert set(ledger(table5.folder).values()) == {"done before"}
    assert starts(table5.folder) == {"m_2": 1, "m_3": 1, "m_4": 1, "m_5": 1}
    assert sorted(path.name for path in table5.folder.iterdir() if path.is_dir()) == first  # no clock in a name
    assert "73.00" in capsys.readouterr().out


def test_a_failed_job_keeps_its_traceback_and_the_others_go_on(table5, capsys):
    assert table5(mood="fail:m_3") == 1
    assert ledger(table5.folder) == {"m_2": "done", "m_3": "failed", "m_4": "done", "m_5": "done"}
    log = next(table5.folder.glob("m_3*")) / "job.log"
    assert "Traceback (most recent call last)" in log.read_text()
    out = capsys.readouterr().out
    assert "the stub was told to fail" in out
    assert str(log) in out
    assert "3 of 4 done, 1 failed" in out
    assert table5() == 0
    assert ledger(table5.folder)["m_3"] == "done"
    assert starts(table5.folder) == {"m_2": 1, "m_3": 2, "m_4": 1, "m_5": 1}


def test_a_killed_job_is_told_and_resumed(table5, capsys):
    assert table5(mood="kill:m_4") == 1
    assert ledger(table5.folder)["m_4"] == "killed"
    assert "signal 9" in capsys.readouterr().out
    table5.commands.clear()
    assert table5() == 0
    assert len(table5.commands) == 1
    assert "resume=auto" in table5.commands[0]


def test_a_job_that_another_process_runs_is_left_alone(table5):
    job = jobs.read("whitenedcse/table5").jobs(["tracker=none", "objective.m=2"])[0]
    folder = table5.folder / job.name
    folder.mkdir()
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert table5("objective.m=2,3") == 0
    assert ledger(table5.folder) == {"m_2": "running", "m_3": "done"}
    assert table5("objective.m=2,3") == 0
    assert ledger(table5.folder) == {"m_2": "done", "m_3": "done before"}


def test_a_run_of_other_settings_does_not_pass_for_done(table5, capsys):
    assert table5("objective.m=2") == 0
    file = next(table5.folder.glob("m_2*")) / "results.json"
    results = json.loads(file.read_text())
    results["config"]["trainer"]["lr"] = 1.0
    file.write_text(json.dumps(results))
    assert table5("objective.m=2") == 1
    assert "trainer.lr=1.0 (now 3e-05)" in capsys.readouterr().out


def test_dry_run_shows_and_starts_nothing(table5, capsys):
    """15,625 steps of 64 rows are wiki1m."""
    assert table5("dry_run=true") == 0
    out = capsys.readouterr().out
    assert out.count("15,625") == 4
    assert not table5.commands
    assert not (table5.folder / plan.FOLDER).exists()
    known, unknown = Estimate(10, 1.5e15), Estimate(10, None)
    assert estimate.summed([known, unknown, known], 2).startswith("at most 6 PFLOP, and 1 jobs")
    assert estimate.summed([], 1) == "at most 0 PFLOP"  # every job only scores


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (["sweep=whitenedcse/tabel4"], "did you mean whitenedcse/table4?"),
        (["sweep=nonling/table1", "case=visual_brt"], "did you mean visual_bert?"),
        (["sweep=nonling/table1", "jobs.parallel=many"], "jobs.parallel=many: must be a whole number"),
        (["sweep=nonling/table1", "+sead=1"], "there is no key sead"),
        (["sweep=whitenedcse/table5", "trainer.learning_rate=1"], "there is no key trainer.learning_rate"),
    ],
)
def test_a_mistake_is_one_sentence(cse_train, capsys, tmp_path, monkeypatch, bad, told):
    monkeypatch.chdir(tmp_path)
    assert cse_train(bad) == 2
    err = capsys.readouterr().err.strip()
    assert told in err
    assert len(err.splitlines()) == 1


def test_wandb_groups_by_sweep():
    one = jobs.read("whitenedcse/table5").jobs(["tracker=wandb"])[0]
    command = worker.command_of(one, Path("/a,b/c=d"))
    assert "tracker.wandb.group='whitenedcse/table5'" in command
    assert f"tracker.wandb.name='{one.name}'" in command
    assert "hydra.run.dir='/a,b/c=d'" in command
    without = jobs.read("whitenedcse/table5").jobs(["tracker=none"])[0]
    assert not [word for word in worker.command_of(without, Path("x")) if "wandb" in word]


def test_jobs_share_the_gpus(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # else the same tests beside these could hold them
    monkeypatch.setenv(worker.SLOTS, "4,7")
    with worker.gpu(worker.Told()) as one, worker.gpu(worker.Told()) as other:
        assert {one["CUDA_VISIBLE_DEVICES"], other["CUDA_VISIBLE_DEVICES"]} == {"4", "7"}
        with worker.gpu(worker.Told(received=[15])) as none:  # which would wait without end
            assert "CUDA_VISIBLE_DEVICES" not in none.keys() - os.environ.keys()
    monkeypatch.setenv(worker.SLOTS, "")
    with worker.gpu(worker.Told()) as environment:
        assert environment.get("CUDA_VISIBLE_DEVICES") == os.environ.get("CUDA_VISIBLE_DEVICES")


def test_a_job_that_scores_a_run_names_what_makes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cse-train"])
    assert engine.main(["sweep=nonling/figure4", "case=audio_bert"]) == 1
    assert "cse-train sweep=nonling/table2 case=audio_bert" in capsys.readouterr().out
