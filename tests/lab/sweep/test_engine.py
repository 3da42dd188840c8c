"""What a start does with its jobs: run, skip, continue, leave alone, refuse, stop, search."""

import itertools
import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path
from unittest.mock import Mock, call

import pytest
from run_folders import leave_heartbeat
from typed import command_typed, jobs_of, jobs_typed

from cse.errors import Interrupted, MissingResource, UserError
from cse.lab.folder.heartbeat import Heartbeat
from cse.lab.folder.jobs_file import jobs_without_run
from cse.lab.settings.arguments import values_of
from cse.lab.sweep import checks, engine, job, machine, process, rows, show
from cse.lab.sweep.checks import needs_of_jobs
from cse.lab.sweep.engine import make_plan
from cse.lab.sweep.sweep_command import read_sweep_command
from cse.score import Score

LINE = "sweep=whitenedcse/table5 tracker=none"  # m = 2, 3, 4, 5


def starts(folder: Path) -> dict[str, str]:
    return {path.parent.name[:3]: path.read_text() for path in sorted(folder.rglob("starts"))}


@pytest.mark.parametrize(("more", "mood", "state", "why"), [
    ("", "fail", "failed", "told to fail (LOG)"),
    ("", "skip", "failed", "the job logged nothing"),
    (" jobs.parallel=3", "kill", "killed", "by signal 9"),
])  # fmt: skip
def test_the_same_line_again_skips_what_is_done_and_runs_the_rest(many, tmp_path, capsys, more, mood, state, why):
    states = {"seed_1": "done", "seed_2": state, "seed_3": "done"}
    assert many(f"-m seed=1,2,3{more}", f"{mood} seed_2") == (1, states)
    out = capsys.readouterr().out
    (log,) = tmp_path.glob("multirun/*/seed_2-*/job.log")
    assert why.replace("LOG", str(log.relative_to(tmp_path))) in out.replace("\n", "")
    assert f"2 of 3 done, 1 {state}\n" in out
    again = {"seed_1": "done before", "seed_2": "done", "seed_3": "done before", "seed_4": "done"}
    assert many(f"-m seed=1,2,3,4{more}") == (0, again)
    assert capsys.readouterr().out.count("70.00") == 2 * 4  # as each job ends, and in the table
    assert sorted(job.name[:6] for job in many.jobs) == ["seed_1", "seed_2", "seed_2", "seed_3", "seed_4"]


def test_the_start_of_a_job_is_printed_before_its_end_and_the_place_of_the_logs_once(many, capsys):
    many("-m seed=1,2")
    out = capsys.readouterr().out.splitlines()
    (log,) = [line.rpartition(" ")[2] for line in out if line.endswith("job.log")]
    lines = [line.split() for line in out if re.match(r"\d\d:\d\d:\d\d  ", line)]
    states = [f"{state} {name[:6]}" for _, state, name, *_ in lines]
    assert states == ["started seed_1", "done seed_1", "started seed_2", "done seed_2"]
    for _, _, name, *_ in lines:
        assert Path(log.replace("JOB", name)).is_file()
    many("-m seed=1,2")
    assert "started" not in capsys.readouterr().out


def test_fail_fast_starts_nothing_after_a_failure(many, capsys):
    line = "-m seed=1,2,3 jobs.fail_fast=yes"
    assert many(line, "fail seed_2") == (1, {"seed_1": "done", "seed_2": "failed", "seed_3": "not run"})
    assert "1 of 3 done, 1 failed" in capsys.readouterr().out
    assert many(line) == (0, {"seed_1": "done before", "seed_2": "done", "seed_3": "done"})


def test_a_job_that_another_process_runs_is_left_alone(many, tmp_path):
    """A process on this machine is seen before; of one elsewhere only the job's own process finds out."""
    line = f"{LINE} objective.m=2,3"
    job = jobs_of("whitenedcse/table5", "tracker=none", "objective.m=2")[0]
    folder = tmp_path / "runs/whitenedcse/table5" / job.name
    with Heartbeat(folder) as other:
        other.take()
        assert many(line) == (0, {"m_2": "running", "m_3": "done"})
        leave_heartbeat(folder)
        assert many(line, "fail m_2") == (0, {"m_2": "running", "m_3": "done before"})
        (folder / "heartbeat.json").unlink()
    assert many(line) == (0, {"m_2": "done", "m_3": "done before"})


def test_an_evaluation_needs_its_run_and_starts_after_it(many, own_sweep, capsys):
    assert many("sweep=nonling/figure4 case=audio_bert smoke=true") == (1, {"audio_bert-smoke_True": "failed"})
    assert "cse-train sweep=nonling/table2 case=audio_bert smoke=True" in capsys.readouterr().out
    assert many(f"sweep={own_sweep} jobs.parallel=2") == (0, {"scored": "done", "trained": "done"})
    assert [job.program for job in many.jobs[-2:]] == ["cse-train", "cse-eval"]
    assert many("-m checkpoint=a,b eval=stsb", program="cse-eval")[0] == 0


def test_an_evaluation_scores_the_run_in_the_folder_of_its_own_command(many, own_sweep, tmp_path, capsys):
    """It is not an older run of the same name in runs/."""
    assert many(f"sweep={own_sweep}") == (0, {"scored": "done", "trained": "done"})
    assert many(f"sweep={own_sweep} hydra.sweep.dir=here case=scored") == (1, {"scored": "failed"})
    assert "cse-train sweep=mine/one case=trained hydra.sweep.dir=here" in capsys.readouterr().out
    assert many(f"sweep={own_sweep} hydra.sweep.dir=here jobs.parallel=2") == (0, {"scored": "done", "trained": "done"})
    checkpoint = values_of(many.jobs[-1].arguments)["checkpoint"]
    assert Path(checkpoint).parent == tmp_path / "here"
    assert (Path(checkpoint) / "results.json").is_file()


def test_parallel_jobs_have_their_own_gpus_and_idle_ones_are_mentioned(many, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "visible_gpus", lambda: ["4", "7"])
    assert many(f"{LINE} jobs.parallel=2")[0] == 0
    assert "idle" not in capsys.readouterr().out
    assert set(starts(tmp_path).values()) == {"4", "7"}
    assert many("-m seed=1,2")[0] == 0
    assert "1 of this machine's GPUs are idle: jobs.parallel" in capsys.readouterr().out
    assert starts(tmp_path / "multirun") == {"see": os.environ.get("CUDA_VISIBLE_DEVICES", "-")}


@pytest.mark.parametrize(("words", "shares"), [
    ("jobs.parallel=2 trainer.devices=2", ["4,5", "6,7"]),
    ("jobs.parallel=2 trainer.devices=1,2", ["4,5", "6,7"]),
    ("jobs.parallel=2 trainer.devices=2 smoke=true", ["4,5", "6,7"]),  # typed, so that smoke leaves it
    ("jobs.parallel=5", ["4", "5", "6", "7", "4"]),
    ("trainer.devices=3", [None]),
    ("jobs.parallel=2 trainer.devices=3", "6 GPUs"),
    ("trainer.devices=8", "8 GPUs"),
])  # fmt: skip
def test_a_job_has_as_many_gpus_as_devices_or_the_line_is_refused(monkeypatch, words, shares):
    monkeypatch.setattr(machine, "visible_gpus", lambda: ["4", "5", "6", "7"])
    read = read_sweep_command(command_typed(["-m", "seed=1,2,3", *words.split()]))
    if isinstance(shares, list):
        assert machine.shares_of(make_plan(read).examples, read.options.jobs.parallel) == shares
        return
    with pytest.raises(UserError, match=shares):
        engine.run_sweep(command_typed(["-m", "seed=1,2,3", *words.split()]))


def test_jobs_of_plain_values_are_composed_once_and_their_folder_is_listed_once(tmp_path, monkeypatch):
    composed, listed = Mock(wraps=job.composed), Mock(wraps=rows.names_by_hash)
    monkeypatch.setattr(job, "composed", composed)
    monkeypatch.setattr(rows, "names_by_hash", listed)
    axes = ["seed=1,2,3,4", "trainer.lr=1e-5,2e-5", "trainer.devices=1,2", "tracker=none"]
    jobs = make_plan(read_sweep_command(command_typed(["-m", f"hydra.sweep.dir={tmp_path}", *axes]))).examples
    checks.check_jobs(jobs)
    assert checks.most_devices(jobs) == 2
    assert composed.call_count == 2  # for each number of devices
    assert listed.call_args_list == [call(Path("multirun")), call(tmp_path)]


def test_devices_that_refer_to_another_key_count_for_each_job():
    axes = ["trainer.accumulate=1,3", "trainer.devices=${trainer.accumulate}", "tracker=none"]
    jobs = jobs_typed(["-m", *axes])
    assert checks.most_devices(jobs) == 3


@pytest.mark.parametrize(("named", "gpus"), [("", ["0", "1"]), ("3,5", ["3", "5"]), ("", [])])
def test_visible_gpus(monkeypatch, named, gpus):
    monkeypatch.setattr("torch.cuda.device_count", lambda: len(gpus))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert machine.visible_gpus() == gpus


def signal_when(is_time) -> None:
    """Send SIGUSR1 to this process once is_time()."""

    def send() -> None:
        deadline = time.monotonic() + 600
        while not is_time() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)

    threading.Thread(target=send, daemon=True).start()


@pytest.mark.parametrize("parallel", [1, 2])
def test_after_a_signal_running_jobs_save_and_no_other_starts(many, tmp_path, capsys, parallel):
    before = signal.getsignal(signal.SIGUSR1)
    signal_when(lambda: len(list(tmp_path.rglob("waits"))) == parallel)
    with pytest.raises(Interrupted, match=r"SIGUSR1.*to continue: cse-train -m seed=1,2,3") as error:
        many(f"-m seed=1,2,3 jobs.parallel={parallel}", "wait seed")
    assert error.value.code == 128 + signal.SIGUSR1
    assert signal.getsignal(signal.SIGUSR1) == before
    assert f"0 of 3 done, {parallel} interrupted" in capsys.readouterr().out
    assert len(list(tmp_path.rglob("starts"))) == parallel
    assert many("-m seed=1,2,3")[0] == 0


def test_a_dry_run_shows_the_plan_and_starts_nothing(many, tmp_path, capsys):
    assert engine.run_sweep(command_typed([*LINE.split(), "seed=1,2,3", "dry_run=true"])) == 0
    out = capsys.readouterr().out
    assert out.count("15,625") == 12  # steps of 64 rows are wiki1m
    assert "not here: " in out
    assert engine.run_sweep(command_typed([*LINE.split(), "smoke=true", "dry_run=true"])) == 0
    out = capsys.readouterr().out
    assert out.count("a smoke test") == 4
    assert "not here" not in out  # what it reads is made up
    assert not many.jobs
    assert not list(tmp_path.iterdir())


def test_without_a_hub_jobs_that_all_lack_data_are_refused(many, tmp_path, monkeypatch):
    (tmp_path / "here.txt").write_text("a sentence\n" * 100)
    many("-m seed=1")  # a start whose jobs are done is not refused later, whatever has become of their data
    monkeypatch.setattr(show, "hub_answers", lambda: False)
    done = list(tmp_path.rglob("starts"))
    assert many("-m seed=1") == (0, {"seed_1": "done before"})
    lines = ["-m seed=1,2 trainer.lr=1e-3", "-m data=wiki1m,nli eval=[]", "sweep=whitenedcse/table5"]
    for line in lines:
        with pytest.raises(MissingResource, match="wiki1m"):
            many(line)
    assert list(tmp_path.rglob("starts")) == done
    assert many("-m model=minilm data=text data.path=here.txt trainer.select=null eval=[],[sts]")[0] == 0
    assert many("-m seed=1,2 smoke=true")[0] == 0


@pytest.mark.parametrize(("score", "sign"), [("dev/average", -1), ("dev/geometry/uniformity", 1)])
def test_smac_finds_the_best_and_continues_where_it_stopped(many, tmp_path, monkeypatch, capsys, score, sign):
    """The score is best at lambda_C = 10^-3, and later trials lie nearer to it than the first five."""
    pytest.importorskip("smac", reason="needs the package smac")
    asked = []

    def run(job, folder, signals, gpu=None):
        given = values_of(job.arguments)
        assert given["case"] == "eda_0.1"
        asked.append(float(given["objective.log10_covariance"]))
        if len(asked) == 3:
            return process.Outcome(job.name, "failed")
        return process.Outcome(job.name, "done", Score(score, sign * abs(asked[-1] + 3), lower_is_better=sign > 0))

    monkeypatch.setattr(process, "run_job", run)
    line = "sweep=noncontrastive/table1_vicreg case=eda_0.1 model=bert hydra.sweeper.batch=2 hydra.sweeper.n_trials="
    assert many(f"{line}8")[0] == 1
    assert len(asked) == len(set(asked)) == 8
    assert all(-3 <= value <= -1 for value in asked)
    (memory,) = tmp_path.rglob(".smac/*.jsonl")
    assert len(memory.read_text().splitlines()) == 1 + 8  # the ranges, and each point before it ran
    with open(memory, "a") as lines:
        lines.write('{"asked": {"obj')  # as after a full disk
    assert many(f"{line}14")[0] == 0
    assert asked[8:16] == asked[:8]  # as jobs of a grid: here none has a folder that says it is done
    assert len(asked) == 8 + 14
    assert sum(asked[-5:]) < sum(asked[:5])


def test_a_point_that_fails_again_is_not_asked_for_again(many, tmp_path, monkeypatch):
    pytest.importorskip("smac", reason="needs the package smac")
    rates = []

    def run(job, folder, signals, gpu=None):
        rates.append(values_of(job.arguments)["trainer.lr"])
        if rates[-1] in rates[1:2]:
            return process.Outcome(job.name, "failed")
        return process.Outcome(job.name, "done", Score("dev/average", float(len(rates))))

    monkeypatch.setattr(process, "run_job", run)
    line = "-m hydra/sweeper=smac trainer.lr=interval(1e-5,1e-3) seed=1 hydra.sweep.dir=here hydra.sweeper.n_trials="
    many(f"{line}6")
    many(f"{line}8")
    assert rates[6:12] == rates[:6]
    assert len(set(rates)) == 8
    (memory,) = tmp_path.rglob(".smac/*.jsonl")
    assert len(memory.read_text().splitlines()) == 1 + 8
    assert len(jobs_without_run([tmp_path / "here"])) == 8  # no trial beside the planned jobs, none of which has a run


def test_a_short_search_looks_everywhere(many):
    pytest.importorskip("smac", reason="needs the package smac")
    assert many("-m hydra/sweeper=smac trainer.lr=interval(1e-4,1.0) seed=1 hydra.sweeper.n_trials=5")[0] == 0
    rates = sorted(float(word.value) for job in many.jobs for word in job.arguments if word.key == "trainer.lr")
    assert len(rates) == 5
    assert max(b - a for a, b in itertools.pairwise([0.0, *rates, 1.0])) < 0.5


def test_a_search_that_is_interrupted_runs_the_same_point_first(many, tmp_path, monkeypatch):
    pytest.importorskip("smac", reason="needs the package smac")
    asked = []

    def run(job, folder, signals, gpu=None):
        asked.append(job.name)
        if len(asked) == 4:  # as Ctrl-C in the last trial
            signals.requested = signal.SIGINT
            return process.Outcome(job.name, "interrupted")
        return process.Outcome(job.name, "done", Score("dev/average", float(len(asked))))

    monkeypatch.setattr(process, "run_job", run)
    line = "-m hydra/sweeper=smac trainer.lr=interval(1e-5,1e-3) hydra.sweeper.n_trials=4 seed=1"
    with pytest.raises(Interrupted):
        many(line)
    assert many(line)[0] == 0
    assert asked[4:] == asked[:4]
    assert len(set(asked)) == 4


def test_a_search_learns_nothing_from_trials_of_other_data(many, monkeypatch, capsys):
    """And names none of them its best, nor a run that lies deeper in its folder, as the seeds of its best do."""
    pytest.importorskip("smac", reason="needs the package smac")
    line = "-m hydra/sweeper=smac trainer.lr=interval(1e-5,1e-3) seed=1 hydra.sweep.dir=here hydra.sweeper.n_trials="
    assert many(f"{line}3")[0] == 0
    shutil.copytree(next(Path("here").glob("lr_*")), "here/seeds/seed_2")
    monkeypatch.setattr(process, "differences", lambda job, results: ["other content of text.txt"])
    capsys.readouterr()
    code, states = many(f"{line}3")
    told = capsys.readouterr().out
    assert (code, list(states.values())) == (1, ["failed"] * 3)
    assert "is done, but with other content of text.txt: move it away" in told
    assert "best trial" not in told


def test_a_search_with_other_settings_is_refused_and_a_dry_run_shows_them(many, tmp_path, capsys):
    pytest.importorskip("smac", reason="needs the package smac")
    line = "-m hydra/sweeper=smac hydra.sweeper.n_trials=2 hydra.sweep.dir=here trainer.lr="
    assert engine.run_sweep(command_typed(f"{line}interval(1e-5,1e-3) dry_run=true".split())) == 0
    assert "trainer.lr=interval(1e-5,1e-3)" in capsys.readouterr().out
    assert many(f"{line}interval(1e-5,1e-3)")[0] == 0
    before = len(many.jobs)
    for other, differs in (
        ("interval(1e-5,1e-2)", r"search with trainer\.lr=interval\(1e-5,1e-3\) \(now .*hydra\.sweep\.dir"),
        (
            "choice(1,2) trainer.clip=choice(1,2)",
            r"trainer\.lr=interval\(1e-5,1e-3\) \(now .*trainer\.clip=its default \(now ",
        ),
        ("interval(1e-5,1e-3) objective=barlow", r"search with objective=its default \(now barlow\)"),
    ):
        with pytest.raises(UserError, match=differs):
            many(f"{line}{other}")
    assert len(many.jobs) == before
    assert many(f"{line}interval(1e-5,1e-3) tracker=wandb")[0] == 0  # the same search


@pytest.mark.parametrize(("words", "refusal"), [
    ("trainer.lr=-1 objective.temperature=interval(0.01,0.1)", r"^trainer\.lr=-1: should be greater than 0"),
    ("trainer.lr=interval(1e-5,1e-4) trainer.batch_size=interval(8.0,64.0)",
     r"^trainer\.batch_size=interval\(8\.0,64\.0\): .*=int\(interval\(8\.0,64\.0\)\) has whole numbers"),
])  # fmt: skip
def test_a_wrong_value_is_blamed_on_the_key_that_has_it(many, words, refusal):
    pytest.importorskip("smac", reason="needs the package smac")
    with pytest.raises(UserError, match=refusal):
        many(f"-m hydra/sweeper=smac seed=1 {words}")


def test_a_search_ends_where_every_point_was_tried(many, tmp_path, capsys):
    """And owes no trial that it cannot make."""
    pytest.importorskip("smac", reason="needs the package smac")
    line = "-m hydra/sweeper=smac objective.temperature=choice(0.05,0.1) seed=1 hydra.sweep.dir=here hydra.sweeper."
    assert many(f"{line}n_trials=6")[0] == 0
    told = capsys.readouterr().out
    assert "2 of 6 trials" in told
    assert "best trial: " in told
    assert len(many.jobs) == 2
    assert not jobs_without_run([tmp_path / "here"])


@pytest.mark.parametrize("words", ["int(interval(8,64))", "tag(log,int(interval(8,64)))"])
def test_a_search_of_whole_numbers_has_whole_numbers(many, words):
    pytest.importorskip("smac", reason="needs the package smac")
    line = f"-m hydra/sweeper=smac trainer.batch_size={words} seed=1 hydra.sweeper.n_trials="
    assert many(f"{line}3")[0] == 0
    assert many(f"{line}4")[0] == 0  # the points were written, and are read again
    sizes = [word.value for job in many.jobs for word in job.arguments if "batch_size" in word.key]
    assert len(sizes) == 4
    assert all(8 <= int(size) <= 64 for size in sizes)


def test_what_a_line_was_to_run_stands_in_its_folder(many, tmp_path):
    many("-m seed=1,2,3 jobs.fail_fast=yes hydra.sweep.dir=here", "fail seed_2")
    left = {job.get("seed"): job.state for job in jobs_without_run([tmp_path])}
    assert left == {2: "failed", 3: "not started"}
    assert many("-m seed=1,2,3 hydra.sweep.dir=here")[0] == 0
    assert not jobs_without_run([tmp_path])


def test_an_axis_over_what_decides_no_number_has_its_own_jobs():
    first, *more = LINE.removeprefix("sweep=").split()
    both = jobs_of(first, *more, "objective.m=2,3", "trainer.workers=0,2")
    assert len({job.name for job in both}) == 4
    (one, *_) = jobs_of(first, *more, "objective.m=2,3", "trainer.workers=2")
    assert one.name == jobs_of(first, *more, "objective.m=2,3")[0].name


def test_a_search_without_a_sweeps_yaml_names_its_best_trial(many, capsys):
    pytest.importorskip("smac", reason="needs the package smac")
    line = "-m hydra/sweeper=smac trainer.lr=interval(1e-5,1e-3) seed=1 hydra.sweeper.n_trials="
    code, states = many(f"{line}3")
    assert (code, list(states.values())) == (0, ["done"] * 3)
    assert all(name.startswith("lr_") for name in states)
    capsys.readouterr()
    _, states = many(f"{line}5")
    told = capsys.readouterr().out
    assert sorted(states.values()) == ["done"] * 2 + ["done before"] * 3  # of the whole search
    assert "5 of 5 done" in told
    best = rf"^best trial: {min(states)}-.*, and 4 more with the same score$"  # the first by name
    assert re.search(best, told, re.MULTILINE)


def test_a_dry_run_names_the_jobs_that_would_be_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = ["model=minilm", "objective=whitenedcse", "eval=[]", "trainer.select=null", "tracker=none", "dry_run=true"]
    assert engine.run_sweep(command_typed([*line, "objective.whitening.num_groups=4,96,100", "seed=1,2"])) == 1
    rows = [row for row in capsys.readouterr().out.splitlines() if row.startswith("num_groups_")]
    refused = {row.split("-")[0]: "objective.whitening.num_groups=" in row for row in rows}
    assert refused == {"num_groups_4": True, "num_groups_96": False, "num_groups_100": True}
    with pytest.raises(UserError, match="num_groups=100"):
        engine.run_sweep(command_typed([*line, "objective.whitening.num_groups=100", "seed=1,2"]))
    assert engine.run_sweep(command_typed([*line, "augmentation=none,dropout", "objective=simcse"])) == 1
    assert engine.run_sweep(command_typed([*line, "objective=simcse", "seed=1,2"])) == 0
    capsys.readouterr()
    assert engine.run_sweep(command_typed([*line, "data=stsb", "objective=simcse,cosent"])) == 1
    assert "refused: data.scores=score: objective=simcse " in capsys.readouterr().out  # as in a single run


@pytest.mark.parametrize(("axis", "name", "why"), [
    ("seed=-5,1", "seed_-5-", "seed=-5"), ("seed=1,-5", "seed_-5-", "seed=-5"),
    ("trainer.clip=1.0,${no.such.key}", "clip__no.such.key-", "no.such.key"),
])  # fmt: skip
def test_a_dry_run_refuses_the_job_that_has_the_wrong_value(tmp_path, monkeypatch, capsys, axis, name, why):
    monkeypatch.chdir(tmp_path)
    line = ["-m", "model=minilm", "eval=[]", "trainer.select=null", "tracker=none", "dry_run=true", axis]
    assert engine.run_sweep(command_typed(line)) == 1
    (row,) = [row for row in capsys.readouterr().out.splitlines() if "refused: " in row]
    assert row.startswith(name)
    assert why in row.partition("refused: ")[2]


def test_a_search_whose_value_refers_to_no_key_is_one_sentence():
    pytest.importorskip("smac", reason="needs the package smac")
    words = ["trainer.lr=interval(1e-5,1e-4)", "trainer.clip=${no.such.key}"]
    typed = command_typed(["-m", "hydra/sweeper=smac", *words])
    with pytest.raises(UserError, match=r"no\.such\.key"):
        make_plan(read_sweep_command(typed)).check()


def test_the_trials_of_a_search_do_not_share_an_id_of_wandb():
    pytest.importorskip("smac", reason="needs the package smac")
    words = ["trainer.lr=interval(1e-5,1e-4)", "tracker=offline", "tracker.wandb.id=x", "hydra.sweeper.n_trials="]
    for trials in ("1", "3"):
        plan = make_plan(
            read_sweep_command(command_typed(["-m", "hydra/sweeper=smac", *words[:-1], words[-1] + trials]))
        )
        if trials == "1":
            plan.check()
            continue
        with pytest.raises(UserError, match=r"wandb\.id=x .* starts 3"):
            plan.check()


def test_a_search_of_nothing_is_named_in_its_refusal():
    pytest.importorskip("smac", reason="needs the package smac")
    with pytest.raises(UserError, match=r"^hydra/sweeper=smac starts no job"):
        make_plan(read_sweep_command(command_typed(["-m", "hydra/sweeper=smac"])))


def test_each_place_that_an_augmentation_reads_is_needed(tmp_path):
    jobs = jobs_typed(["-m", "augmentation=eda", f"augmentation.wordnet_dir={tmp_path},/absent", "model=minilm"])
    assert [need.copy for need in needs_of_jobs(jobs) if need.name == "wordnet"] == [str(tmp_path), "/absent"]
