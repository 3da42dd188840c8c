"""Sweeps that share a folder (same_runs_as), each reported from the runs of all, and which runs fill its cells."""

import shlex
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from made_up_tables import parsed
from omegaconf import OmegaConf
from run_folders import leave_run
from typed import exit_code, jobs_of

from cse.lab.commands.report_settings import reporting_settings
from cse.lab.folder.runs import Run, read_runs
from cse.lab.report.paper.departures import is_on_axis, mark_departures
from cse.lab.report.paper.paper_report import report_of_sweep
from cse.lab.settings.arguments import Argument, texts_of
from cse.lab.settings.groups import SWEEPS_DIR, choices
from cse.lab.sweep import sweeps
from cse.lab.sweep.job import PlannedJob

FEW = 4  # jobs left of a sweep that has many


def sharing() -> dict[Path, list[str]]:
    """{folder: the sweeps whose runs lie in it}, of folders with several; read from the files as they are."""
    folders = defaultdict(list)
    for name in choices("sweep"):
        raw = yaml.safe_load((Path(SWEEPS_DIR) / f"{name}.yaml").read_text())
        folders[Path(raw.get("same_runs_as", name))].append(name)
    return {folder: names for folder, names in folders.items() if len(names) > 1}


SHARED = sharing()


def some_jobs(sweep: sweeps.Sweep) -> list[PlannedJob]:
    planned = jobs_of(sweep.name)
    return planned if len(planned) < 30 else planned[:FEW]


def leave(job: PlannedJob, folder: Path, metrics: dict[str, float]) -> None:
    """A finished run of the job, as cse-train and cse-eval leave it."""
    config = job.config
    choices = OmegaConf.to_container(config.hydra.runtime.choices)
    plain = {key: value for key, value in config.items_ex(resolve=False) if key != "hydra"}
    settings = OmegaConf.to_container(OmegaConf.create(plain)) | {"choices": choices}
    leave_run(folder, settings, metrics, command=shlex.join([job.program, *texts_of(job.arguments)]))


def metrics_of(sweep: sweeps.Sweep) -> set[str]:
    """Every score that the sweep's report reads."""
    block, _ = parsed(sweep.report)
    cells = {str(block.metric_of(row, column)) for row in block.rows for column in block.columns}
    return cells | {metric for plot in block.figures for metric in plot.metrics}


@pytest.mark.nightly
@pytest.mark.parametrize("folder", SHARED, ids=str)
def test_every_report_reads_a_folder_with_the_runs_of_all(folder, tmp_path, monkeypatch, capsys):
    """It ends well, fills its own rows, finds no job of its own missing and takes no other sweep's run for a trial."""
    monkeypatch.chdir(tmp_path)
    shared = [sweeps.load_sweep(name) for name in SHARED[folder]]
    metrics = {metric: 50.0 + place for place, metric in enumerate(sorted(set().union(*map(metrics_of, shared))))}
    for sweep in shared:
        for job in some_jobs(sweep):
            if not (Path("runs") / folder / job.name).exists():
                leave(job, Path("runs") / folder / job.name, metrics)
    for sweep in shared:
        assert exit_code("cse-report", f"sweep={sweep.name}", f"out=reports/{sweep.name}") == 0, sweep.name
        out = capsys.readouterr().out
        assert "not in the sweep" not in out, sweep.name
        if len(some_jobs(sweep)) != FEW and sweep.is_grid:
            assert "not started" not in out, sweep.name


@pytest.mark.parametrize(
    ("counted", "others"),
    [
        (["whitenedcse/table5 objective.m=2"], ["whitenedcse/table6 case=positives_3"]),  # m = 3 without whitening
        (["study2/documents case=mlm"], ["study2/methods case=mlm"]),
    ],
)  # fmt: skip
def test_runs_of_other_sweeps_do_not_count(counted, others, tmp_path):
    """They lie beside the sweep's own, and cases and settings of several sweeps have the same names."""
    for line in counted + others:
        leave(jobs_of(*line.split())[0], tmp_path / "runs" / line, {"test/sts/average": 60.0})
    words = [f"sweep={counted[0].split()[0]}", f"runs={tmp_path}"]
    report = report_of_sweep(reporting_settings(words), [tmp_path])
    assert [str(Path(folder).relative_to(tmp_path / "runs")) for folder in report.log["folder"]] == counted


def test_a_run_of_a_sweep_that_is_gone_is_a_departure():
    gone = Run(Path("run"), "done", {}, {}, {}, {}, arguments=(Argument("sweep=nonling/table9"), Argument("seed=3")))
    (run,) = mark_departures([gone], "nonling/table1", "seed")
    assert run.departures == ("sweep=nonling/table9",)


def departures(folder, sweep, *lines, change=None):
    for number, line in enumerate(lines):
        leave(jobs_of(*line.split())[0], folder / f"{number}", {"x": 1.0})
    runs = read_runs([folder])
    for run in runs:
        for key, value in (change or {}).items():
            parent, _, last = key.rpartition(".")
            run.config[parent][last] = value
    return [run.departures for run in mark_departures(runs, sweep, "seed")]


def test_each_model_of_an_axis_is_compared_with_its_own_recipe(tmp_path):
    sweep = "noncontrastive/table1"
    of_bert, of_roberta, off = departures(
        tmp_path, sweep, f"{sweep} case=dropout_0.1 model=bert", f"{sweep} case=dropout_0.1 model=roberta",
        f"{sweep} case=dropout_0.1 model=bert objective.lambd=0.5",
    )  # fmt: skip
    assert of_bert == of_roberta == ()
    assert off == ("objective.lambd=0.5",)  # not of the paper's grid, of which the table has the maximum


def test_what_nobody_typed_counts_as_run(tmp_path):
    sweep = "whitenedcse/table5"
    lines = (f"{sweep} objective.m=3 seed=7", f"{sweep} objective.m=3 trainer.workers=7")
    assert departures(tmp_path / "a", sweep, *lines) == [(), ()]
    changed = departures(tmp_path / "b", sweep, lines[0], change={"trainer.lr": 9e-3})
    assert changed == [("trainer.lr=0.009",)]
    other = departures(tmp_path / "c", sweep, f"{sweep} model=roberta objective.m=3")
    assert other == [("model=roberta",)]  # whose recipe's rate is no further departure


@pytest.mark.parametrize(
    ("values", "value", "is_one"),
    [("1e-5,2e-5", 2e-5, True), ("1e-5,2e-5", 3e-5, False), ("interval(-3,-1)", -2.5, True),
     ("interval(-3,-1)", -5, False), ("true,false", True, True), ("bert,roberta", "bert", True),
     ("[a,b],[a]", ["a"], True), ("range(0.1,0.4,0.1)", 0.3, True), ("3", 3, True)],
)  # fmt: skip
def test_a_value_is_of_an_axis(values, value, is_one):
    assert is_on_axis(values, value) == is_one
