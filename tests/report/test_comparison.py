"""Any runs beside each other: settings, the best, the line that goes on from it, and everything as CSV."""

import io
import json
import shlex
import shutil

import pytest
import yaml
from rich.console import Console

from cse.record.runs import read_runs
from cse.report import terminal
from cse.report.comparison import compare_runs

TASKS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICKRelatedness")


@pytest.fixture
def grid_of_runs(leave):
    """Two rates, two temperatures, two seeds, 31 scores; one run failed."""
    for lr in (1e-5, 3e-5):
        for temperature in (0.05, 0.1):
            for seed in (1, 2):
                score = 70 + 1e5 * lr + 10 * temperature + seed / 10
                scores = {f"test/sts/{task}/{kind}": score for task in TASKS for kind in ("a", "b", "c", "d")}
                scores |= {"dev/stsb/spearman": score, "dev/stsb/pearson": 0.5, "test/sts/average": score}
                failed = (lr, temperature, seed) == (1e-5, 0.1, 2)
                config = {"trainer.lr": lr, "trainer.select": "dev/stsb/spearman", "objective.temperature": temperature,
                          "seed": seed, "tracker.wandb.name": f"{lr}{seed}"}  # fmt: skip
                folder = leave(f"lr={lr},t={temperature},seed={seed}", config, {} if failed else scores,
                               status="failed" if failed else "done")  # fmt: skip
                overrides = [f"trainer.lr={lr}", f"objective.temperature={temperature}", f"seed={seed}",
                             "data.path='my file'", "resume=auto", "tracker.wandb.name=x"]  # fmt: skip
                (folder / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(overrides))
                if failed:
                    results = json.loads((folder / "results.json").read_text())
                    (folder / "results.json").write_text(json.dumps(results | {"error": "RunError: the loss is nan"}))


@pytest.fixture
def comparison(grid_of_runs, tmp_path):
    folder = tmp_path / "runs"
    return compare_runs(read_runs([folder]), [folder], [], "seed")


def test_settings_are_ranked_by_what_selects_and_seeds_are_folded(comparison):
    assert comparison.keys == {"trainer.lr": "lr", "objective.temperature": "temperature"}
    assert comparison.best_by == "dev/stsb/spearman"
    table = comparison.table()
    assert list(table) == ["", "lr", "temperature", "runs", "dev/stsb/spearman", "test/sts/average"]
    assert table.to_numpy().tolist() == [
        ["*", "3e-05", "0.1", "2", "74.15 ± 0.07", "74.15 ± 0.07"],
        ["", "3e-05", "0.05", "2", "73.65 ± 0.07", "73.65 ± 0.07"],
        ["", "1e-05", "0.1", "1 of 2", "72.10", "72.10"],
        ["", "1e-05", "0.05", "2", "71.65 ± 0.07", "71.65 ± 0.07"],
    ]
    assert comparison.counted == "8 runs: 7 done, 1 failed"


def test_a_copy_of_a_run_is_no_further_seed(leave, tmp_path):
    for name, seed, score in (("a", 1, 70.0), ("a copy", 1, 70.0), ("b", 2, 73.0)):
        leave(name, {"trainer.lr": 1e-5, "seed": seed}, {"dev/stsb/spearman": score})
    comparison = compare_runs(read_runs([tmp_path / "runs"]), [tmp_path / "runs"], [], "seed")
    assert comparison.table()["dev/stsb/spearman"].tolist() == ["71.50 ± 2.12"]
    assert [note for note in comparison.notes if "3 runs of 2 seeds" in note]


@pytest.mark.parametrize("score", ["test/retrieval/median_rank", "dev/geometry/uniformity", "dev/mine/loss"])
def test_the_least_wins_where_less_is_better(score, leave, tmp_path):
    for lr, value in ((1e-5, 9.0), (3e-5, 3.0)):
        leave(f"{lr}", {"trainer.lr": lr, "seed": 1}, {score: value})
    comparison = compare_runs(read_runs([tmp_path / "runs"]), [tmp_path / "runs"], [], "seed")
    assert comparison.label(comparison.best) == "lr=3e-05"


def test_the_winners_line_is_quoted_once_and_has_new_seeds(grid_of_runs, tmp_path):
    def last_words(folder):
        found = compare_runs(read_runs([folder]), [folder], [], "seed")
        return shlex.split(found.more_seeds(found.best))

    folder, one = tmp_path / "runs", "lr=3e-05,t=0.1,seed=1"
    assert last_words(folder) == ["cse-train", "-m", "trainer.lr=3e-05", "objective.temperature=0.1",
                                  "data.path=my file", "seed=3,4,5", f"hydra.sweep.dir={folder}"]  # fmt: skip
    assert last_words(folder / one)[-1] == f"hydra.sweep.dir={folder}"  # beside a run that stands alone
    shutil.rmtree(folder / "lr=3e-05,t=0.1,seed=2")
    assert last_words(folder)[-2] == "seed=2,3,4"  # which others have: it was never started here
    assert last_words(folder.parent)[-1] == f"hydra.sweep.dir={folder}"  # where they lie, wherever they were looked for
    parts = [folder / "lr=1e-05,t=0.1,seed=1", folder / one]
    several = compare_runs(read_runs(parts), parts, [], "seed")
    assert shlex.split(several.more_seeds(several.best))[-1] == f"hydra.sweep.dir={folder / one}"  # where it is its own
    odd = folder.rename(tmp_path / "a=b")
    assert last_words(odd)[-1] == f"hydra.sweep.dir={odd}"


def test_the_line_of_a_sweep_s_run_names_its_case_and_not_what_that_sets(leave, tmp_path):
    """So that the folders of the seeds have the names by which the sweep finds them."""
    folder = leave("a", {"case": "simcse_bert", "seed": 1, "trainer.lr": 1.0}, {"dev/stsb/spearman": 7.0})
    words = ["sweep=whitenedcse/figure3", "objective=simcse", "model=bert", "case=simcse_bert", "seed=1", "smoke=true"]
    (folder / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(words))
    found = compare_runs(read_runs([folder]), [folder], [], "seed")
    line = shlex.split(found.more_seeds(found.best))
    assert line[2:-1] == ["sweep=whitenedcse/figure3", "case=simcse_bert", "smoke=true", "seed=2,3,4"]


def test_patterns_choose_the_scores_and_what_ranks(comparison):
    chosen = compare_runs(comparison.runs, comparison.folders, ["test/sts/STS12/*"], "seed")
    assert chosen.chosen == [f"test/sts/STS12/{kind}" for kind in "abcd"]
    assert chosen.best_by == "test/sts/STS12/a"


@pytest.mark.parametrize(("width", "is_terminal"), [(60, True), (20, False)])
def test_no_number_is_cut_at_31_scores(comparison, width, is_terminal, tmp_path):
    whole = compare_runs(comparison.runs, comparison.folders, ["*"], "seed")
    out = io.StringIO()
    terminal.show_comparison(whole, None, Console(file=out, width=width, force_terminal=is_terminal, no_color=True))
    text = out.getvalue()
    assert text.count("74.15 ± 0.07") == 30 + 1  # its scores, but for dev/stsb/pearson, and the best
    assert "…" not in text
    assert "RunError: the loss is nan" in text
    assert comparison.more_seeds(whole.best) in text
    lengths = [len(line) for line in text.splitlines() if "±" in line and "best" not in line]
    assert max(lengths) <= width if is_terminal else len(lengths) == 3


def test_scores_on_altered_data_and_encoders_that_were_only_scored_say_so(leave, tmp_path):
    """Of the split whose file was cut short, and by the name that was typed; what a run does not have is left empty."""
    data = {"stsb": {"problems": [{"split": "dev", "task": None, "problem": "holds 150 rows"}]}}
    for name, config, more in (
        ("trained", {"trainer.lr": 1e-5, "seed": 1}, {"data": data}),
        ("other", {"trainer.lr": 3e-5, "seed": 1}, {}),
        ("scored", {"checkpoint": "/a/b/best", "pooling": None},
         {"encoder": "/a/b/best, mean pooling, at most 512 tokens"}),
    ):  # fmt: skip
        folder = leave(name, config, {"dev/stsb/spearman": 70.0, "test/stsb/spearman": 60.0})
        results = json.loads((folder / "results.json").read_text())
        (folder / "results.json").write_text(json.dumps(results | more))
    comparison = compare_runs(read_runs([tmp_path / "runs"]), [tmp_path / "runs"], [], "seed")
    table = comparison.table().set_index(["encoder", "lr"])
    assert table.loc[("", "1e-05"), "dev/stsb/spearman"] == "70.00 †"
    assert table.loc[("", "1e-05"), "test/stsb/spearman"] == "60.00"
    assert table.loc[("b, mean pooling", ""), "dev/stsb/spearman"] == "70.00"
    assert list(comparison.frame["partial"]) == ["", "", "dev/stsb/spearman"]
    assert "partial: stsb: dev: holds 150 rows" in comparison.notes


def test_what_models_found_stands_side_by_side(leave, tmp_path):
    """NonLing-CSE's Table C.1 of any runs, also where they were asked other things."""
    asked = {"a": {"dog": [[0.9, "a dog"], [0.8, "dogs"]], "cat": [[0.7, "a cat"]]}, "b": {"dog": [[0.6, "a hog"]]}}
    for name, top in (asked | {"c": {}}).items():
        file = leave(name, {"checkpoint": name}, {"test/retrieval/recall@1": 1.0}) / "results.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"data": {"retrieval": {"top": top}}}))
    assert compare_runs(read_runs([tmp_path / "runs"]), [tmp_path / "runs"], [], "seed").notes == [
        "dog, nearest #1: checkpoint=a: a dog | checkpoint=b: a hog",
        "dog, nearest #2: checkpoint=a: dogs",
        "cat, nearest #1: checkpoint=a: a cat",
    ]
