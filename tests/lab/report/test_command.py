"""cse-report as a person uses it: what it prints, writes and refuses."""

import re
import shutil
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from run_folders import leave_heartbeat
from typed import exit_code

from cse.errors import UserError
from cse.lab.commands.report_settings import reporting_settings
from cse.lab.report.paper import sweep_runs
from cse.lab.report.show.document import Picture, Report
from cse.lab.report.show.terminal import open_console, show_report
from cse.lab.settings import groups
from cse.lab.sweep import sweeps


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def three_runs(leave, folder):
    for k, seed, score in [(32, 0, 76.4), (32, 1, 76.6), (384, 0, 78.0)]:
        config = {"objective.num_groups": k, "seed": seed}
        leave(f"objective.num_groups={k},seed={seed}", config, {"test/sts/average": score}, choices={"model": "bert"})
    return folder


cse_report = partial(exit_code, "cse-report")


def test_runs_of_no_sweep(three_runs, capsys):
    assert cse_report("runs=runs") == 0
    out = capsys.readouterr().out
    assert "78.00" in out
    assert "best by" not in out + (three_runs / "reports/runs/report.html").read_text()  # of a test score
    assert cse_report("runs=runs", "gate=0") == 2
    written = three_runs / "reports" / "runs"
    of_differences = {"differences.csv", "differences.tex"}
    reports = {"report.html", "report.md", "report.tex"}
    files = of_differences | reports | {"figures", "runs.csv", "settings.csv", "settings.tex"}
    assert {p.name for p in written.iterdir()} == files
    (written / "mine.csv").touch()
    assert cse_report("runs=runs", "where=num_groups=384") == 0  # a part goes into a folder of its own
    (part,) = (folder for folder in written.parent.iterdir() if folder != written)
    assert part.name.startswith("runs-num_groups_384-")
    assert {p.name for p in written.iterdir()} - {"mine.csv"} == files
    capsys.readouterr()
    assert cse_report("runs=runs", "where=num_groups=384", f"out={written}") == 0  # or where it is told to go
    assert "more seeds" not in capsys.readouterr().out  # which others of the folder may have
    assert {p.name for p in written.iterdir()} - {"mine.csv"} == files - of_differences - {"figures"}


def test_a_report_is_named_by_all_that_it_compares(three_runs):
    for name, path in zip("AB", sorted((three_runs / "runs").iterdir()), strict=False):
        path.rename(three_runs / name)
    assert cse_report("runs=B") == 0
    alone = (three_runs / "reports/B/runs.csv").read_bytes()
    assert cse_report("runs=[B,A]") == 0
    assert (three_runs / "reports/B+A/runs.csv").exists()
    assert (three_runs / "reports/B/runs.csv").read_bytes() == alone
    assert cse_report("runs=runs/*") == 0  # a glob has the name of the folder that it begins with
    assert (three_runs / "reports/runs/runs.csv").exists()
    for name in "AB":
        (three_runs / name).rename(three_runs / f"{name * 10}{'日' * 80}")
    assert cse_report("runs=[{0}{2},{1}{2}]".format("A" * 10, "B" * 10, "日" * 80)) == 0  # which has 511 bytes


def test_long_names_of_folders_have_a_short_title_and_short_unequal_labels(three_runs, capsys):
    labels = []
    for end in "ab":
        name = f"{'objective+seed-' * 8}{end}"
        shutil.copytree(three_runs / "runs", three_runs / name)
        capsys.readouterr()
        assert cse_report(name) == 0
        title = capsys.readouterr().out.splitlines()[0].partition("  ")[0]
        assert "…" in title
        assert len(title) <= 60
        assert title in (three_runs / "reports" / name / "report.html").read_text()
        latex = "".join(file.read_text() for file in (three_runs / "reports" / name).rglob("*.tex"))
        labels += re.findall(r"\\label{([^}]*)}", latex)
    assert len(set(labels)) == len(labels) >= 6
    assert max(map(len, labels)) <= 50
    assert {label.partition(":")[2][:9] for label in labels} == {"objective"}


@pytest.mark.parametrize(
    "words",
    [
        ["runs=runs", "baseline=num_groups=32"],
        ["runs=runs", "metrics=[test/*]"],
        ["runs=runs", "within=0.5", "where=num_groups=32,384"],
        ["sweep=whitenedcse/table4", "runs=runs", "tolerance=0"],
    ],
)
def test_another_question_on_the_same_runs_replaces_no_report(three_runs, words):
    for given in (words[:1], words[:-1], words):
        assert cse_report(*given) == 0
    assert cse_report(*words) == 0  # the same question replaces its report
    assert len(list((three_runs / "reports").rglob("report.html"))) == len(words)


def test_latex_can_find_the_figures_of_a_report_on_any_folder(three_runs):
    """LaTeX reads no path with a quote or a control character, and takes $HOME in a path for a variable."""
    (three_runs / "runs").rename(three_runs / 'a"b$HOME\t#1')
    assert cse_report('a"b$HOME\t#1') == 0
    assert (three_runs / "reports/a_b_HOME_#1/figures/scores.pdf").exists()


@pytest.mark.parametrize(
    ("of", "key"), [("runs=[2026-01-01]", "gate"), ("runs=[2026-01-01]", "confidence"), ("sweep=a/b", "tolerance")]
)
def test_every_number_may_have_an_exponent(of, key):
    """As in Hydra; for YAML 1.1, 1e-1 is text and 2026-01-01 a date."""
    assert reporting_settings([of, f"{key}=1e-1"])[key] == 0.1


@pytest.mark.parametrize("key", ["sweep", "out", "baseline", "where"])
def test_a_given_null_is_no_text(key):
    assert reporting_settings(["runs=x", f"{key}=null"])[key] is None


@pytest.mark.parametrize(
    "words",
    [
        *(["differ=[A,B]", word] for word in ("gate=0.5", "gate=0", "runs=C", "sweep=a/b", "baseline=a=1")),
        *(["differ=[A,B]", word] for word in ("where=a=1", "within=1", "metrics=[test/*]", "tolerance=1", "seed=s")),
        ["runs=A", "tolerance=0.5"],
        ["sweep=a/b", "gate=0"],
    ],
)
def test_no_setting_is_ignored_silently(words):
    with pytest.raises(UserError, match=f"^{words[-1].partition('=')[0]}="):
        reporting_settings(words)


@pytest.mark.parametrize("name", ["x", "x/lr=1", "runs", "out", "sweep"])
def test_a_folder_alone_is_a_folder_of_runs(folder, name):
    (folder / name).mkdir(parents=True)
    assert reporting_settings([name])["runs"] == [name]
    with pytest.raises(UserError, match="twice"):
        reporting_settings([name, name])
    with pytest.raises(UserError, match="no such key"):
        reporting_settings(["y"])


def test_a_sweep_without_a_report_is_refused_by_its_files_name(folder, monkeypatch, capsys):
    (folder / "sweeps" / "whitenedcse").mkdir(parents=True)
    (folder / "sweeps" / "whitenedcse" / "table4.yaml").write_text("# @package _global_\nseed: 1\n")
    monkeypatch.setattr(groups, "SWEEPS_DIR", str(folder / "sweeps"))
    assert cse_report("sweep=whitenedcse/table4") == 2
    assert "sweeps/whitenedcse/table4.yaml has no `report:`" in capsys.readouterr().err


def test_planned_jobs_are_the_product_of_the_axes_and_the_cases():
    groups = [32, 48, 64, 96, 128, 192, 256, 384]
    assert sweep_runs.planned_axes(sweeps.load_sweep("whitenedcse/table4"), "seed") == [
        {"objective.whitening.num_groups": k, "objective.whitening.shuffle": s} for k in groups for s in (True, False)
    ]
    planned = sweep_runs.planned_axes(sweeps.load_sweep("nonling/table3"), "seed")
    assert (len(planned), planned[0]) == (20, {"case": "simcse_bert", "seed": 1})
    assert sweep_runs.planned_axes(sweeps.load_sweep("noncontrastive/table1_vicreg"), "seed") == []  # a search


def test_planned_jobs_of_another_key_of_seeds_have_it_last_and_encoders_only_scored_have_none():
    cases = {"trained": {"set": []}, "scored": {"program": "cse-eval"}}
    params = {"data.seed": "1,2", "objective.m": "3"}
    sweep = sweeps.Sweep(name="a/b", params=params, sweeper="basic", cases=cases)
    jobs = [list(job.items()) for job in sweep_runs.planned_axes(sweep, "data.seed")]
    trained = [("case", "trained"), ("objective.m", 3)]
    assert jobs == [
        [*trained, ("data.seed", 1)],
        [*trained, ("data.seed", 2)],
        [("case", "scored"), ("objective.m", 3)],
    ]


def test_a_sweep_without_claims_has_no_file_of_them(folder, monkeypatch):
    block = {"paper": "whitenedcse", "tolerance": 0.1, "seed": "data.seed", "columns": {}}
    sweep = sweeps.Sweep(name="whitenedcse/figure3", params={}, sweeper="basic", report=block)
    monkeypatch.setattr(sweeps, "load_sweep", lambda name: sweep)
    (folder / "runs").mkdir()
    assert cse_report("sweep=whitenedcse/figure3", "runs=runs", "out=out") == 0
    assert not (folder / "out/claims.csv").exists()


def test_a_key_of_seeds_may_hold_lists(leave, folder, capsys):
    for seeds in ([1, 2], [3, 4]):
        leave(f"{seeds[0]}", {"trainer.select": "dev/x", "data.seeds": seeds}, {"dev/x": 70.0})
    assert cse_report("runs=runs", "seed=data.seeds", "out=out") == 0
    assert "more seeds" not in capsys.readouterr().out  # nothing says which lists come next


def test_while_the_first_runs_of_a_sweep_are_running_its_page_says_how_far_they_are(leave, folder):
    words = ["sweep=whitenedcse/table5", "objective.m=3", "seed=1"]
    events = [{"time": 100.0 + step, "train/loss": 1.0} for step in range(51)]
    about = {"status": "running", "events": events, "total_steps": 100, "choices": {"sweep": "whitenedcse/table5"}}
    leave_heartbeat(leave("a", {"objective.m": 3, "seed": 1}, overrides=words, **about), age=-3600)
    assert cse_report("sweep=whitenedcse/table5", "runs=runs", "out=out") == 0
    assert "running (step 50 of 100" in (folder / "out/report.html").read_text()


def test_a_figures_folder_is_named_whatever_its_letters(folder, capsys):
    report = Report("t", "", [], {}, pictures=[Picture("figure3", Figure())])
    show_report(report, Path("reports/[bold]x"), open_console())
    assert "figure3: reports/[bold]x/figures/figure3.png" in capsys.readouterr().out


@pytest.mark.parametrize("status", ["done", "failed"])
def test_runs_without_a_score_are_reported(leave, tmp_path, capsys, status):
    for lr in (1e-5, 1e-4):
        leave(f"lr={lr}", {"trainer.lr": lr}, status=status)
    assert cse_report(f"runs={tmp_path / 'runs'}", f"out={tmp_path / 'out'}") == 0
    out = capsys.readouterr().out
    assert f"2 {status}" in out
    assert {line.split()[0] for line in out.splitlines()[-3:-1]} == {"0.0001", "1e-05"}  # a line for each setting


@pytest.fixture
def mixed_runs(leave, folder):
    """Two rates with two seeds, and a run with smoke=true that scores best."""
    for lr in (1, 2):
        for seed in (1, 2):
            leave(f"x/lr={lr},seed_{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": 70.0 + lr + seed})
    leave("x/smoke", {"trainer.lr": 3, "seed": 1, "smoke": True}, {"dev/x": 99.0})
    (folder / "runs/x/jobs.jsonl").touch()  # as every command of several jobs leaves it
    return folder


def test_runs_with_smoke_stand_apart_and_are_never_the_best(mixed_runs, capsys):
    assert cse_report("runs=runs", "out=out") == 0
    shown = capsys.readouterr().out
    assert "best by dev/x: lr=2 (73.50 ± 0.71)" in shown
    ranked, _, apart = shown.partition("(smoke runs")
    assert ("99.00" in ranked, "99.00" in apart) == (False, True)
    for name in ("report.html", "report.md"):
        assert "(smoke runs" in (mixed_runs / "out" / name).read_text()
    assert (mixed_runs / "out/runs.csv").read_text().count("\n") == 1 + 5
    assert (mixed_runs / "out/settings.csv").read_text().splitlines() == [
        "trainer.lr,done,runs,dev/x,dev/x sd,folder,partial,remarks",
        '2,2,2,73.5,0.7071067811865476,"x/lr=2,seed_*",,',
        '1,2,2,72.5,0.7071067811865476,"x/lr=1,seed_*",,',
    ]
    latex = (mixed_runs / "out/settings.tex").read_text()
    assert all(told in latex for told in (r"\label{tab:out}", r"73.50{", "Scores on dev by lr: mean"))
    assert "textbf" not in latex  # of two seeds
    assert cse_report("runs=runs/x/smoke", "out=out") == 0  # alone they are headed the same
    for name in ("report.html", "report.md", "settings.tex"):
        assert "(smoke runs" in (mixed_runs / "out" / name).read_text()


def test_runs_with_smoke_alone_are_not_ranked_or_tested(leave, folder, capsys):
    for lr, seed in product((1, 2), (1, 2, 3)):
        leave(f"lr={lr},{seed}", {"trainer.lr": lr, "seed": seed, "smoke": True}, {"dev/x": 10.0 * lr + seed})
    assert cse_report("runs=runs", "out=out") == 0
    shown = capsys.readouterr().out
    assert shown.index("12.00") < shown.index("22.00")
    assert [word for word in ("best", "difference", "seeds of this") if word in shown] == []
    assert not (folder / "out/differences.csv").exists()
    assert cse_report("runs=runs", "baseline=lr=1", "gate=0", "out=out") == 2  # there is no best setting to test
    assert cse_report("runs=['runs/lr=2*','runs/lr=1*']", "gate=0", "out=out") == 0


def test_a_run_with_smoke_fills_no_row_of_a_papers_table(leave, folder, capsys):
    config = {"objective.whitening.num_groups": 384, "objective.whitening.shuffle": True, "seed": 1}
    leave("whole", config, {"test/sts/average": 78.0}, choices={"model": "bert"})
    leave("small", config | {"smoke": True}, {"test/sts/average": 99.0}, choices={"model": "bert"})
    assert cse_report("sweep=whitenedcse/table4", "runs=runs", "out=out") == 0
    table, _, apart = capsys.readouterr().out.partition("(smoke runs")
    assert "78.00" in table
    assert ("99.00" in table, "99.00" in apart) == (False, True)
    assert "99.0" not in (folder / "out/report.csv").read_text()
    shutil.rmtree("runs/whole")
    assert cse_report("sweep=whitenedcse/table4", "runs=runs", "out=out") == 0  # alone it fills none either
    assert "(smoke runs" in (folder / "out/report.md").read_text()


def test_latex_says_once_what_names_of_scores_share_and_has_signs_for_hyphens(leave, folder):
    for lr in (1e-5, 3e-5):
        leave(f"{lr}", {"trainer.lr": lr}, {"dev/x/loss-1": -lr * 1e5, "dev/x/y/z": -0.00001})
    assert cse_report("runs=runs", "metrics=[dev/x/y/z,dev/x/loss-1]", "out=out") == 0
    latex = (folder / "out/settings.tex").read_text()
    bold = "bold: the best of each score, and means not significantly different from it"
    assert f"by lr; {bold}; runs per setting: 1; *: the best by z on x y dev.}}" in latex
    assert r"& lr & \shortstack[r]{y \\ z} & loss-1 " in latex
    assert "1e-05 & " in latex
    assert "$-$3.00" in latex
    assert "-0.00" not in latex.replace("$", "")


@pytest.mark.parametrize(
    ("words", "folders"),
    [
        (["runs=runs/x/*seed_1*"], ["lr=1,seed_1", "lr=2,seed_1"]),
        (["runs=runs/x/*"], ["lr=1,seed_1", "lr=1,seed_2", "lr=2,seed_1", "lr=2,seed_2", "smoke"]),
        (["runs=runs/x/*.jsonl"], []),
        (["runs=runs", "where=lr=2,seed=2"], ["lr=2,seed_2"]),
        (["runs=runs", "where=lr=7"], []),
        (["runs=runs", "where=[trainer.lr=2,seed=2]"], ["lr=2,seed_2"]),
        (["runs=runs", "where=trainer.lr=1,2,seed=[1,7]"], ["lr=1,seed_1", "lr=2,seed_1"]),
        (["runs=runs/x/lr=2,seed_1"], ["lr=2,seed_1"]),
        (["runs=runs/y*"], []),
    ],
)
def test_a_part_of_the_runs_is_named_by_a_glob_or_by_settings(mixed_runs, words, folders):
    assert cse_report(*words, "out=out") == (0 if folders else 2)
    if folders:
        lines = (mixed_runs / "out/runs.csv").read_text().splitlines()
        assert [line.split(",done,")[0].strip('"').rpartition("/")[2] for line in lines[1:]] == folders


def test_a_key_is_named_as_in_the_table_of_real_runs(mixed_runs, leave):
    leave("x/smoke2", {"trainer.lr": 3, "seed": 1, "smoke": True, "objective.lr": 1}, {"dev/x": 99.0})
    assert cse_report("runs=runs", "where=lr=2", "out=out") == 0
    assert (mixed_runs / "out/runs.csv").read_text().count("\n") == 1 + 2


def test_a_run_whose_command_has_damaged_quotes_is_reported(leave, folder):
    leave("a", {"seed": 1}, {"dev/x": 70.0}, command="cse-train 'unbalanced")
    assert cse_report("runs=runs", "out=out") == 0
    assert (folder / "out/runs.csv").read_text().count("\n") == 1 + 1


def test_two_runs_that_differ_show_their_scores(mixed_runs, capsys):
    assert cse_report("differ=[runs/x/lr=1,seed_1,runs/x/lr=1,seed_2]") == 2  # a comma ends a name
    assert cse_report('differ=["runs/x/lr=1,seed_1","runs/x/lr=1,seed_2"]') == 0
    assert ["scores", "dev/x", "72.00", "73.00"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_the_same_text_under_another_path_is_no_difference_of_data(leave, folder, capsys):
    for name, path in (("a", "text.txt"), ("b", "../text.txt")):
        about = {"name": "text", "source": path, "sha256": {path: "aa"}}
        leave(name, {"data.path": path, "seed": 1}, training_data=about)
    assert cse_report("differ=[runs/a,runs/b]", "out=out") == 0
    assert (folder / "out/differ.csv").read_text().splitlines()[1:] == ["science,data.path,text.txt,../text.txt"]
    (same,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("The same: "))
    assert "data" in same
    assert "science" not in same
