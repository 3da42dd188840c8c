"""Which commands start many jobs, which are refused, and the jobs and folders of a command with -m."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from run_folders import leave_run
from typed import exit_code, jobs_typed

from cse.errors import MissingResource
from cse.lab.run.from_arguments import cfg_of_new_run
from cse.lab.settings.arguments import Argument, shell_line, texts_of
from cse.lab.settings.command import read_arguments, split_flags
from cse.lab.settings.groups import FOLDERS_VARIABLE
from cse.lab.settings.references import resolved
from cse.lab.sweep import process, show
from cse.lab.sweep.axes import first_values
from cse.lab.sweep.rows import existing_name, folder_without_sweep, names_by_hash
from cse.lab.sweep.sweep_command import starts_many


@pytest.mark.parametrize(
    ("words", "is_many"),
    [
        ("sweep=a/b", True),
        ("-m seed=1,2", True),
        ("--multirun seed=1", True),
        ("seed=1 hydra/launcher=submitit_slurm", True),
        ("hydra/sweeper=smac trainer.lr=interval(1,2)", True),
        ("sweep=null", False),
        ("objective=barlow hydra/launcher=basic", False),
        ("sweep=a/b hydra.mode=RUN", False),
    ],
)
def test_lines_that_start_many_jobs(words, is_many):
    typed, flags = split_flags(words.split())
    assert bool(starts_many(read_arguments(typed, "train"), flags)) == is_many


@pytest.mark.parametrize(("words", "package"), [
    ("hydra/sweeper=smac trainer.lr=interval(1,2)", "smac"), ("hydra/launcher=submitit_slurm", "submitit"),
])  # fmt: skip
def test_a_missing_package_is_named_with_its_extra(many, monkeypatch, words, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingResource, match=rf"{package}.*\.\["):
        many(f"-m seed=1 {words}")


@pytest.mark.parametrize(("words", "name"), [
    ("-m seed=1,2 objective=barlow,vicreg tracker=none", "seed_1-objective_barlow-"),
    ("-m seed=1 paths.senteval=x objective=barlow trainer.lr=1e-5", "seed_1-"),
    ("-m seed=1,2 paths.senteval=x objective=barlow trainer.lr=1e-5", "seed_1-908cf6d8"),
])  # fmt: skip
def test_jobs_are_named_after_the_axes(words, name):
    """The hashes stay, so that finished jobs are found again."""
    assert jobs_typed(words.split())[0].name.startswith(name)
    (scored,) = jobs_typed(["-m", "checkpoint=runs/a", "eval=stsb"], "cse-eval")
    assert scored.name == "checkpoint_a-eval_stsb-9c206042"


@pytest.mark.parametrize(("there", "words", "name"), [
    ("seed_1-objective_barlow-watch__-HASH", "-m seed=1,2 objective=barlow trainer.watch=[]", "seed_1-HASH"),
    ("whitened-parts__STS12_-HASH", "-m seed=1 eval.sts.parts.test=[STS12]", "seed_1-test_STS12-HASH"),
    ("shuffle_True-num_groups_32-HASH", "sweep=whitenedcse/table4 seed=3", "num_groups_32-shuffle_True-seed_3-HASH"),
    ("visual_bert-older-HASH", "sweep=nonling/table_d1 case=visual_bert seed=3", "visual_bert-seed_3-HASH"),
    ("visual-HASH", "sweep=nonling/table_d1 case=visual_bert seed=3", None),  # another case
])  # fmt: skip
def test_a_folder_of_the_same_hash_is_the_jobs_whatever_it_shows(tmp_path, there, words, name):
    def first_of_line() -> str:
        return jobs_typed([*words.split(), f"hydra.sweep.dir={tmp_path}"])[0].name

    new = first_of_line()
    hashed = new.rpartition("-")[2]
    older = there.replace("HASH", hashed)
    (tmp_path / older).mkdir()
    assert first_of_line() == (older if name else new)
    assert name is None or new == name.replace("HASH", hashed)


def test_a_folder_is_of_the_case_that_it_shows(tmp_path):
    """However its name is spelled, and not of another case whose name goes on."""
    cases = ["a b", "more", "more-data"]
    for older in ("a_b-seed_1-0a1b2c3d", "more-data-seed_1-0a1b2c3d"):
        (tmp_path / older).mkdir()
    there = names_by_hash(tmp_path)
    assert existing_name(there, "a_b-0a1b2c3d", "a b", cases) == "a_b-seed_1-0a1b2c3d"
    assert existing_name(there, "more-data-0a1b2c3d", "more-data", cases) == "more-data-seed_1-0a1b2c3d"
    assert existing_name(there, "more-0a1b2c3d", "more", cases) == "more-0a1b2c3d"


def test_jobs_that_differ_in_what_decides_nothing_are_told_apart(many):
    both = ["devices_1", "devices_2"]
    assert many("-m trainer.devices=1,2 seed=1 hydra.sweep.dir=here") == (0, dict.fromkeys(both, "done"))
    assert many("-m trainer.devices=1,2 seed=1 hydra.sweep.dir=here") == (0, dict.fromkeys(both, "done before"))


def test_a_line_with_one_seed_more_finds_the_first(many):
    assert many("-m seed=1 objective=barlow hydra.sweep.dir=here") == (0, {"seed_1-objective_barlow": "done"})
    states = {"seed_1-objective_barlow": "done before", "seed_2": "done"}
    assert many("-m seed=1,2 objective=barlow hydra.sweep.dir=here") == (0, states)


@pytest.fixture
def lasting(tmp_path, monkeypatch):
    """In tmp_path, jobs train and score nothing, and leave the results.json of their settings with made-up scores."""

    def command(job, folder: Path) -> list[str]:
        cfg = cfg_of_new_run(job.config, job.kind, job.arguments)
        scores = {"stsb": ["dev/stsb/spearman", "test/stsb/spearman"], "sts": ["test/sts/average"]}
        metrics = {name: 71.23 for evaluator in cfg.eval for name in scores[evaluator]}
        leave_run(folder, resolved(cfg), metrics, command=shell_line(job.program, *texts_of(job.arguments)))
        return [sys.executable, "-IS", "-c", ""]

    monkeypatch.setattr(process, "command_of", command)
    monkeypatch.setenv(FOLDERS_VARIABLE, "")
    monkeypatch.setattr(show, "hub_answers", lambda: True)  # or the missing data of the jobs would be refused
    monkeypatch.chdir(tmp_path)
    table = Path("own/sweep/mine/one.yaml")
    table.parent.mkdir(parents=True)
    report = "report: {paper: whitenedcse, table: table4, rows: seed, columns: {shuffled: test/sts/average}}"
    table.write_text(f"# @package _global_\nhydra: {{sweeper: {{params: {{seed: '32,48'}}}}}}\n{report}\n")
    table.with_name("two.yaml").write_text(table.read_text().partition("report:")[0])


@pytest.mark.parametrize("words", [
    "cse-train -m seed=1,2 smoke=true hydra.sweep.dir='my runs'", "cse-eval -m checkpoint=a,b eval=stsb",
    "cse-train sweep=whitenedcse/table5 objective.m=2,3", "cse-train sweep=whitenedcse/table5 objective.m=7,8",
    "cse-train sweep=whitenedcse/table5 objective.m=2,3 smoke=true",
    "cse-train sweep=whitenedcse/table5 objective.m=2,3 eval=stsb hydra.sweep.dir='my runs'",
    "cse-train sweep=whitenedcse/figure3 seed=1,2 case=simcse_bert eval=stsb trainer.watch=[]",
    "cse-train sweep=mine/one --config-dir own", "cse-train sweep=mine/two --config-dir own",
])  # fmt: skip
def test_the_line_that_is_advised_shows_the_runs_just_made(lasting, capsys, words):
    """However few of them are in a paper's table, and wherever they are."""
    assert exit_code(*shlex.split(words)) == 0
    program, *advised = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert program == "cse-report"
    os.environ[FOLDERS_VARIABLE] = ""  # a new shell
    assert exit_code(program, *advised) == 0
    shown = capsys.readouterr().out
    assert "71.23" in shown
    assert re.search(r"\b2 done|\b2 of 2 runs in", shown)
    assert "eval=stsb" not in words or "NOT RUN" not in shown


@pytest.mark.nightly
@pytest.mark.parametrize("words", ["-m seed=1,2", "sweep=whitenedcse/table5 objective.m=2,3"])
def test_the_advised_line_shows_a_real_start(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    assert exit_code("cse-train", *words.split(), "smoke=true") == 0
    *_, last = (line for line in capsys.readouterr().out.splitlines() if "cse-report" in line)
    assert exit_code(*shlex.split(last)) == 0
    assert re.search(r"\b2 done|\b2 of 2 runs in", capsys.readouterr().out)


def place(words: str, program: str = "cse-train") -> Path:
    return folder_without_sweep(program, list(map(Argument, words.split())))


def test_the_folder_stays_when_an_axis_grows_and_depends_on_every_other_setting():
    name = "multirun/seed-objective_barlow-senteval_x-lr_1e-5-f7983ace"
    assert place("seed=1,2 paths.senteval=x objective=barlow trainer.lr=1e-5") == Path(name)
    assert place("seed=1,2 model=minilm") == place("model=minilm seed=1,2,3")
    assert place("seed=1,2 model=minilm") != place("seed=1,2 model=bert")
    assert place("seed=1,2") != place("seed=1,2", "cse-eval")
    assert place("seed=1,2") == place("seed=1,2 tracker=wandb jobs.parallel=2 hydra/launcher=basic trainer.workers=3")
    assert place("objective=barlow,vicreg seed=1,2").name.startswith("objective+seed-")


@pytest.mark.parametrize(
    ("override", "axis", "first"),
    [
        ("seed=1,2", True, "seed=1"),
        ("trainer.lr=tag(log,interval(1e-5,1e-3))", True, "trainer.lr=1e-05"),
        ("eval=[stsb,sts]", False, "eval=[stsb,sts]"),
        ("~tracker", False, "~tracker=null"),
    ],
)
def test_axes_and_their_first_values(override, axis, first):
    assert Argument(override).is_axis == axis
    assert texts_of(first_values([Argument(override)])) == [first]
