"""The best is the best over all runs, by one score, whatever their folders are called and however they were found."""

import json
import shlex
import shutil

import pandas as pd
import pytest
from typed import exit_code

from cse.lab.folder import jobs_file
from cse.lab.report.any_runs.names import in_shell
from cse.lab.report.any_runs.settings_table import notes_on_settings, settings_frame
from cse.lab.report.any_runs.typed_names import setting_named
from cse.lab.report.numbers.keys_that_differ import keys_of_settings


def best(found):
    return list(found.best.values.values())


def searched(leave, tmp_path, fixed=None):
    """A search's three trials, of which seeds of the best were trained since, in runs/S."""
    for number, lr in enumerate((1e-5, 2e-5, 5e-5)):
        config = {"trainer.lr": lr, "objective.x": 0, "seed": 42}
        leave(f"S/{lr}", config, {"dev/x": 80.0 + number}, overrides=[f"trainer.lr={lr}", "objective.x=0"])
    for seed in (1, 2, 3):
        config = {"trainer.lr": 5e-5, "objective.x": 0, "seed": seed}
        leave(f"S/seeds/{seed}", config, {"dev/x": 81.0 + seed / 10})
    memory = tmp_path / "runs/S/.smac/a-0.jsonl"
    memory.parent.mkdir()
    asked = [{"asked": {"trainer.lr": lr * (1 + 1e-7)}} for lr in (1e-5, 2e-5, 5e-5)]
    lines = [{"ranges": {"trainer.lr": "interval(1e-6,1e-4)"}, "fixed": {"objective.x": "0"}}, *asked]
    memory.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_grid_beside_a_search_is_best_if_it_is_better(leave, compared, tmp_path):
    searched(leave, tmp_path)
    for seed in (1, 2, 3):
        leave(f"G/{seed}", {"trainer.lr": 1e-4, "objective.x": 0, "seed": seed}, {"dev/x": 85.0})
    found = compared()
    assert best(found)[0] == "0.0001"
    assert [one.values["trainer.lr"] for one in found.ranked] == ["0.0001", "5e-05", "2e-05", "1e-05"]


def test_a_grid_in_a_searchs_folder_keeps_all_its_seeds(leave, compared, tmp_path):
    searched(leave, tmp_path)
    for lr, x in ((3e-4, 0), (5e-5, 9)):  # no point of the search, and a point of another search
        for seed in (1, 2, 3):
            words = [f"trainer.lr={lr}", f"objective.x={x}", f"seed={seed}"]
            config = {"trainer.lr": lr, "objective.x": x, "seed": seed}
            leave(f"S/{lr}-{x}-{seed}", config, {"dev/x": 70.0}, overrides=words)
    found = compared()
    assert settings_frame(found)["runs"].tolist() == [3, 1, 1, 3, 3]
    assert sum(one.trial is not None for one in found.settings) == 3


@pytest.mark.parametrize("seed_key", ["seed", "data.seed"])
def test_seeds_in_a_searchs_folder_are_no_trials_whatever_the_key_of_the_seed(leave, compared, tmp_path, seed_key):
    """The search's own trial of the best point failed."""
    searched(leave, tmp_path)
    shutil.rmtree(tmp_path / "runs/S/5e-05")
    shutil.rmtree(tmp_path / "runs/S/seeds")
    for seed in (1, 2, 3):
        words = ["trainer.lr=5e-05", "objective.x=0", f"{seed_key}={seed}"]
        config = {"trainer.lr": 5e-5, "objective.x": 0, "seed": 42, seed_key: seed}
        leave(f"S/further-{seed}", config, {"dev/x": 90.0}, overrides=words)
    found = compared(seed=seed_key)
    assert settings_frame(found)["runs"].tolist() == [3, 1, 1]
    assert [setting.trial is None for setting in found.ranked] == [True, False, False]


@pytest.mark.parametrize(
    ("key", "values", "asked"),
    [("model.flag", (True, False), ("True", "False")), ("data.columns", (["a", "b"], ["c"]), ("[a,b]", "[c]")),
     ("objective.k", ("1.10", "1.1"), ("'1.10'", "'1.1'")), ("model.prefix", ("a, b", "c"), ("a\\, b", "c"))],
)  # fmt: skip
def test_a_choice_of_any_kind_is_a_searchs_trial(leave, compared, tmp_path, key, values, asked):
    """The best trial was picked for being high: it is left out once its seeds are trained."""
    for value, word, score in zip(values, asked, (90.0, 80.0), strict=True):
        leave(f"S/{score}", {key: value, "seed": 42}, {"dev/x": score}, overrides=[f"{key}={word}"])
    for seed in (1, 2, 3):
        leave(f"S/seeds/{seed}", {key: values[0], "seed": seed}, {"dev/x": 82.0 + seed})
    memory = tmp_path / "runs/S/.smac/a-0.jsonl"
    memory.parent.mkdir()
    memory.write_text("".join(f"{json.dumps({'asked': {key: word}})}\n" for word in asked))
    found = compared()
    assert settings_frame(found)["dev/x"].tolist() == [84.0, 80.0]
    assert settings_frame(found)["runs"].tolist() == [3, 1]


@pytest.mark.parametrize("names", ["am", "zm"])
def test_the_score_of_a_ranking_does_not_depend_on_names_of_folders(leave, compared, names):
    for name, select, a, b in ((names[0], "dev/a", 81, 70), (names[1], "dev/b/average", 80, 75)):
        for seed in (1, 2, 3):
            config = {"trainer.select": select, "trainer.lr": a, "seed": seed}
            leave(f"{name}{seed}", config, {"dev/a": a + seed, "dev/b/average": b + seed})
    found = compared()
    assert found.scores.best_by == "dev/a"
    assert best(found) == ["a", "81"]
    assert any("3 by dev/b/average" in note for note in notes_on_settings(found))


def test_a_score_that_all_runs_have_ranks_before_one_that_some_have(leave, compared):
    leave("a", {"trainer.select": "dev/a", "seed": 1}, {"dev/a": 90.0, "dev/b": 1.0})
    leave("b", {"trainer.select": "dev/b", "seed": 1}, {"dev/b": 2.0})
    assert compared().scores.best_by == "dev/b"


@pytest.mark.parametrize("score", ["dev/x/loss", "dev/x"])
def test_equal_means_have_one_best_whatever_their_folders(leave, compared, tmp_path, score):
    for name, lr in (("b", 1e-5), ("a", 2e-5)):
        for seed, value in ((1, 0.1 + 0.2), (2, 0.3)):  # equal but for rounding
            leave(f"{name}{seed}", {"trainer.lr": lr, "seed": seed}, {score: value if lr == 1e-5 else 0.3})
    assert best(compared()) == ["1e-05"]


def test_a_setting_can_be_named_as_the_refusal_says(leave, compared):
    values = [["query", "value"], ["query"], "x,y=1", "it's", "1.10", 1.1, "null", None]
    for number, value in enumerate(values):
        leave(f"{number}", {"model.thing": value, "seed": 1}, {"dev/x": float(number)})
    found = compared()
    labels = [one.label for one in found.settings]
    assert len({*labels}) == len(values)
    assert [setting_named(found, label) for label in labels] == found.settings
    assert setting_named(found, "thing=[query]") is found.settings[1]  # as a shell leaves it, and as Hydra writes it
    assert setting_named(found, "model.thing=[query, value]") is found.settings[0]


def test_versions_and_numbers_keep_what_they_are(leave, compared):
    for name in ("1.1", "1.10"):
        leave(name, {"checkpoint": name, "seed": None}, {"dev/x": 1.0})
    for number, rate in enumerate((0.06, 0.01 * 6, "6e-2")):
        leave(f"r{number}", {"checkpoint": "r", "objective.t": rate, "seed": number}, {"dev/x": 1.0})
    assert settings_frame(compared())["runs"].tolist() == [1, 1, 3]


@pytest.mark.parametrize("label", ["a=['b']", "a=['b c']", "a='x,y'", "a=it's"])
def test_a_label_is_one_word_of_a_shell(label):
    (word,) = shlex.split(in_shell(label))
    assert word.replace("'", "") == label.replace("'", "")


def test_a_gate_says_which_seeds_have_no_score(leave, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for lr, score in ((1, 90.0), (2, 60.0)):
        for seed in (1, 2, 3):
            leave(f"{lr}-{seed}", {"trainer.lr": lr, "seed": seed}, {"dev/x": score + seed})
    line = ("cse-report", "runs=runs", "gate=1", "baseline=lr=2")
    assert exit_code(*line) == 0
    leave("1-4", {"trainer.lr": 1, "seed": 4}, {}, status="failed", error="the loss is NaN")
    assert exit_code(*line) == 1
    assert "1 of 4 seeds of lr=1 have no dev/x: seed 4 (failed)" in capsys.readouterr().out
    leave("1-4b", {"trainer.lr": 1, "seed": 4}, {"dev/x": 91.0})  # it was trained again
    assert exit_code(*line) == 0
    leave("1-5", {"trainer.lr": 1, "seed": 5}, {"dev/x": None})  # NaN
    assert exit_code(*line) == 1


def test_all_jobs_of_a_line_are_counted_also_if_none_has_a_run(leave, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs"
    folder.mkdir()
    words = [["trainer.lr=-1", "seed=1"], ["trainer.lr=1", "seed=1"], ["trainer.lr=1", "seed=2"]]
    lines = [{"job": f"job{place}", "program": "cse-train", "words": of} for place, of in enumerate(words)]
    jobs_file.add_jobs(folder, lines)
    jobs_file.add_job_end(folder, "job0", "failed", "trainer.lr=-1: should be greater than 0")
    assert exit_code("cse-report", "runs=runs") == 0
    out = capsys.readouterr().out
    assert "3 runs: 2 not started, 1 failed" in out
    assert "should be greater than 0" in out
    leave("job2", {"trainer.lr": 1, "seed": 2}, {"dev/x": 1.0})
    assert exit_code("cse-report", "runs=runs") == 0
    out = capsys.readouterr().out
    assert "3 runs: 1 done, 1 not started, 1 failed" in out
    assert (tmp_path / "reports/runs/runs.csv").read_text().count("\n") == 4


def test_an_axis_names_settings_also_if_only_one_of_its_values_has_a_run(leave, tmp_path, monkeypatch, capsys):
    """Stopped after two runs. A job of another command, and a search's job without arguments, add no key."""
    monkeypatch.chdir(tmp_path)
    lines = []
    for objective in ("simcse", "barlow"):
        for lr in (1e-5, 3e-5):
            for seed in (1, 2, 3):
                name, words = f"{objective}-{lr}-{seed}", [f"objective={objective}", f"trainer.lr={lr}", f"seed={seed}"]
                lines.append({"job": name, "program": "cse-train", "words": words})
                if len(lines) < 3:
                    config = {"trainer.lr": lr, "seed": seed, "trainer.max_steps": 9}
                    about = {"choices": {"objective": objective}, "overrides": words}
                    leave(f"grid/{name}", config, {"dev/x": 70.0 + seed}, **about)
    jobs_file.add_jobs(tmp_path / "runs/grid", [*lines, {"search": "a", "trials": 3}])
    (tmp_path / "runs/other").mkdir()
    others = [{"job": f"{steps}", "words": [f"trainer.max_steps={steps}"]} for steps in (1, 2)]
    jobs_file.add_jobs(tmp_path / "runs/other", others)
    assert exit_code("cse-report", "runs=runs", "out=out") == 0
    assert "objective=simcse, lr=1e-05 (71.50 ± 0.71)" in capsys.readouterr().out
    table = pd.read_csv("out/settings.csv")
    assert table[["objective", "trainer.lr"]].to_numpy().tolist() == [["simcse", 1e-5]]


def test_a_case_whose_jobs_have_no_run_replaces_the_keys_that_it_sets(leave, tmp_path, runs):
    """The lr of a case is no axis."""
    words = {case: [f"case={case}", f"trainer.lr={lr}"] for case, lr in (("small", 1), ("large", 2))}
    leave("small", {"case": "small", "trainer.lr": 1}, {"dev/x": 1.0}, overrides=words["small"])
    jobs_file.add_jobs(tmp_path / "runs", [{"job": case, "words": of_case} for case, of_case in words.items()])
    jobs = jobs_file.jobs_without_run([tmp_path / "runs"])
    assert keys_of_settings(runs(), "seed", jobs) == ["case"]


def test_a_setting_counts_its_planned_jobs_without_a_run(leave, tmp_path, monkeypatch):
    """A planned job of another setting, of another named folder or of a smoke run does not count."""
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        words = [[f"trainer.lr={lr}", f"seed={seed}"] for lr in (1, 2) for seed in (1, 2, 3)]
        words += [["trainer.lr=1", "seed=4", "smoke=true"]] if folder == "b" else []
        lines = [{"job": f"{place}", "program": "cse-train", "words": of} for place, of in enumerate(words)]
        for place, status in enumerate(["done", "running"] if folder == "a" else ["done"]):
            given = [*words[place], f"hydra.run.dir={place}"]  # the plan does not have this argument of a sweep's job
            leave(f"{folder}/{place}", {"trainer.lr": 1, "seed": place + 1}, {"dev/x": 1.0}, status, overrides=given)
        jobs_file.add_jobs(tmp_path / "runs" / folder, lines if folder == "a" else [*lines[:2], lines[-1]])
    assert exit_code("cse-report", "runs=[runs/a,runs/b]", "out=out") == 0
    table = pd.read_csv("out/settings.csv")
    assert table[["origin", "done", "runs"]].to_numpy().tolist() == [["a", 1, 3], ["b", 1, 2]]
    assert " 1 of 3 " in (tmp_path / "out/report.md").read_text()
