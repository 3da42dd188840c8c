"""Every file of sweeps/: its grid is the published one, its report names the paper's rows, its jobs run."""

import functools
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from run_folders import results_of
from typed import command_typed, jobs_typed

from cse.lab.report.paper.report_block import checked_block
from cse.lab.settings.arguments import Argument, texts_of
from cse.lab.settings.compose import composed
from cse.lab.sweep import sweeps
from cse.lab.sweep.engine import Plan, make_plan
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.rows import job_of_row
from cse.lab.sweep.sweep_command import read_sweep_command

SWEEPS = Path(__file__).resolve().parents[1] / "sweeps"

# the number of jobs, or (searches, trials of each), multiplied out as the paper's axes
PUBLISHED = {
    "nonling/table1": 2 * 3, "nonling/table2": 2 * 3, "nonling/table3": 2 * 2 * 5, "nonling/table4": 2 * 2,
    "nonling/table5": 2 * 4, "nonling/table6": 3, "nonling/loss_variants": 2 * 6, "nonling/figure2": 6,
    "nonling/figure3": 1 + 6, "nonling/figure4": 3 * 2, "nonling/table_a1": 6 * 3 * 3 * 6, "nonling/table_c1": 2,
    "nonling/table_d1": 3 * 3, "nonling/table_e1": 2 * 2, "nonling/table_f1": 3 * 2,
    "whitenedcse/table1": 3 * 2 + 2 + 2, "whitenedcse/table2": 2 * 2 + 2, "whitenedcse/table3": 5,
    "whitenedcse/table3_post_hoc": 3, "whitenedcse/table4": 8 * 2, "whitenedcse/table5": 4, "whitenedcse/table6": 5,
    "whitenedcse/figure3": 2, "whitenedcse/loss_variants": 3,
    "declutr/table1": 2 * 2 + 2, "declutr/table_s1": 3 * 2 + 2, "declutr/table_s3": 2 * 2 + 2,
    "declutr/table_s4": 2 * 2 + 2, "declutr/table_s5": 4 + 4, "declutr/table_s6": 2,
    "declutr/figure2": (2 * 3 + 2 * 2) * 2 * 3, "declutr/figure3": 2 * 3 * 5, "declutr/figure_s1a": 1 + 2 * 4,
    "declutr/figure_s1b": 5 * 4,
    "noncontrastive/table1": 2 * 10 * 21, "noncontrastive/table1_vicreg": (2 * 10, 50), "noncontrastive/table2": 6 + 8,
    "noncontrastive/table4": 7, "noncontrastive/figure1": 2 * 10 * 21, "noncontrastive/figure2": (2 * 10, 50),
    "noncontrastive/figure3": 14 + 2, "noncontrastive/figure4": 1 + 3,
    "study/methods": 9 * 8 + 1, "study2/methods": 20 * 10 + 2, "study2/documents": 3 * 10,
    "beyond/rankcse": 3, "beyond/promptbert": 2 * 2 + 1, "beyond/prompteol": 1,
    "beyond/syncse": 5, "beyond/esimcse": 5, "beyond/promptbert_sup": 2 * 2,
}  # fmt: skip
NAMES = sorted(PUBLISHED)


@functools.cache
def plan(name: str) -> Plan:
    return make_plan(read_sweep_command(command_typed([f"sweep={name}"])))


def sweep(name: str) -> sweeps.Sweep:
    return plan(name).command.sweep


@functools.cache
def planned(name: str) -> list[PlannedJob]:
    return plan(name).examples


@functools.cache
def ends(name: str) -> list[PlannedJob]:
    """The first and the last job; of searches, an example of the first and the last."""
    jobs = jobs_typed([f"sweep={name}", "smoke=true", "tracker=none"])
    return [jobs[0], jobs[-1]]


def test_every_file_is_tested():
    found = {str(path.relative_to(SWEEPS).with_suffix("")) for path in SWEEPS.glob("*/*.yaml")}
    assert found == set(PUBLISHED)


@pytest.mark.parametrize("name", NAMES)
def test_the_grid_is_the_published_one(name):
    """The number of jobs is right, each has its own folder, and the first and last compose."""
    all_jobs, sweeper = planned(name), plan(name).command.sweeper
    assert len({job.name for job in all_jobs}) == len(all_jobs)
    assert PUBLISHED[name] == ((len(all_jobs), sweeper.n_trials) if sweeper else len(all_jobs))
    for job in ends(name):
        assert job.config


@pytest.mark.parametrize("name", NAMES)
def test_the_file_opens_with_its_command_and_names_published_rows(name):
    file = SWEEPS / f"{name}.yaml"
    lines = file.read_text().splitlines()
    assert lines[0] == "# @package _global_"
    assert f"cse-train sweep={name}" in lines[1]
    assert max(map(len, lines)) <= 120
    block = sweep(name).report
    assert block is not None
    assert block["paper"] == name.partition("/")[0]
    checked, _ = checked_block(block, str(file), 0.1)
    cases = set(sweep(name).cases)
    lines = [*checked.rows.values(), *checked.columns.values()]
    wheres = [line.where for line in lines] + [w for f in checked.figures if isinstance(f.series, dict)
                                               for w in f.series.values()]  # fmt: skip
    assert {where["case"] for where in wheres if "case" in where} <= cases


def test_cases_of_one_name_in_a_shared_folder_are_one_job():
    folders: dict[tuple[Path, str], tuple[str, str]] = {}
    for name in NAMES:
        table = sweep(name)
        if not table.is_grid or table.params:
            continue
        for case, job in zip(table.cases, planned(name), strict=True):
            before = folders.setdefault((table.folder, case), (job.name, name))
            assert before[0] == job.name, f"{case} of {name} and of {before[1]}"


def test_panels_a_and_b_of_declutrs_figure_2_use_the_default_strategy():
    """Only panel c compares strategies."""
    panels = {panel["name"]: panel for panel in sweep("declutr/figure2").report["figures"]}
    wheres = {name: (panels[f"figure2{name}"].get("where"), panels[f"figure2{name}"]["x"]) for name in "abc"}
    assert wheres["a"][0] == wheres["b"][0] == {"augmentation.strategy": "all"}
    assert wheres["c"] == (None, "augmentation.strategy")


FLOOR = {"objective.log_floor": 1e-20}  # -log(p + 1e-20): at 5e-4 and 1e-3 it caps most pairs
PAIRED = {"augmentation.model_dropout": 0}  # the paper's augmentations are "not combined"
PAPERS = [("declutr/figure2", "", FLOOR), ("declutr/figure_s1b", "", FLOOR)]
PAPERS += [
    (f"noncontrastive/{table}", f"case=roberta_barlow_{data}", PAIRED)
    for table in ("table2", "table4", "figure3")
    for data in ("nli", "wikiauto")
]


@pytest.mark.parametrize(("name", "case", "values"), PAPERS)
def test_a_job_has_the_papers_value(name, case, values):
    for job in [job_of_row(sweep(name), [Argument(case)], Path("runs"))] if case else ends(name):
        config = job.config
        assert {key: OmegaConf.select(config, key) for key in values} == values


def test_pairs_have_two_columns_and_no_dropout_and_figure_3_has_its_noise():
    paired = job_of_row(sweep("noncontrastive/table2"), [Argument("case=roberta_barlow_nli")], Path("runs")).config
    alone = composed("train", ["model=roberta", "objective=barlow", "augmentation=none", "data=nli"])
    assert len(paired.data.columns) == 2
    assert alone.augmentation.model_dropout == 0
    noise = [job.config.data.noise for job in planned("nonling/figure3")]
    assert [(n.delete, n.insert, n.swap) for n in noise[:3]] == [(0.0, 0, 0), (0.0, 2, 2), (0.1, 2, 2)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """The folder of all jobs: tiny data, and runs that several tables share, are made once."""
    return tmp_path_factory.mktemp("sweeps")


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_the_first_and_the_last_job_run(name, runs, monkeypatch):
    """smoke=true: a tiny encoder of the real width and tiny data. A run that a job scores is made first."""
    from cse.lab.commands import evaluate, train

    monkeypatch.chdir(runs)
    monkeypatch.setenv("CSE_CACHE", str(runs / "cache"))

    def call(job: PlannedJob, folder: Path) -> None:
        if (folder / "results.json").exists():
            return
        monkeypatch.setattr("sys.argv", [job.program, *texts_of(job.arguments), f"hydra.run.dir={folder}"])
        (train if job.program == "cse-train" else evaluate).main()  # a failure leaves with an exit code
        assert results_of(folder)["status"] == "done"

    for job in ends(name):
        if job.scores:
            call(job.scores[1], job.scores[0])
        call(job, runs / sweep(name).folder_of_jobs([Argument("smoke=true")]) / job.name)
