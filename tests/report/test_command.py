"""cse-report as a person uses it: what it prints, writes and refuses."""

import json
from functools import partial
from textwrap import indent

import pytest
from made_up_tables import TABLE4
from typed import exit_code

from cse.config import groups
from cse.record.runs import read_runs
from cse.report import sweep as compared
from cse.sweep import jobs

SWEEP = f"""# @package _global_
hydra:
  mode: MULTIRUN
  sweeper:
    params:
      objective.num_groups: 32,384
      objective.shuffle: true,false
      seed: range(0,2)
report:
{indent(TABLE4, "  ")}
  setting: {{model: bert}}
  figures:
    - {{kind: curve, name: groups, x: objective.num_groups, y: test/sts/average, series: objective.shuffle, log: true}}
    - {{kind: path, name: figure3, x: dev/stsb/uniformity, y: dev/stsb/alignment}}
"""


@pytest.fixture
def cse_report(tmp_path, monkeypatch):
    """cse_report(words...) -> exit code, with sweeps of the test's own, in a folder of its own."""
    sweeps = tmp_path / "sweeps"
    (sweeps / "whitenedcse").mkdir(parents=True)
    (sweeps / "whitenedcse" / "table4.yaml").write_text(SWEEP)
    monkeypatch.setattr(groups, "SWEEPS_DIR", str(sweeps))
    monkeypatch.chdir(tmp_path)

    return partial(exit_code, "cse-report")


@pytest.fixture
def three_of_eight(leave):
    for k, shuffle, seed, score in [(32, True, 0, 76.4), (32, True, 1, 76.6), (384, True, 0, 78.0)]:
        config = {"objective.num_groups": k, "objective.shuffle": shuffle, "seed": seed}
        leave(f"objective.num_groups={k},seed={seed}", config, {"test/sts/average": score}, choices={"model": "bert"})


def test_a_partial_sweep_gives_every_file_and_says_what_is_missing(cse_report, three_of_eight, tmp_path, capsys):
    assert cse_report("sweep=whitenedcse/table4", "runs=runs") == 0
    out = capsys.readouterr().out
    assert "76.50 ± 0.14 (2)" in out
    assert "78.00 ≈ [1 of 2 runs]" in out  # one of two cells that nothing tells apart
    assert "Missing: objective.num_groups=384, objective.shuffle=true, seed=1: not started" in out
    assert "3 of 3 runs in runs are done" in out
    assert "figure3: Not drawn" in out
    assert out.count("NOT RUN") == 16 - 2
    folder = tmp_path / "reports" / "whitenedcse" / "table4"
    assert sorted(p.name for p in folder.iterdir()) == [
        "claims.csv", "figures", "report.csv", "report.html", "report.md", "report.tex",
    ]  # fmt: skip
    assert (folder / "figures" / "groups.png").read_bytes()[:4] == b"\x89PNG"
    page = (folder / "report.html").read_text()
    assert "data:image/png;base64," in page
    assert "WhitenedCSE: Whitening-based" in page
    assert (folder / "report.csv").read_text().count("\n") == 17


def test_a_sweep_of_a_figure_has_a_table_of_what_it_shows(cse_report, three_of_eight, tmp_path, capsys):
    block = (
        SWEEP.partition("report:")[0]
        + """
report:
  paper: whitenedcse
  figures:
    - {kind: curve, name: groups, x: objective.num_groups, y: test/sts/average}
"""
    )
    (tmp_path / "sweeps" / "whitenedcse" / "figure.yaml").write_text(block)
    assert cse_report("sweep=whitenedcse/figure", "runs=runs") == 0
    out = capsys.readouterr().out
    assert "76.50 ± 0.14" in out
    assert "objective.num_groups=384, objective.shuffle=true, seed=1: not started" in out
    assert (tmp_path / "reports/whitenedcse/figure/figures/groups.png").exists()


def test_runs_of_no_sweep(cse_report, three_of_eight, tmp_path, capsys):
    assert cse_report("runs=runs", "metrics=[test/*]") == 0
    out = capsys.readouterr().out
    assert "best by test/sts/average: num_groups=384: 78.00" in out
    folder = tmp_path / "reports" / "runs"
    assert {p.name for p in folder.iterdir()} == {
        "differences.csv", "report.html", "report.md", "report.tex", "runs.csv",
    }  # fmt: skip


def test_a_report_is_named_by_all_that_it_compares(cse_report, three_of_eight, tmp_path):
    for name, path in zip("AB", sorted((tmp_path / "runs").iterdir()), strict=False):
        path.rename(tmp_path / name)
    assert cse_report("runs=B") == 0
    alone = (tmp_path / "reports/B/runs.csv").read_bytes()
    assert cse_report("runs=[B,A]") == 0
    assert (tmp_path / "reports/B+A/runs.csv").exists()
    assert (tmp_path / "reports/B/runs.csv").read_bytes() == alone


def test_the_table_goes_to_a_tracker_and_runs_may_lie_behind_equals_signs(cse_report, three_of_eight, tmp_path, capsys):
    folder = "runs/objective.num_groups=384,seed=0"
    assert cse_report("sweep=whitenedcse/table4", f"runs={folder}", "out=o", "tracker=tensorboard") == 0
    assert "1 of 1 runs" in capsys.readouterr().out
    events = [json.loads(line) for line in (tmp_path / "o" / "metrics.jsonl").read_text().splitlines()]
    table = next(event for event in events if event["event"] == "table")
    assert "published" in table["columns"]
    assert len(table["rows"]) == 16
    assert list((tmp_path / "o" / "tensorboard").iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say sweep=PAPER/TABLE or runs=FOLDER"),
        (["sweep=whitenedcse/table5"], "did you mean whitenedcse/table4?"),
        (["seep=whitenedcse/table4"], "there is no key seep; did you mean sweep?"),
        (["runs=nowhere"], "no such folder"),
        (["runs=[a"], "no such folder"),
        (["runs=runs", "metrics=[a"], "cannot be read"),
        (["runs=runs", "confidence=95"], "confidence=95:"),
        (["runs=${nowhere}"], "nowhere"),
        (["sweep=whitenedcse/table4", "tracker=w"], "tracker=w is not a choice"),
        (["sweep=whitenedcse/table4", "runs=runs", "score=test/sts/averag"], "did you mean test/sts/average?"),
        (["runs=runs", "score=test/sts/average"], "metrics=[test/sts/average] shows it of runs"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(cse_report, three_of_eight, capsys, words, message):
    assert cse_report(*words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("cse-report: ")
    assert error.count("\n") == 1


def test_a_mistake_in_the_sweeps_file_names_it(cse_report, tmp_path, capsys):
    file = tmp_path / "sweeps" / "whitenedcse" / "table4.yaml"
    file.write_text(SWEEP.replace("metric: test/sts", "metric: dev/sts"))
    assert cse_report("sweep=whitenedcse/table4") == 2
    assert "sweeps/whitenedcse/table4.yaml: shuffled is filled by dev/sts/average" in capsys.readouterr().err
    file.write_text(SWEEP.partition("report:")[0])
    assert cse_report("sweep=whitenedcse/table4") == 2
    assert "no `report:` block" in capsys.readouterr().err


def test_planned_jobs_are_the_product_of_the_axes_and_the_cases():
    groups = [32, 48, 64, 96, 128, 192, 256, 384]
    assert compared.planned(jobs.read("whitenedcse/table4"), "paper") == [
        {"objective.whitening.num_groups": k, "objective.whitening.shuffle": s} for k in groups for s in (True, False)
    ]
    planned = compared.planned(jobs.read("nonling/table3"), "paper")
    assert len(planned) == 20
    assert planned[0] == {"case": "simcse_bert", "seed": 1}
    assert compared.planned(jobs.read("noncontrastive/table1_vicreg"), "paper") == []  # a search


def test_runs_of_laptop_size_are_held_to_the_grid_of_that_size(leave, tmp_path):
    """Fewer cases, three seeds, and one job for an encoder that is only scored."""
    planned = compared.planned(jobs.read("noncontrastive/table2"), "laptop")
    assert len(planned) == 1 + 5 * 3
    assert planned[0] == {"case": "bert_avg"}
    assert planned[1] == {"case": "bert_simcse", "seed": 1}
    leave("small", {"trainer.max_steps": 6}, choices={"scale": "laptop"})
    leave("scored", {"pooling": "mean"})
    runs = read_runs([tmp_path / "runs"])
    assert compared.scale_of(runs) == "laptop"
    leave("whole", {"trainer.max_steps": None}, choices={"scale": "paper"})
    assert compared.scale_of(read_runs([tmp_path / "runs"])) == compared.scale_of([]) == "paper"


@pytest.mark.parametrize("status", ["done", "failed"])
def test_runs_without_a_score_are_reported(leave, tmp_path, capsys, status):
    for lr in (1e-5, 1e-4):
        leave(f"lr={lr}", {"trainer.lr": lr}, status=status)
    assert exit_code("cse-report", f"runs={tmp_path / 'runs'}", f"out={tmp_path / 'out'}") == 0
    assert f"2 {status}" in capsys.readouterr().out
