import pytest

from cse.errors import UserError
from cse.report.notes import missing_jobs
from cse.report.runs import read_runs, same, varying


def test_runs_come_back_with_their_state(leave, tmp_path):
    leave("a", {"seed": 1, "objective.k": 32}, {"test/sts/average": 70.0}, choices={"objective": "whitenedcse"})
    leave("b", {"seed": 2}, status="failed")
    leave("c", {"seed": 3}, status="killed")
    leave("d", {"seed": 4})
    (tmp_path / "runs/d/results.json").write_text('{"status": "do')
    runs = read_runs([tmp_path / "runs"])
    assert [(run.folder.name, run.status) for run in runs] == [
        ("a", "done"), ("b", "failed"), ("c", "running"), ("d", "broken"),
    ]  # fmt: skip
    assert runs[0].metrics == {"test/sts/average": 70.0}
    assert runs[2].get("seed") == 3  # from .hydra/config.yaml
    assert read_runs([tmp_path / "runs", tmp_path / "runs/a"])[0].folder == tmp_path / "runs/a"
    assert len(read_runs([tmp_path / "runs", tmp_path / "runs/a"])) == 4


def test_a_metric_that_was_nan_is_no_score(leave, tmp_path):
    leave("a", {}, {"test/x": None, "test/y": 1})
    assert read_runs([tmp_path / "runs"])[0].metrics == {"test/y": 1.0}


def test_no_such_folder(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        read_runs([tmp_path / "nowhere"])


def test_a_group_is_found_by_its_choice_and_a_value_by_its_key(leave, tmp_path):
    leave("a", {"objective._target_": "x.Simcse", "trainer.max_steps": None, "seed": 0},
          choices={"objective": "simcse", "model": "bert"})  # fmt: skip
    (run,) = read_runs([tmp_path / "runs"])
    assert run.get("objective") == "simcse"
    assert run.matches({"objective": "simcse", "model": ["roberta", "bert"], "trainer.max_steps": None, "seed": 0})
    assert not run.matches({"model": "roberta"})
    assert not run.matches({"objective.lambd": 0.005})


def test_same():
    assert same(32, "32")
    assert same(0.001, "1e-3")
    assert same("1e-3", 0.001)
    assert same(True, "true")
    assert not same(True, 1)
    assert not same(None, 0)
    assert same([1, 2], ["1", 2.0])
    assert same(2, [1, 2])
    assert not same(3, [1, 2])


def test_varying_names_the_axes_but_not_the_seed(leave, tmp_path):
    leave(
        "a",
        {"seed": 1, "objective.t": 0.05, "objective.head": "x", "trainer.lr": 1e-5},
        choices={"objective": "simcse"},
    )
    leave("b", {"seed": 2, "objective.lambd": 0.01, "trainer.lr": 2e-5}, choices={"objective": "barlow"})
    assert varying(read_runs([tmp_path / "runs"]), "seed") == ["trainer.lr", "objective"]


def test_many_missing_jobs_are_counted():
    jobs = [{"case": case, "seed": seed} for case in ("a", "b") for seed in range(7)]
    assert missing_jobs([], jobs) == ["case=a: 7 jobs not started", "case=b: 7 jobs not started"]
